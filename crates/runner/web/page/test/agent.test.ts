// What a reader does with sessions of the real agent, in Chromium, with a scripted API; each ends with a picture that is kept, but that of the agent's own screen, which is another one at other times. `.ci/agents` runs this.
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { LinePage } from "@bowline/client";
import type { Browser, Page } from "playwright-core";
import { RealAgent, skip } from "./agent.js";
import { launch } from "./browser.js";
import { buildElements, openExample, WITH_EXAMPLES } from "./example.js";
import { kept, sessionLooksLike } from "./picture.js";
import { bowline, watch, type SessionTranscript } from "./runner.js";

/** How long a scene may take, and a step of it: the agent takes seconds to start, longer where much else runs. */
const LIMIT_MS = 240_000;
const STEP_MS = 90_000;

const PLAIN_TEXT = "All systems are in order. Nothing else needs to be done here.";

let browser: Browser;

before(async () => {
  if (skip) return;
  buildElements();
  browser = await launch(WITH_EXAMPLES);
});

after(() => browser?.close());

interface Scene {
  readonly agent: RealAgent;
  readonly page: Page;
  /** Compares the page with a picture. */
  readonly picture: (name: string) => Promise<void>;
}

/** A test with an agent whose model does what a scenario says. */
function scene(name: string, scenario: string, run: (scene: Scene) => Promise<void>): void {
  test(name, { skip, timeout: LIMIT_MS }, async () => {
    const problems: string[] = [];
    const agent = await RealAgent.start(scenario);
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", reducedMotion: "reduce" });
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(STEP_MS);
      // Ages of sessions are the same each time.
      await page.clock.setFixedTime(0);
      await watch(page, problems);
      await run({ agent, page, picture: (picture) => sessionLooksLike(page, kept(`agent-${picture}`), agent.setup.cwd) });
    } finally {
      await context.close();
      await agent.stop();
    }
    deepStrictEqual(problems, []);
  });
}

