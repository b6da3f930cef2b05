// A recording in Chromium, served by `bowline inspect FILE --open`: its bytes, its timeline, any moment of it.
import { deepStrictEqual, match, ok, strictEqual } from "node:assert";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { SIZES, launch, violations } from "./browser.js";
import { writeLarge } from "./large.js";
import { Recorded } from "./recorded.js";
import { Runner } from "./runner.js";

const fixtures = "../../../tests/fixtures/";

let browser: Browser;
let page: Page;
let recorded: Recorded | null;
let folder: string;
let problems: string[];

before(async () => void (browser = await launch()));
after(() => browser.close());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "recording-"));
  recorded = null;
  problems = [];
  page = await newPage("light", SIZES[0]!);
});

afterEach(async () => {
  await page.context().close();
  await recorded?.stop();
  rmSync(folder, { recursive: true, force: true });
  deepStrictEqual(problems, [], "the page reported errors, broke its policy or asked another host");
});

async function newPage(colorScheme: "light" | "dark", viewport: { width: number; height: number }): Promise<Page> {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce", acceptDownloads: true });
  const opened = await context.newPage();
  opened.on("pageerror", (error) => problems.push(String(error)));
  opened.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  opened.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (hostname !== "127.0.0.1" && protocol !== "blob:") problems.push(`asked ${request.url()}`);
  });
  await opened.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
    const seen = { banners: 0 };
    new MutationObserver(() => void (seen.banners += document.querySelectorAll(".banner").length)).observe(document, { childList: true, subtree: true });
    Object.assign(window, { seen });
  });
  return opened;
}

async function open(path: string): Promise<void> {
  recorded = await Recorded.serve(path);
  await page.goto(recorded.link);
  await page.locator(".thread .row").first().waitFor();
  await page.locator(".lanes").waitFor();
}

const fixtureLines = (name: string) => readFileSync(`${fixtures}agents/${name}`, "utf8").trim().split("\n");

/** The number of the line that is shown. */
const shownLine = async () => Number((await page.locator(".at-moment input").inputValue()).replace(/\D/g, ""));

test("a recording is shown, and its server ends with the tab", async () => {
  const end = page.waitForResponse((it) => it.status() === 204);
  await open(`${fixtures}sub_nest_fg.jsonl`);
  await page.getByText("turn finished").waitFor();
  await page.locator(".sessions h2").getByText("Recordings").waitFor();
  strictEqual(await page.locator(".say").count(), 0, "a recording takes no prompt");
  // The page asks once more whether anything follows the end, and says nothing of it.
  await end;
  strictEqual(await page.evaluate(() => (window as unknown as { seen: { banners: number } }).seen.banners), 0);
  const ended = once(recorded!.process, "exit");
  await page.close();
  deepStrictEqual(await ended, [0, null]);
  page = await newPage("light", SIZES[0]!);
});

test("recordings are opened by replay too, compressed, and as past conversations", async () => {
  const id = "11111111-2222-4333-8444-555555555555";
  const project = join(folder, ".claude", "projects", "-tmp-sheep");
  mkdirSync(project, { recursive: true });
  const line = (type: string, content: unknown) =>
    JSON.stringify({ type, uuid: crypto.randomUUID(), sessionId: id, cwd: folder, timestamp: "2026-01-01T00:00:00Z", message: { role: type, content } });
  writeFileSync(join(project, `${id}.jsonl`), `${line("user", "Count the sheep")}\n${line("assistant", [{ type: "text", text: "There are nine." }])}\n`);
  const past = { HOME: folder, CLAUDE_CONFIG_DIR: join(folder, ".claude") };
  for (const [args, more, text] of [
    [["replay", `${fixtures}sub_nest_fg.jsonl`], {}, "Nested agents have reported."],
    [["inspect", `${fixtures}oneline_1mb_partial.jsonl.gz`], {}, "turn "],
    [["replay", "--conversation", id], past, "There are nine."],
  ] as const) {
    recorded = await Recorded.run(args, more);
    await page.goto(recorded.link);
    await page.locator(".thread").getByText(text).first().waitFor();
    await page.locator(".sessions h2").getByText("Recordings").waitFor();
    // The server ends with the page, which may still ask it for something.
    await page.goto("about:blank");
    await recorded.stop();
  }
});

test("a recording that is cut says so", async () => {
  const path = join(folder, "cut.jsonl");
  const whole = readFileSync(`${fixtures}sub_nest_fg.jsonl`);
  writeFileSync(path, new Uint8Array(whole.subarray(0, 12_345)));
  await open(path);
  await page.getByText("Child grand starts.").waitFor();
  await page.screenshot({ path: "target/cut.png" });
  match(await page.locator(".thread .row").last().innerText(), /./);
});

