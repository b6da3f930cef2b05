// What a reader does with sessions, in Chromium with a real runner and the scripted agent; each ends with a picture that is kept.
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch } from "./browser.js";
import { kept, sessionLooksLike } from "./picture.js";
import { Recorded } from "./recorded.js";
import { Runner, watch } from "./runner.js";

/** How long a scene may take. */
const LIMIT_MS = 60_000;

const PROMPT = "One of the tests fails. Find out why and fix it.";

let browser: Browser;
let page: Page;
let runner: Runner;
let problems: string[];

before(async () => void (browser = await launch()));
after(() => browser.close());

beforeEach(async () => {
  runner = await Runner.start();
  problems = [];
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", reducedMotion: "reduce" });
  page = await context.newPage();
  // Ages of sessions are the same each time.
  await page.clock.setFixedTime(0);
  await watch(page, problems);
});

afterEach(async () => {
  await page.context().close();
  await runner.stop();
  deepStrictEqual(problems, []);
});

const armed = () => page.locator('.card[data-armed="true"]');

/** Compares the page with a picture. */
const picture = (name: string, folder: string | null = runner.folder) => sessionLooksLike(page, kept(`driven-${name}`), folder);

/** Starts a conversation with the agent that does what prompts say. */
const scripted = (prompt: string, name: string) => runner.dialogue(prompt, { agent: runner.scripted, name });

test("start: the form starts a session", { timeout: LIMIT_MS }, async () => {
  mkdirSync(join(runner.folder, "project"));
  await runner.open(page, "new", 0);
  await page.getByRole("radio", { name: "claude" }).waitFor();
  await page.getByLabel("Prompt").fill(PROMPT);
  await page.getByLabel("Folder", { exact: true }).fill(join(runner.folder, "pro"));
  await page.getByRole("option", { name: join(runner.folder, "project") }).click();
  await page.getByRole("button", { name: "More options" }).click();
  await page.getByLabel("Name").fill("Fix the failing test");
  await page.getByRole("button", { name: "Start" }).click();
  await armed().waitFor();
  strictEqual(await page.locator("h1").innerText(), "Fix the failing test");
  await picture("start");
});

test("permission: a change is seen as a diff and allowed", { timeout: LIMIT_MS }, async () => {
  const id = await runner.dialogue(PROMPT);
  await runner.open(page, id);
  await armed().waitFor();
  await page.locator(".card .diff").waitFor();
  await page.locator(".card .primary").click();
  await page.getByText("turn finished").waitFor();
  strictEqual(await page.locator(".card").count(), 0);
  await picture("permission");
});

test("queue: prompts that wait are edited, moved and removed", { timeout: LIMIT_MS }, async () => {
  const id = await scripted("/hang", "Prompts that wait");
  await runner.until(id, ({ status }) => status.phase === "running");
  await runner.open(page, id);
  const box = page.getByLabel("Say something to the agent");
  const items = page.locator(".queue li");
  for (const [at, text] of ["one", "two", "three"].entries()) {
    await box.fill(text);
    await page.getByRole("button", { name: "Queue", exact: true }).click();
    await items.nth(at).waitFor();
  }
  const item = (text: string) => page.locator(".queue li", { hasText: text });
  await item("three").getByRole("button", { name: "Move up" }).click();
  await items.nth(1).getByText("three").waitFor();
  await item("one").getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Text of the prompt that waits").fill("number one");
  await page.getByRole("button", { name: "Save" }).click();
  await item("number one").waitFor();
  await item("two").getByRole("button", { name: "Remove from the queue" }).click();
  await item("two").waitFor({ state: "detached" });
  const { queue } = await runner.api<{ queue: { text: string }[] }>("GET", `/api/sessions/${id}/queue`);
  deepStrictEqual(queue.map(({ text }) => text), ["number one", "three"]);
  await picture("queue");
});

