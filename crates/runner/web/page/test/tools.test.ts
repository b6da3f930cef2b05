// Filters, search, links, export, and the prompt box in Chromium, against a stand-in for the runner.
import { deepStrictEqual, match, ok, strictEqual } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";
import type { Change, EntryValue, QueuedPrompt, SessionFields } from "@bowline/client";
import { watch } from "./runner.js";
import { StandIn, changesOf } from "./stand_in.js";

const chromiumPath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const nested = "../../../tests/fixtures/sub_nest_fg.jsonl";

let browser: Browser;
let server: StandIn;
let page: Page;
let problems: string[];

before(async () => {
  browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
});

after(() => browser.close());

beforeEach(async () => {
  server = await StandIn.start();
  problems = [];
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", acceptDownloads: true });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  page = await context.newPage();
  await watch(page, problems);
});

afterEach(async () => {
  await page.context().close();
  await server.stop();
  deepStrictEqual(problems, []);
});

async function open(address: string): Promise<void> {
  await page.goto(`${server.url}/#login=ticket-abc`);
  await page.waitForSelector(".sessions li");
  await page.evaluate((it) => (location.hash = `#/${it}`), address);
  await page.waitForSelector("main .top");
}

const running: Change = { change: "status", status: { phase: "running", reason: "a turn is open" } };
const idle: Change = { change: "status", status: { phase: "idle", reason: "settled" } };

function entry(number: number, value: EntryValue): Change {
  return { change: "entry", entry: number, thread: null, value, turn: null, at_ms: null, bytes: [number, number + 1], history: false };
}

const user = (text: string): EntryValue => ({ kind: "user", uuid: null, text, replay: false, synthetic: false });

function fields(changed: Partial<SessionFields>): Change {
  const none: SessionFields = {
    session_id: null,
    conversations: [],
    model: null,
    cwd: null,
    cli_version: null,
    permission_mode: null,
    dialect: "claude",
    agent: { name: null, version: null },
    title: null,
    plan: [],
    queue: [],
    context: null,
    limits: [],
    options: [],
    commands: [],
    threads: {},
  };
  return { change: "session", session: { ...none, ...changed } };
}

const received = (part: string) => server.received.filter(({ path }) => path.includes(part));
const clipboard = () => page.evaluate(() => navigator.clipboard.readText());

test("filters show the entries and blocks of a kind, and the thread of an agent", async () => {
  server.session("a", {}, changesOf(nested));
  await open("a");
  await page.getByText("turn finished").waitFor();
  await page.getByRole("button", { name: "Tools", exact: true }).click();
  await page.getByText("turn finished").waitFor({ state: "detached" });
  ok((await page.locator(".thread .call").count()) > 0);
  await page.getByRole("button", { name: "Problems" }).click();
  await page.getByText("Nothing of this kind.").waitFor();
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByText("turn finished").waitFor();
  const agents = page.getByLabel("Agent", { exact: true });
  const names = await agents.locator("option").allInnerTexts();
  ok(names.length >= 3, `the main agent and two others: ${names.join(", ")}`);
  await agents.selectOption({ index: 2 });
  await page.getByText("Child grand starts.").waitFor();
  await page.getByText("Nested agents have reported.").waitFor({ state: "detached" });
  // New entries of the kind appear.
  await agents.selectOption({ index: 0 });
  await page.getByRole("button", { name: "Text", exact: true }).click();
  server.push("a", [entry(9_001, user("one more")), entry(9_002, { kind: "notice", notice: "n", text: "not text" })]);
  await page.getByText("one more").waitFor();
  strictEqual(await page.getByText("not text").count(), 0);
});

test("a hit of the search and a link lead to their entry", async () => {
  const many = Array.from({ length: 2_000 }, (_, at) => entry(at, user(`prompt ${at}.`)));
  server.session("a", {}, [idle, ...many]);
  server.read = (path, query) =>
    path === "/api/sessions/a/search"
      ? { hits: [{ in: "text", entry: 700, main_entry: 700, tool_call: null, bytes: [700, 701], before: "prompt ", found: query.get("q"), after: "" }], next: null }
      : undefined;
  await open("a");
  await page.getByText("prompt 1999.").waitFor();
  await page.locator(".thread").focus();
  await page.keyboard.press("f");
  await page.keyboard.type("700.");
  await page.getByText("1 found").waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".marked", { hasText: "prompt 700." }).waitFor();
  await page.locator(".marked").hover();
  await page.locator(".marked").getByRole("button", { name: "Link" }).click();
  await page.getByText("copied a link").waitFor();
  const link = await clipboard();
  strictEqual(link, `${server.url}/#/a/700`);
  await page.locator(".marked").getByRole("button", { name: "Copy" }).click();
  await page.getByText("copied as Markdown").waitFor();
  strictEqual(await clipboard(), "> **Prompt**\n>\n> prompt 700.\n");
  await page.goto("about:blank");
  await page.goto(link);
  await page.locator(".marked", { hasText: "prompt 700." }).waitFor();
});