test("entries lead to their lines, and lines to their entries", async () => {
  const path = `${fixtures}tool_bash_partial.jsonl`;
  await open(path);
  await page.locator("button.offset").first().click();
  await page.locator(".line.selected").first().waitFor();
  const first = await page.locator(".inspector h3").innerText();
  const [from, to] = /([\d\u202f]+)–([\d\u202f]+)/.exec(first)!.slice(1).map((it) => Number(it.replaceAll("\u202f", ""))) as [number, number];
  await page.getByRole("button", { name: "Raw", exact: true }).click();
  strictEqual((await page.locator(".detail pre").innerText()).trim(), readFileSync(path).subarray(from, to).toString().trim());
  // A part of the lines of one text is one row.
  await page.locator(".line", { hasText: /content_block_delta ×\d+/ }).first().waitFor();
  await page.getByLabel("fold deltas").uncheck();
  await page.locator(".line", { hasText: /×\d+/ }).first().waitFor({ state: "detached" });
  // Every line says what it became.
  await page.locator(".lines").evaluate((list) => (list.scrollTop = list.scrollHeight));
  await page.locator(".line", { hasText: "result/success" }).click();
  await page.locator(".became").getByText("became a part of the transcript").waitFor();
  await page.locator(".became .link").first().click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const saved = readFileSync(await (await download).path());
  ok(readFileSync(path).includes(saved) && saved.includes("total_cost_usd"));
});

test("any bytes of a stream are downloaded", async () => {
  const path = `${fixtures}tool_bash_partial.jsonl`;
  await open(path);
  await page.getByRole("button", { name: "Inspect" }).click();
  await page.getByRole("button", { name: "Range…" }).click();
  const form = page.getByRole("form", { name: "Download a range" });
  const save = async (first: string, end: string) => {
    await form.getByLabel("First byte").fill(first);
    await form.getByLabel("End").fill(end);
    await form.getByRole("button", { name: "Download" }).click();
  };
  await save("900", "100");
  await form.getByRole("alert").getByText("the smaller one first").waitFor();
  const download = page.waitForEvent("download");
  await save("1 000", "3 500");
  strictEqual((await download).suggestedFilename(), "output-1000-3500.jsonl");
  deepStrictEqual(readFileSync(await (await download).path()), readFileSync(path).subarray(1_000, 3_500));
  await form.waitFor({ state: "detached" });
});

test("lines that became nothing say why", async () => {
  const informational = '{"type":"system","subtype":"informational","content":"a","uuid":"1","session_id":"s"}';
  const path = join(folder, "odd.jsonl");
  writeFileSync(path, [informational, informational, '{"type":"novelty","uuid":"2"}', "{not json", '{"type":"keep_alive"}', ""].join("\n"));
  await open(path);
  await page.getByRole("button", { name: "Inspect" }).click();
  const texts = ["part of the transcript", "was there before", "does not know", "expected", "changes nothing"];
  for (const [index, text] of texts.entries()) {
    await page.locator(".lines .line").nth(index).click();
    await page.locator(".became", { hasText: text }).waitFor();
  }
});

test("members that this version does not read are marked", async () => {
  const path = join(folder, "new.jsonl");
  const result = { type: "result", subtype: "success", usage: { input_tokens: 1, novelty: { a: 1 } }, uuid: "1", session_id: "s" };
  writeFileSync(path, `${JSON.stringify({ type: "keep_alive" })}\n${JSON.stringify(result)}\n`);
  await open(path);
  await page.getByRole("button", { name: "Inspect" }).click();
  const line = page.locator(".lines .line");
  await line.nth(1).click();
  await page.locator(".unknown").getByText("usage/novelty").waitFor();
  deepStrictEqual(await page.locator(".detail pre mark").allInnerTexts(), ['"novelty"']);
  await page.screenshot({ path: "target/unknown-members.png" });
  await page.getByRole("button", { name: "Raw" }).click();
  await page.locator(".detail pre").getByText('{"type":"result"').waitFor();
  deepStrictEqual(await page.locator(".detail pre mark").allInnerTexts(), ['"novelty"']);
  await line.nth(0).click();
  await page.locator(".detail h3").getByText("Line 1").waitFor();
  await page.locator(".detail pre").getByText("keep_alive").waitFor();
  strictEqual(await page.locator(".unknown, .detail mark").count(), 0);
});