test("interrupt: the turn is stopped, and what waits goes on", { timeout: LIMIT_MS }, async () => {
  const id = await scripted("/hang", "A long answer");
  await runner.open(page, id);
  await page.getByRole("button", { name: "Interrupt" }).click();
  await page.locator(".thread .end").first().waitFor();
  const { entries } = await runner.until(id, ({ status }) => status.phase === "idle");
  ok(entries.some(({ outcome }) => outcome === "cancelled"));
  await picture("interrupt");
});

test("interrupt: a task in the background is stopped, and the session goes on", { timeout: LIMIT_MS }, async () => {
  const scenario = join(runner.folder, "task.toml");
  const watching = '{ agent = { description = "watch the build", prompt = "Tell me.", background = true, steps = [ { delay_ms = 3600000 } ] } }';
  writeFileSync(scenario, `[[turn]]\nsteps = [ ${watching}, { text = "It watches." } ]\n`);
  const id = await runner.dialogue("go", { agent: runner.natural, agent_args: ["--scenario", scenario], name: "A task in the background" });
  await runner.open(page, id);
  await page.getByLabel("Plan and tasks").getByRole("button").click();
  await page.getByText("It watches.").waitFor();
  await picture("task");
  await page.getByRole("button", { name: "Stop watch the build" }).click();
  const { tasks } = await runner.until(id, (now) => Object.values(now.tasks).every(({ state }) => state !== "running"));
  strictEqual(Object.keys(tasks).length, 1);
  await page.getByLabel("Plan and tasks").waitFor({ state: "detached" });
});

test("sub-agents: each has its thread and its totals", { timeout: LIMIT_MS }, async () => {
  const id = await scripted("/agent look around", "Agents of agents");
  await runner.until(id, ({ status }) => status.phase === "idle");
  await runner.open(page, id);
  await page.getByText("turn finished").waitFor();
  const head = page.locator(".thread .call > .head").first();
  if ((await head.getAttribute("aria-expanded")) === "false") await head.click();
  await page.locator(".thread .sub .call > .head").first().waitFor();
  ok((await page.locator(".thread .sub").count()) >= 2, "a sub-agent of a sub-agent");
  await picture("agents");
});

test("resume: the conversation of a session that has ended goes on", { timeout: LIMIT_MS }, async () => {
  const id = await runner.dialogue(PROMPT, { name: "To go on with" });
  await runner.open(page, id);
  await armed().waitFor();
  await page.locator(".card .primary").click();
  await page.getByText("turn finished").waitFor();
  await page.getByRole("button", { name: "End", exact: true }).click();
  await page.getByPlaceholder("The session has ended.").waitFor();
  await page.getByRole("button", { name: "Session", exact: true }).click();
  await page.getByRole("menuitem", { name: "Resume" }).click();
  await page.waitForFunction((ended) => !location.hash.includes(ended), id);
  await page.getByLabel("Say something to the agent").fill("And what about an empty list?");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("turn finished").first().waitFor();
  await picture("resume");
});

test("terminal: a shell is typed into", { timeout: LIMIT_MS }, async () => {
  const id = await runner.terminal("/bin/sh", [], "A shell");
  await runner.open(page, id);
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("$"));
  await page.keyboard.type("printf '\\033[1;32mgreen\\033[m and \\033[31mred\\033[m\\n'");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("green and red"));
  await picture("terminal");
});

test("scrub: a recording is shown as it was", { timeout: LIMIT_MS }, async () => {
  const recorded = await Recorded.serve("../../../tests/fixtures/sub_nest_fg.jsonl");
  try {
    await page.goto(recorded.link);
    await page.getByText("turn finished").waitFor();
    const field = page.getByLabel("Moment, as a line");
    await field.fill("13");
    await field.press("Enter");
    await page.getByText("As it was at line 13").waitFor();
    await page.getByText("Child grand starts.").waitFor();
    strictEqual(await page.getByText("turn finished").count(), 0);
    await picture("scrub", null);
  } finally {
    await recorded.stop();
  }
});