/** Starts a session with the form, and returns its id. */
async function start({ agent, page }: Scene): Promise<string> {
  await agent.runner.open(page, "new", 0);
  await page.getByRole("radio", { name: "claude" }).waitFor();
  await page.getByLabel("Prompt").fill(agent.setup.prompts[0]!);
  await page.getByLabel("Folder", { exact: true }).fill(agent.setup.cwd);
  await page.getByRole("button", { name: "More options" }).click();
  await page.getByLabel("Name").fill("The real agent");
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForFunction(() => /^#\/[\w-]{20,}/.test(location.hash));
  return idOf(page);
}

const idOf = (page: Page): string => /^#\/([\w-]+)/.exec(new URL(page.url()).hash)![1]!;

const prompts = (page: Page): Promise<string[]> => page.locator(".thread .you").allInnerTexts();

/** Writes a prompt into the field, and sends it. */
async function say(page: Page, text: string, button: "Send" | "Queue"): Promise<void> {
  await page.getByLabel("Say something to the agent").fill(text);
  await page.getByRole("button", { name: button, exact: true }).click();
}

/** Waits until a session shows so many ends of turns. */
const turns = (page: Page, count: number) => page.locator(".thread .end").nth(count - 1).waitFor();

scene("start: the form starts the agent", "plain", async (it) => {
  const id = await start(it);
  await turns(it.page, 1);
  strictEqual(await it.page.locator("h1").innerText(), "The real agent");
  deepStrictEqual(await prompts(it.page), ["say something"]);
  await it.page.locator(".thread").getByText(PLAIN_TEXT).waitFor();
  const { entries } = await it.agent.runner.until(id, ({ status }) => status.phase === "idle");
  deepStrictEqual(entries.filter(({ kind }) => kind === "result").map(({ outcome }) => outcome), ["completed"]);
  await it.picture("start");
});

scene("permission: a change is seen as a diff and allowed", "edit", async (it) => {
  const { agent, page } = it;
  const notes = join(agent.setup.cwd, "notes.txt");
  writeFileSync(notes, "one\ntwo\nthree\n");
  await start(it);
  await page.locator('.card[data-armed="true"]').waitFor();
  const diff = page.locator(".card .diff");
  deepStrictEqual(await diff.locator("del").allInnerTexts(), ["two"]);
  deepStrictEqual(await diff.locator("ins").allInnerTexts(), ["2"]);
  ok((await page.locator(".card").innerText()).includes("notes.txt"));
  strictEqual(readFileSync(notes, "utf8"), "one\ntwo\nthree\n");
  await it.picture("permission");
  await page.locator(".card .primary").click();
  await turns(page, 1);
  await page.locator(".thread").getByText("The file is changed.").waitFor();
  strictEqual(await page.locator(".card").count(), 0);
  strictEqual(readFileSync(notes, "utf8"), "one\n2\nthree\n");
});

scene("queue: prompts that wait are edited, moved and removed, and then sent", "queued-prompts", async (it) => {
  const { agent, page } = it;
  const id = await start(it);
  await page.getByText("First answer.").waitFor();
  const items = page.locator(".queue li");
  for (const [at, text] of ["second", "third", "not this one"].entries()) {
    await say(page, text, "Queue");
    await items.nth(at).waitFor();
  }
  const item = (text: string) => page.locator(".queue li", { hasText: text });
  await item("third").getByRole("button", { name: "Move up" }).click();
  await items.nth(0).getByText("third").waitFor();
  await item("second").getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Text of the prompt that waits").fill("the last one");
  await page.getByRole("button", { name: "Save" }).click();
  await item("the last one").waitFor();
  await item("not this one").getByRole("button", { name: "Remove from the queue" }).click();
  await item("not this one").waitFor({ state: "detached" });
  const { queue } = await agent.runner.api<{ queue: { text: string }[] }>("GET", `/api/sessions/${id}/queue`);
  deepStrictEqual(queue.map(({ text }) => text), ["third", "the last one"]);
  await it.picture("queue");
  agent.open("stream");
  await turns(page, 3);
  deepStrictEqual(await prompts(page), ["first", "third", "the last one"]);
  for (const answer of ["First answer.", "Second answer.", "Third answer."]) await page.locator(".thread").getByText(answer).waitFor();
  strictEqual(await items.count(), 0);
});

scene("interrupt: the turn is stopped, and the session goes on", "interruptible", async (it) => {
  const { agent, page } = it;
  const id = await start(it);
  await page.getByText("one more line of a long story").first().waitFor();
  await page.getByRole("button", { name: "Interrupt" }).click();
  await page.getByText("turn interrupted").waitFor();
  await page.getByText("this message was cut off").waitFor();
  const { entries } = await agent.runner.until(id, ({ status }) => status.phase === "idle");
  ok(entries.some(({ outcome }) => outcome === "cancelled"));
  await say(page, agent.setup.prompts[1]!, "Send");
  await turns(page, 2);
  const [first, second] = agent.setup.prompts;
  deepStrictEqual(await prompts(page), [first, "[Request interrupted by user]", second]);
  await page.locator(".thread").getByText(PLAIN_TEXT).waitFor();
  await it.picture("interrupt");
});

/** Starts a session whose agent may run commands, and shows it once its turn has ended. */
async function withSubagents({ agent, page }: Scene): Promise<string> {
  const { cwd, prompts: [prompt] } = agent.setup;
  const id = await agent.runner.dialogue(prompt!, { cwd, allowed_tools: ["Bash"], name: "Agents of agents" });
  await agent.runner.open(page, id);
  await page.getByText("turn finished").waitFor();
  await agent.runner.until(id, ({ status }) => status.phase === "idle");
  return id;
}

scene("sub-agents: each has its thread and its totals", "nested-agents", async (it) => {
  const { page } = it;
  await withSubagents(it);
  const outer = page.locator(".thread .sub").first();
  const inner = outer.locator(".sub");
  await inner.getByText("Inner report.").waitFor();
  await outer.getByText("Outer report.").waitFor();
  deepStrictEqual(await page.locator(".thread .sub").evaluateAll((all) => all.map((sub) => sub.querySelector(".brief")?.textContent)), [
    "scripted prompt of the outer agent",
    "scripted prompt of the inner agent",
  ]);
  const bash = inner.locator(".call", { hasText: "Bash" });
  await bash.locator(".head").click();
  await bash.getByText("from-the-agent").last().waitFor();
  const totals = page.locator(".call > .head .why", { hasText: "tokens" });
  strictEqual(await totals.count(), 2);
  await page.locator(".thread").getByText("Both are back.").waitFor();
  await it.picture("agents");
});

scene("resume: a past conversation goes on, and its past is shown", "queued-prompts", async (it) => {
  const { agent, page } = it;
  agent.open("stream");
  const ended = await start(it);
  await turns(page, 1);
  const { session_id: conversation } = await agent.runner.until(ended, ({ status }) => status.phase === "idle");
  await page.getByRole("button", { name: "End", exact: true }).click();
  await page.getByPlaceholder("The session has ended.").waitFor();
  await page.getByRole("link", { name: "All past conversations" }).click();
  await page.locator(".past li", { hasText: "first" }).getByRole("button", { name: "Resume" }).click();
  await page.waitForFunction((id) => /^#\/[\w-]{20,}/.test(location.hash) && !location.hash.includes(id), ended);
  await page.locator(".thread").getByText("First answer.").waitFor();
  deepStrictEqual(await prompts(page), ["first"]);
  await say(page, "second", "Send");
  await page.locator(".thread").getByText("Second answer.").waitFor();
  const now = await agent.runner.until(idOf(page), ({ status }) => status.phase === "idle");
  strictEqual(now.session_id, conversation);
  deepStrictEqual(await prompts(page), ["first", "second"]);
  await it.picture("resume");
});

scene("terminal: the agent's own screen is embedded, and typed into", "plain", async ({ agent, page }) => {
  const { cwd, prompts: [prompt] } = agent.setup;
  const id = await agent.runner.terminal(agent.runner.agent, [], "The agent in a terminal", cwd);
  await openExample(page, agent.runner, "terminal", id);
  const shows = (text: string) =>
    page.waitForFunction((wanted) => document.querySelector("bowline-terminal")?.shadowRoot?.querySelector(".xterm-rows")?.textContent?.replaceAll("\u00a0", " ").includes(wanted), text);
  await shows("Claude Code");
  await shows(cwd);
  const outside = (await page.locator("bowline-terminal").boundingBox())!;
  const inside = (await page.locator("bowline-terminal .xterm-screen").boundingBox())!;
  ok(inside.y + inside.height <= outside.y + outside.height && inside.x + inside.width <= outside.x + outside.width, "all rows and columns are visible");
  await page.locator("bowline-terminal .xterm-helper-textarea").focus();
  await page.keyboard.type(prompt!);
  await shows(prompt!);
  await page.keyboard.press("Enter");
  await shows(PLAIN_TEXT);
});

scene("scrub: the session is shown as it was, which is the fold of its first lines", "nested-agents", async (it) => {
  const { agent, page } = it;
  const { runner } = agent;
  const id = await withSubagents(it);
  const { items } = await runner.api<LinePage>("GET", `/api/sessions/${id}/lines?from=0&max=2000&fold=false`);
  const ends = items.filter(({ stream }) => stream === "output").map(({ bytes }) => bytes[1]);
  const output = Buffer.from(await runner.send("GET", `/api/sessions/${id}/log`));
  strictEqual(output.length, ends.at(-1));
  const field = page.getByLabel("Moment, as a line");
  // The page reads how many lines there are every two seconds; a line beyond them is the present.
  await page.waitForFunction(
    ([label, lines]) => document.querySelector<HTMLInputElement>(`[aria-label="${label}"]`)?.value === lines,
    ["Moment, as a line", String(ends.length)] as const,
  );
  const seen = new Set<string>();
  // At the last line, the present is shown.
  for (const [at, end] of ends.slice(0, -1).entries()) {
    const then = await runner.api<SessionTranscript>("GET", `/api/sessions/${id}/transcript?line=${at + 1}`);
    const folded = fold(output.subarray(0, end));
    deepStrictEqual(sayings(then), sayings(folded), `line ${at + 1}`);
    const expected = TEXTS.filter((text) => sayings(folded).includes(text));
    if (at % 5 > 0 && seen.has(expected.join())) continue;
    seen.add(expected.join());
    await field.fill(String(at + 1));
    await field.press("Enter");
    await page.getByText(`As it was at line ${at + 1}:`).waitFor();
    const visible = await page.locator(".stage").innerText();
    deepStrictEqual(TEXTS.filter((text) => visible.includes(text)), expected, `line ${at + 1}`);
  }
  strictEqual(seen.size, TEXTS.length + 1);
  await it.picture("scrub");
});

/** What is said in the scene, in its order. */
const TEXTS = ["survey the project", "Inner report.", "Outer report.", "Both are back."];

/** Returns the fold of the first lines of an output. */
function fold(lines: Buffer): SessionTranscript {
  const json = execFileSync(bowline, ["replay", "--dialect", "claude", "--output", "transcript", "-"], { input: new Uint8Array(lines), encoding: "utf8" });
  return JSON.parse(json) as SessionTranscript;
}

/** States of a call without a result. A replay takes the end of its lines for the end of the agent, and then the call is lost. */
const OPEN = new Set(["pending", "awaiting_permission", "running", "lost"]);

/** Returns what agents say and do in a transcript, in order. */
function sayings({ entries, tool_calls: calls }: Pick<SessionTranscript, "entries" | "tool_calls">): string[] {
  const said: string[] = [];
  for (const { kind, text, outcome, blocks = [] } of entries) {
    if (text) said.push(text);
    if (kind === "result") said.push(String(outcome));
    for (const block of blocks) {
      if (block.text) said.push(block.text);
      const call = block.id === undefined ? undefined : calls[block.id];
      if (!call) continue;
      said.push(call.name, OPEN.has(call.state) ? "open" : call.state, call.result?.text ?? "");
      if (call.subagent) said.push("(", ...sayings(call.subagent), ")");
    }
  }
  return said;
}