for (const [protocol, read, line, expected] of [
  ["gemini", () => fixtureLines("gemini/stream-json.plain.jsonl").map((it) => it.replace('"session_id":', '"novelty":1,"session_id":')), "init", "Not read by this version: novelty"],
  ["claude", () => ['{"type":"result","subtype":"success","uuid":"1"}', '{"type":"novelty"}'], "novelty", "A line is kept as a whole"],
  ["codex", () => fixtureLines("codex/app-server.plain.out.jsonl").map((it) => it.replace('"params":{"thread":{', '"params":{"thread":{"novelty":1,')), "thread/started", "params/thread/novelty"],
] as const) {
  test(`unknown members of a line are named, or why they are not, ${protocol}`, async () => {
    const path = join(folder, `${protocol}.jsonl`);
    writeFileSync(path, `${read().join("\n")}\n`);
    await open(path);
    await page.getByRole("button", { name: "Inspect" }).click();
    await page.locator(".lines .line", { hasText: line }).first().click();
    await page.locator(".unknown", { hasText: expected }).waitFor();
  });
}

test("a journal has its standard error in place, and what cannot be read is said", async () => {
  const runner = await Runner.start();
  const path = join(folder, "session.bjl");
  try {
    const agent = join(runner.folder, "warns");
    writeFileSync(agent, `#!/bin/sh\necho 'a warning of the agent' >&2\nexec '${runner.scripted}' "$@"\n`, { mode: 0o700 });
    const id = await runner.dialogue("hello", { agent });
    const has = async (entry: string) => JSON.stringify(await runner.api("GET", `/api/sessions/${id}/transcript`)).includes(entry);
    while (!(await has('"kind":"result"')));
    await runner.api("DELETE", `/api/sessions/${id}`);
    const journal = readdirSync(runner.folder, { recursive: true, encoding: "utf8" }).find((it) => it.includes(id) && it.endsWith(".bjl"))!;
    const bytes = readFileSync(join(runner.folder, journal));
    writeFileSync(path, new Uint8Array(bytes.subarray(0, -16)));
  } finally {
    await runner.stop();
  }
  await open(path);
  await page.getByText("without the agent's exit").or(page.getByText("is damaged")).first().waitFor();
  await page.getByRole("button", { name: "Inspect" }).click();
  await page.locator(".lines .line.stderr").getByText("a warning of the agent").click();
  await page.locator(".became").getByText("standard error is no part of the transcript").waitFor();
  await page.getByText("Standard error, line 1").waitFor();
  strictEqual((await page.locator(".detail pre").innerText()).trim(), "a warning of the agent");
  ok((await page.locator(".lines .line.input").count()) > 0, "what the host wrote");
});

test("bytes are searched", async () => {
  await open(`${fixtures}sub_nest_fg.jsonl`);
  await page.getByRole("button", { name: "Inspect" }).click();
  await page.getByLabel("Search the bytes").fill("GRANDCHILD fine");
  await page.getByLabel("Search the bytes").press("Enter");
  await page.locator(".hits .line").first().click();
  await page.locator(".lines .line[aria-pressed=true]").waitFor();
  ok((await page.locator(".detail pre").innerText()).includes("grandchild fine"));
});

test("a session is scrubbed, stepped and played", async () => {
  await open(`${fixtures}sub_nest_fg.jsonl`);
  await page.getByText("turn finished").waitFor();
  const field = page.locator(".at-moment input");
  await field.fill("13");
  await field.press("Enter");
  await page.getByText("As it was at line 13").waitFor();
  strictEqual(await page.getByText("turn finished").count(), 0);
  await page.getByText("Child grand starts.").waitFor();
  await page.getByRole("button", { name: "A line later" }).click();
  await page.getByText("As it was at line 14").waitFor();
  await page.getByRole("button", { name: "A line earlier" }).click();
  await page.getByText("As it was at line 13").waitFor();
  const box = (await page.locator(".scrub").boundingBox())!;
  await page.mouse.click(box.x + 10, box.y + box.height / 2);
  await page.waitForFunction(() => !document.body.innerText.includes("Child grand starts."));
  ok((await shownLine()) < 13);
  await page.getByLabel("Speed").selectOption("20");
  await page.getByRole("button", { name: "Play" }).click();
  await page.getByText("turn finished").waitFor();
  await page.locator(".dock.past").waitFor({ state: "detached" });
});