test("a transcript is saved as Markdown and as one file of HTML", async () => {
  const hostile = "<img src=x onerror=alert(1)></pre><script>alert(2)</script>";
  server.session("a", { title: "a/../b: <title>" }, [...changesOf(nested), entry(9_001, user(hostile))]);
  await open("a");
  await page.getByText("onerror").waitFor();
  const save = async (item: string) => {
    await page.getByRole("button", { name: "Session", exact: true }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: item }).click()]);
    return { name: download.suggestedFilename(), text: readFileSync((await download.path())!, "utf8") };
  };
  const markdown = await save("Save as Markdown");
  ok(!markdown.name.includes("/"), markdown.name);
  match(markdown.text, /REPORT of mid: grandchild fine\./);
  match(markdown.text, /> > .*Child grand starts\./);
  const html = await save("Save as HTML");
  ok(html.name.endsWith(".html"));
  const file = "target/export.html";
  writeFileSync(file, html.text);
  const other = await page.context().newPage();
  const asked: string[] = [];
  other.on("request", ({ url }) => asked.push(url.toString()));
  other.on("dialog", () => problems.push("the file ran a script"));
  await other.goto(`file://${process.cwd()}/${file}`);
  const text = await other.locator("body").innerText();
  match(text, /onerror=alert/);
  strictEqual(await other.locator("img, script, iframe, a").count(), 0);
  strictEqual(asked.length, 1, "only the file itself");
});

test("a plan and tasks are one line, and whole when opened", async () => {
  const plan = [
    { text: "read the code", state: "completed", priority: null },
    { text: "mend it", state: "in_progress", priority: null },
    { text: "test it", state: "pending", priority: null },
  ] as const;
  const task: Change = { change: "task", task: "t", value: { kind: "shell", state: "running", description: "npm run watch", tool_use_id: null } };
  server.session("a", {}, [running, fields({ plan }), task]);
  await open("a");
  const head = page.getByLabel("Plan and tasks").getByRole("button");
  match(await head.innerText(), /1 of 3\s+mend it\s+1 task in the background/);
  await head.click();
  await page.getByText("npm run watch").waitFor();
  strictEqual(await page.locator(".plan li").count(), 4);
});