test("a moment is chosen by a byte and by a time, and the list shows it", async () => {
  const path = `${fixtures}sub_nest_fg.jsonl`;
  await open(path);
  await page.getByText("turn finished").waitFor();
  const listed = page.locator(".sessions li a[aria-current]");
  ok(!(await listed.innerText()).includes("runs"));
  const unit = page.getByLabel("Unit of the moment");
  await unit.selectOption("byte");
  const byte = page.getByLabel("Moment, as a byte");
  const end = readFileSync(path).subarray(0, 12_000).lastIndexOf("\n") + 1;
  await byte.fill(String(end));
  await byte.press("Enter");
  await page.locator(".dock.past").waitFor();
  strictEqual((await byte.inputValue()).replace(/\D/g, ""), String(end));
  await page.locator(".sessions a.then").getByText("Agent runs").waitFor();
  await unit.selectOption("time");
  const time = page.getByLabel("Moment, as a time");
  const before = await page.locator(".dock.past").innerText();
  await time.fill("0:00.050");
  await time.press("Enter");
  await page.waitForFunction((text) => document.querySelector<HTMLElement>(".dock.past")?.innerText !== text, before);
  strictEqual(await time.inputValue(), "0:00.050");
  const scrub = page.locator(".scrub");
  strictEqual(Number(await scrub.inputValue()) - Number(await scrub.getAttribute("min")), 50);
  await time.fill("later");
  await time.press("Enter");
  await page.getByRole("alert").getByText("Write a time").waitFor();
  strictEqual(await time.inputValue(), "later", "what was written stays");
  await time.fill("1:00");
  await time.press("Enter");
  await page.locator(".dock.past").waitFor({ state: "detached" });
  await page.locator(".sessions a.then").waitFor({ state: "detached" });
});

test("a recording whose times go back is scrubbed by its bytes", async () => {
  const path = join(folder, "joined.jsonl");
  const end = writeLarge(path, 200_000, 0);
  await open(path);
  const scrub = page.locator(".scrub");
  strictEqual(await scrub.getAttribute("max"), String(end));
  await scrub.focus();
  await page.keyboard.press("Home");
  await page.getByText("As it was at line 0").waitFor();
  const field = page.getByLabel("Moment, as a line");
  await field.fill("300");
  await field.press("Enter");
  await page.getByText("As it was at line 300").waitFor();
  ok(Number(await scrub.inputValue()) > end / 2);
});

test("timeline leads to entries and zooms to a turn", async () => {
  await open(`${fixtures}multi_turn_replay.jsonl`);
  const bars = await page.locator(".lanes .bar").count();
  ok(bars > 0 && bars < 250);
  await page.locator(".lanes .turns rect").first().click();
  await page.getByRole("button", { name: "Whole session" }).click();
  await page.getByRole("button", { name: "Inspect" }).click();
  await page.getByRole("button", { name: "Usage" }).click();
  const turns = page.locator(".usage table").first().locator("tbody tr");
  ok((await turns.count()) >= 2);
  await turns.first().locator(".link").click();
});

test("a long recording is read in parts", async () => {
  const line = (at: number) =>
    JSON.stringify({ type: "assistant", uuid: `u${at}`, session_id: "s", message: { id: `m${at}`, role: "assistant", model: "m", content: [{ type: "text", text: `message ${at} ${"x".repeat(120)}` }] } });
  const path = join(folder, "long.jsonl");
  const count = 20_000;
  writeFileSync(path, Array.from({ length: count }, (_, at) => `${line(at)}\n`).join(""));
  await open(path);
  await page.getByText(`message ${count - 1} `).waitFor();
  await page.locator(".thread").evaluate((list) => (list.scrollTop = list.scrollHeight / 2));
  await page.waitForFunction(() => /message (?:8|9|10|11)\d\d\d /.test(document.querySelector(".thread")!.textContent!));
  await page.getByRole("button", { name: "Inspect" }).click();
  await page.locator(".lines .line .kind").first().waitFor();
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  console.log(`${elements} elements of ${count} entries and lines`);
  ok(elements <= 500);
  const field = page.locator(".at-moment input");
  await field.fill("7000");
  await field.press("Enter");
  await page.getByText("message 6999 ").waitFor();
  strictEqual(await page.getByText("message 7000 ").count(), 0);
});

for (const colorScheme of ["light", "dark"] as const) {
  for (const viewport of SIZES) {
    test(`no accessibility rule is broken by the inspector, ${colorScheme}, ${viewport.width} wide`, async () => {
      await page.context().close();
      page = await newPage(colorScheme, viewport);
      await open(`${fixtures}sub_nest_fg.jsonl`);
      await page.getByRole("button", { name: "Inspect" }).click();
      await page.locator(".lines .line .kind").first().waitFor();
      await page.locator(".lines .line").first().click();
      await page.locator(".detail pre").waitFor();
      deepStrictEqual(await violations(page), [], "bytes");
      await page.screenshot({ path: `target/inspector-${colorScheme}-${viewport.width}.png` });
      await page.getByRole("button", { name: "Usage" }).click();
      await page.locator(".usage").waitFor();
      deepStrictEqual(await violations(page), [], "usage");
      await page.getByRole("button", { name: "Close" }).click();
      await page.locator(".at-moment input").fill("13");
      await page.locator(".at-moment input").press("Enter");
      await page.locator(".dock.past").waitFor();
      deepStrictEqual(await violations(page), [], "an earlier moment");
      await page.screenshot({ path: `target/moment-${colorScheme}-${viewport.width}.png` });
    });
  }
}