test("an interrupt stops the tasks too, or drops what waits", async () => {
  const task: Change = { change: "task", task: "t", value: { kind: "shell", state: "running", description: "npm run watch", tool_use_id: null } };
  server.session("a", {}, [running, fields({ queue: [{ id: "p1", text: "next", state: "waiting" }] }), task]);
  await open("a");
  const choose = async (item: string) => {
    await page.getByRole("button", { name: "Session", exact: true }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  await page.getByRole("button", { name: "Interrupt", exact: true }).click();
  await choose("Interrupt, and drop what waits");
  await choose("Interrupt, and stop the tasks");
  await page.getByLabel("Plan and tasks").getByRole("button").first().click();
  await page.getByRole("button", { name: "Stop npm run watch" }).click();
  while (received("/interrupt").length < 4) await server.request("/api/sessions/a/interrupt");
  deepStrictEqual(received("/interrupt").map(({ body }) => body), [{}, { cancel_queued: true }, { tasks: true }, { task: "t" }]);
});

test("prompts that wait are changed, moved and removed", async () => {
  const queue: QueuedPrompt[] = [
    { id: "p0", text: "is sent", state: "sent" },
    { id: "p1", text: "first", state: "waiting" },
    { id: "p2", text: "second", state: "waiting" },
  ];
  server.session("a", {}, [running, fields({ queue })]);
  await open("a");
  const item = (text: string) => page.locator(".queue li", { hasText: text });
  await item("is sent").waitFor();
  strictEqual(await item("is sent").getByRole("button").count(), 0);
  await item("second").getByRole("button", { name: "Move up" }).click();
  await server.request("/api/sessions/a/queue/p2");
  await item("first").getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Text of the prompt that waits").fill("the first");
  await page.getByRole("button", { name: "Save" }).click();
  await server.request("/api/sessions/a/queue/p1");
  await page.getByLabel("Text of the prompt that waits").waitFor({ state: "detached" });
  server.respond = () => [409, { code: "PROMPT_NOT_QUEUED", detail: "the prompt was sent meanwhile", next: "" }];
  await item("first").getByRole("button", { name: "Remove from the queue" }).click();
  await page.getByText("the prompt was sent meanwhile").waitFor();
  deepStrictEqual(
    received("/queue/").map(({ method, path, body }) => [method, path.split("/").at(-1), body]),
    [
      ["PATCH", "p2", { before: "p1" }],
      ["PATCH", "p1", { text: "the first" }],
      ["DELETE", "p1", null],
    ],
  );
  server.respond = () => [202, { id: "p", state: "queued" }];
  await page.getByLabel("Say something to the agent").fill("third");
  await page.getByRole("button", { name: "Queue", exact: true }).click();
  const { body } = await server.request("/api/sessions/a/prompt");
  strictEqual((body as { queue?: boolean }).queue, true);
});

test("files are attached, and what the agent cannot read is refused", async () => {
  server.session("a", {}, [idle, fields({})]);
  await open("a");
  const picker = page.locator('.say input[type="file"]');
  await picker.setInputFiles({ name: "data.bin", mimeType: "application/octet-stream", buffer: Buffer.from([0, 1, 2, 255]) });
  await page.getByText("data.bin is neither a picture, nor a PDF, nor text").waitFor();
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await picker.setInputFiles([
    { name: "dot.png", mimeType: "image/png", buffer: png },
    { name: "notes.txt", mimeType: "", buffer: Buffer.from("grün") },
    { name: "drop.txt", mimeType: "text/plain", buffer: Buffer.from("x") },
  ]);
  await page.getByRole("button", { name: "Remove drop.txt" }).click();
  await page.getByLabel("Say something to the agent").fill("look at these");
  await page.getByRole("button", { name: "Send" }).click();
  const { body } = await server.request("/api/sessions/a/prompt");
  const { text, attachments } = body as { text: string; attachments: unknown };
  strictEqual(text, "look at these");
  deepStrictEqual(attachments, [
    { media_type: "image/png", data: png.toString("base64") },
    { media_type: "text/plain", data: Buffer.from("grün").toString("base64"), title: "notes.txt" },
  ]);
  await page.locator(".files").waitFor({ state: "detached" });
});

test("commands are completed, and options are changed", async () => {
  const commands = [
    { name: "compact", description: "Shorten the conversation" },
    { name: "clear", description: null },
    { name: "review", description: null },
  ];
  const options = [
    { id: "model", name: "Model", category: "model", value: "m1", choices: [{ id: "m1", name: "One", description: null }, { id: "m2", name: "Two", description: null }] },
  ];
  server.session("a", {}, [idle, fields({ commands, options })]);
  await open("a");
  const box = page.getByLabel("Say something to the agent");
  await box.fill("/c");
  await page.locator(".commands li").nth(1).waitFor();
  strictEqual(await page.locator(".commands li").count(), 2);
  await box.press("ArrowDown");
  await box.press("Tab");
  strictEqual(await box.inputValue(), "/clear ");
  await box.fill("/compact");
  await box.press("Enter");
  strictEqual(((await server.request("/api/sessions/a/prompt")).body as { text: string }).text, "/compact");
  await page.getByLabel("Model").selectOption("m2");
  deepStrictEqual((await server.request("/api/sessions/a/options")).body, { option: "model", value: "m2" });
});

test("an answer of another client is shown with its name", async () => {
  const all = changesOf("../../../tests/fixtures/permission_allow.jsonl");
  const at = all.findIndex((it) => it.change === "permission" && it.value.state === "open");
  server.session("a", {}, all.slice(0, at + 1));
  await open("a");
  await page.locator(".card").waitFor();
  const asked = all[at] as Extract<Change, { change: "permission" }>;
  // The name comes a moment after the answer.
  server.push("a", [{ ...asked, value: { ...asked.value, state: "allowed" } }]);
  await page.locator(".card").waitFor({ state: "detached" });
  server.push("a", [{ ...asked, value: { ...asked.value, state: "allowed", decided_by: { who: "laptop", how: "allow", at_ms: null } } }]);
  await page.getByText(`${asked.value.tool_name}: allowed by laptop`).waitFor();
});

test("a picture of a result is read from its bytes when it is asked for", async () => {
  const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
  const lines = [
    { type: "assistant", uuid: "1", session_id: "s", message: { id: "m", role: "assistant", model: "m", content: [{ type: "tool_use", id: "t", name: "Read", input: { file_path: "/a.png" } }] } },
    { type: "user", uuid: "2", session_id: "s", message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: [image] }] } },
  ];
  const file = "target/picture.jsonl";
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  server.session("a", {}, changesOf(file));
  server.log("a", readFileSync(file));
  await open("a");
  await page.locator(".call .head").click();
  await page.getByRole("button", { name: "Show the picture" }).click();
  const picture = page.getByRole("img", { name: "Picture 1 of the result" });
  await picture.waitFor();
  strictEqual(await picture.evaluate((it: HTMLImageElement) => it.naturalWidth), 1);
});
