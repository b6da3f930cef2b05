// The page in Chromium, against a stand-in for the runner.
import { deepStrictEqual, match, ok, strictEqual } from "node:assert";
import { readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Change, EntryValue } from "@bowline/client";
import { HOSTILE, hostileChanges, hostileFields } from "./hostile.js";
import { SIZES, launch, violations } from "./browser.js";
import { answersFor } from "./recorded.js";
import { StandIn, changesOf, question } from "./stand_in.js";

const fixtures = "../../../tests/fixtures/";

let browser: Browser;
let server: StandIn;
let page: Page;
let problems: string[];

before(async () => void (browser = await launch()));

after(() => browser.close());

beforeEach(async () => {
  server = await StandIn.start();
  page = await newPage("light", SIZES[0]!);
});

afterEach(async () => {
  await page.context().close();
  await server.stop();
  deepStrictEqual(problems, [], "the page reported errors, broke its policy or asked another host");
});

/** A page that reports what it must not do. */
async function newPage(colorScheme: "light" | "dark", viewport: { width: number; height: number }): Promise<Page> {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
  const opened = await context.newPage();
  problems = [];
  opened.on("pageerror", (error) => problems.push(String(error)));
  opened.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  opened.on("console", (message) => {
    // A cut connection is reported as an error by the browser itself.
    const isNetwork = /net::ERR|Failed to load resource/.test(message.text());
    if (message.type() === "error" && !isNetwork) problems.push(message.text());
  });
  opened.on("request", (request) => {
    if (!request.url().startsWith(server.url)) problems.push(`asked ${request.url()}`);
  });
  await opened.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  return opened;
}

async function open(session: string): Promise<void> {
  await page.goto(`${server.url}/#login=ticket-abc`);
  await page.waitForSelector(".sessions li");
  await page.evaluate((id) => (location.hash = `#/${id}`), session);
  await page.waitForSelector("main .top");
}

const text = (selector: string) => page.locator(selector).innerText();

function entry(number: number, value: EntryValue): Change {
  return { change: "entry", entry: number, thread: null, value, turn: null, at_ms: null, bytes: [number, number + 1], history: false };
}

const user = (content: string): EntryValue => ({ kind: "user", uuid: null, text: content, replay: false, synthetic: false });
const assistant: EntryValue = { kind: "assistant", message_id: null, model: null, state: "streaming", blocks: [] };
const running: Change = { change: "status", status: { phase: "running", reason: "a turn is open" } };

/** The changes of a recording until its first open permission request. */
function untilPermission(name: string, tool: string): Change[] {
  const all = changesOf(fixtures + name);
  const at = all.findIndex((it) => it.change === "permission" && it.value.tool_name === tool && it.value.state === "open");
  return all.slice(0, at + 3);
}

test("without a login link the page says what to do", async () => {
  await page.goto(server.url);
  match(await text("main"), /login link; run `bowline ui`/);
});

test("a login link is used once and leaves the address", async () => {
  server.session("a", { title: "one" }, []);
  await page.goto(`${server.url}/#login=ticket-abc`);
  await page.waitForSelector(".sessions li");
  strictEqual(new URL(page.url()).hash, "");
  deepStrictEqual((await server.request("/api/login")).body, { ticket: "ticket-abc" });
  await page.reload();
  await page.waitForSelector(".sessions li");
  strictEqual(server.received.filter(({ path }) => path === "/api/login").length, 1);
});

test("a transcript has every text once, in order", async () => {
  server.session("a", {}, changesOf(`${fixtures}sub_nest_fg.jsonl`));
  await open("a");
  await page.getByText("turn finished").waitFor();
  const shown = await text(".thread");
  const wanted = ["Child grand starts.", "REPORT of child grand", "REPORT of mid: grandchild fine.", "Nested agents have reported."];
  let from = 0;
  for (const part of wanted) {
    const at = shown.indexOf(part, from);
    ok(at >= 0, `${part} comes after ${from}`);
    from = at;
  }
  strictEqual(shown.split("Nested agents have reported.").length, 2);
});

test("streamed text appears as it grows, and once after a cut", async () => {
  server.session("a", {}, [running, entry(0, assistant), { change: "block", block: 0, entry: 0, value: { type: "text", text: "" }, bytes: [0, 1] }]);
  await open("a");
  const words = "One **bold** word and `code`. ";
  for (let at = 0; at < words.length; at += 1) {
    server.push("a", [{ change: "append", block: 0, from: at, text: words[at]!, end: at + 2 }]);
    if (at === 12) server.cut();
  }
  await page.locator(".md code").waitFor();
  strictEqual((await text(".thread .md")).trim(), "One bold word and code.");
  strictEqual(await page.locator(".md strong").innerText(), "bold");
});

test("a permission is answered once, and not by a click at once", async () => {
  await page.addInitScript(() => {
    const observer = new MutationObserver(() => {
      const allow = document.querySelector<HTMLButtonElement>(".card .primary");
      if (!allow) return;
      observer.disconnect();
      allow.click();
      document.documentElement.dataset["clicked"] = "at once";
    });
    observer.observe(document, { childList: true, subtree: true });
  });
  server.session("a", { phase: "awaiting_permission" }, untilPermission("permission_allow.jsonl", "Write"));
  await open("a");
  const card = page.locator(".card");
  await card.waitFor();
  match(await card.innerText(), /perm\.txt/);
  match(await card.locator(".diff").innerText(), /\+\s*x/);
  const allow = card.getByRole("button", { name: "Allow" });
  await page.locator('.card[data-armed="true"]').waitFor();
  strictEqual(await page.evaluate(() => document.documentElement.dataset["clicked"]), "at once");
  strictEqual(server.received.some(({ path }) => path.endsWith("/permissions")), false, "a click at once is not an answer");
  await allow.click();
  await allow.evaluate((button: HTMLButtonElement) => button.click());
  const { body } = await server.request("/api/sessions/a/permissions");
  const { request_id } = body as { request_id: string };
  deepStrictEqual(body, { request_id, by: "page", option: "allow" });
  const closed = changesOf(`${fixtures}permission_allow.jsonl`).filter((it) => it.change === "permission");
  server.push("a", closed.slice(-1));
  await card.waitFor({ state: "detached" });
  strictEqual(server.received.filter(({ path }) => path.endsWith("/permissions")).length, 1);
});

test("denial carries its reason, and late answer names the first one", async () => {
  server.session("a", {}, untilPermission("permission_deny.jsonl", "Bash"));
  const decided_by = { who: "laptop", how: "allow", at_ms: 1 };
  server.respond = () => [409, { code: "PERMISSION_CLOSED", detail: "it was already answered", next: "", decided_by }];
  await open("a");
  await page.locator('.card[data-armed="true"]').waitFor();
  await page.getByLabel("Reason of a denial").fill("not now");
  await page.locator(".card").getByRole("button", { name: "Deny" }).click();
  const { body } = await server.request("/api/sessions/a/permissions");
  const { option, message } = body as { option: string; message: string };
  deepStrictEqual({ option, message }, { option: "deny", message: "not now" });
  await page.getByText("it was already answered").waitFor();
  await page.locator(".note").getByText("Bash: answered first by laptop (allow)").waitFor();
});

test("a prompt is sent once, also when the first attempt fails, and its draft is kept", async () => {
  server.session("a", {}, [running]);
  let attempts = 0;
  server.respond = () => ((attempts += 1) === 1 ? [503, { code: "BUSY", detail: "the runner is busy", next: "" }] : [202, { id: "p", state: "written" }]);
  await open("a");
  const box = page.getByLabel("Say something to the agent");
  await box.fill("first line\nsecond");
  await page.reload();
  await page.waitForSelector("main .top");
  strictEqual(await box.inputValue(), "first line\nsecond");
  await box.press("Enter");
  await page.getByText("the runner is busy").waitFor();
  await box.press("Enter");
  await page.waitForFunction(() => document.querySelector("textarea")!.value === "");
  const sent = server.received.filter(({ path }) => path.endsWith("/prompt")).map(({ body }) => body as { id: string; text: string });
  strictEqual(sent.length, 2);
  strictEqual(sent[0]!.id, sent[1]!.id, "an attempt is repeated under its id");
  strictEqual(sent[1]!.text, "first line\nsecond");
});

test("what is written while a prompt is sent is the next prompt", async () => {
  server.session("a", {}, [running]);
  const answer: readonly [number, unknown] = [202, { id: "p", state: "written" }];
  let answerFirst = () => {};
  server.respond = () => {
    server.respond = () => answer;
    return new Promise((resolve) => (answerFirst = () => resolve(answer)));
  };
  await open("a");
  const box = page.getByLabel("Say something to the agent");
  await box.fill("first");
  await box.press("Enter");
  await server.request("/api/sessions/a/prompt");
  await box.fill("second");
  answerFirst();
  // The button is disabled until the first prompt is sent.
  await page.getByRole("button", { name: "Queue", exact: true }).click();
  await page.waitForFunction(() => document.querySelector("textarea")!.value === "");
  const sent = server.received.filter(({ path }) => path.endsWith("/prompt")).map(({ body }) => body as { id: string; text: string });
  deepStrictEqual(sent.map(({ text }) => text), ["first", "second"]);
  ok(sent[0]!.id !== sent[1]!.id);
});

test("a changed prompt is another one than the attempt that failed", async () => {
  server.session("a", {}, [running]);
  let attempts = 0;
  server.respond = () => ((attempts += 1) === 1 ? [503, { code: "BUSY", detail: "the runner is busy", next: "" }] : [202, { id: "p", state: "written" }]);
  await open("a");
  const box = page.getByLabel("Say something to the agent");
  await box.fill("first");
  await box.press("Enter");
  await page.getByText("the runner is busy").waitFor();
  await box.fill("changed");
  await box.press("Enter");
  await page.waitForFunction(() => document.querySelector("textarea")!.value === "");
  const sent = server.received.filter(({ path }) => path.endsWith("/prompt")).map(({ body }) => body as { id: string; text: string });
  deepStrictEqual(sent.map(({ text }) => text), ["first", "changed"]);
  ok(sent[0]!.id !== sent[1]!.id, "a runner takes an id for one prompt");
});

test("a lost connection is said and restored", async () => {
  server.session("a", {}, [running, entry(0, user("before"))]);
  await open("a");
  await page.getByText("before").waitFor();
  const banner = page.locator(".banner");
  // One cut is not said: the page is back at once.
  while ((await banner.count()) === 0) server.cut();
  server.push("a", [entry(1, user("after"))]);
  await page.getByText("after").waitFor();
  await banner.waitFor({ state: "detached" });
  strictEqual(await page.locator(".you").count(), 2);
});

test("a hundred thousand entries have few elements, and stay where they are read", async () => {
  const many = Array.from({ length: 100_000 }, (_, at) => entry(at, user(`prompt ${at}\n${"more\n".repeat(at % 5)}`)));
  server.session("a", {}, [running, ...many]);
  await open("a");
  await page.getByText("prompt 99999").waitFor();
  ok((await page.locator("*").count()) < 500, "few elements");
  // A reader that has scrolled up stays at the same row while others arrive.
  await page.locator(".thread").hover();
  await page.mouse.wheel(0, -5_000);
  await page.getByText("Go to the end").waitFor();
  const top = () =>
    page.evaluate(() => {
      const list = document.querySelector(".thread")!.getBoundingClientRect();
      const row = [...document.querySelectorAll(".thread .you")].find((it) => it.getBoundingClientRect().top > list.top)!;
      return `${row.textContent!.slice(0, 12)} at ${Math.round(row.getBoundingClientRect().top)}`;
    });
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const before = await top();
  server.push("a", Array.from({ length: 500 }, (_, at) => entry(100_000 + at, user(`late ${at}`))));
  server.push("a", [{ change: "status", status: { phase: "idle", reason: "settled" } }]);
  await page.getByText("settled").waitFor();
  strictEqual(await top(), before);
  await page.getByText("Go to the end").click();
  await page.getByText("late 499").waitFor();
});

test("twenty thousand deltas a second are shown as one text", async () => {
  const first: Change[] = [running, entry(0, assistant), { change: "block", block: 0, entry: 0, value: { type: "text", text: "" }, bytes: [0, 1] }];
  server.session("a", {}, first);
  await open("a");
  await page.evaluate(() => {
    const tasks: number[] = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
    Object.assign(globalThis, { tasks });
  });
  let from = 0;
  for (let batch = 0; batch < 100; batch += 1) {
    const words: Change[] = [];
    for (let at = 0; at < 200; at += 1) {
      const word = at % 40 === 39 ? "end.\n\n" : "word ";
      words.push({ change: "append", block: 0, from, text: word, end: from });
      from += word.length;
    }
    server.push("a", words);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  }
  await page.waitForFunction((length) => (document.querySelector(".md")?.textContent?.length ?? 0) > length * 0.9, from);
  const tasks = await page.evaluate(() => (globalThis as unknown as { tasks: number[] }).tasks);
  // A measurement, since other work on the machine makes tasks long.
  console.log(`long tasks of ${tasks.map(Math.round).join(", ") || 0} ms, text of ${from} bytes`);
  strictEqual(await page.locator(".md p").count(), from / (39 * 5 + 6));
  ok((await page.locator("*").count()) < 1_500);
});

/** The elements of a page that could do more than be read. */
const active = () =>
  page.evaluate(() => {
    const links = [...document.querySelectorAll("#root a[href]")].filter((it) => !/^(https?:|mailto:)/.test((it as HTMLAnchorElement).href));
    const found = [...document.querySelectorAll("#root :is(script, iframe, img, object, embed, style, link, form[action])"), ...links];
    return found.map((it) => it.outerHTML.slice(0, 200)).filter((html) => !/^<a [^>]*href="#/.test(html));
  });

const nextFrame = () => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));

test("hostile texts of a transcript are only texts", async () => {
  server.session("a", {}, [running, ...hostileChanges(HOSTILE)]);
  await open("a");
  await page.locator(".notice").first().waitFor();
  for (let at = 0; at < 60; at += 1) {
    deepStrictEqual(await active(), []);
    await page.evaluate(() => document.querySelector(".thread")!.scrollBy(0, -600));
    await nextFrame();
  }
});

test("hostile texts of a session, its plan, tasks, requests and commands are only texts", async () => {
  server.session("a", { title: "shown" }, [running, ...hostileChanges(["a call"])]);
  for (const [at, text] of HOSTILE.entries()) {
    const field = text.slice(0, 10_000);
    server.session(`h${at}`, { title: field, cwd: field, reason: field, program: field, phase: "awaiting_permission" }, []);
  }
  await open("a");
  await page.locator(".sessions li").nth(HOSTILE.length).waitFor();
  for (const text of HOSTILE) {
    server.push("a", hostileFields(text));
    await page.locator(".card").nth(2).waitFor();
    const head = page.getByLabel("Plan and tasks").getByRole("button").first();
    if ((await head.getAttribute("aria-expanded")) === "false") await head.click();
    await page.getByLabel("Say something to the agent").fill("/");
    await nextFrame();
    deepStrictEqual(await active(), [], JSON.stringify(text.slice(0, 40)));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    strictEqual(wide, false, `the page is wider than its window: ${JSON.stringify(text.slice(0, 40))}`);
  }
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Command or session" }).waitFor();
  deepStrictEqual(await active(), []);
});

test("a question is answered with options and words", async () => {
  server.session("a", { phase: "awaiting_permission" }, [running, question()]);
  await open("a");
  await page.locator('.card[data-armed="true"]').waitFor();
  const first = page.getByRole("group", { name: "How should the output be formatted?" });
  await first.getByLabel("Summary").check();
  await first.getByLabel("Answer to: How should the output be formatted?").fill("in two lines");
  const second = page.getByRole("group", { name: "Which sections?" });
  for (const name of ["Introduction", "Conclusion"]) await second.getByLabel(name).check();
  strictEqual(await second.getByRole("textbox").count(), 0, "only its options are answers");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  const { body } = await server.request("/api/sessions/a/permissions");
  const answers = { q1: "Summary, in two lines", q2: "Introduction, Conclusion" };
  deepStrictEqual(body, { request_id: "r", by: "page", answers });
});

test("a permanent permission names the rule that it adds, and once is the first choice", async () => {
  const all = untilPermission("permission_allow.jsonl", "Write");
  const at = all.findLastIndex((it) => it.change === "permission");
  const asked = all[at] as Extract<Change, { change: "permission" }>;
  const options = [
    { id: "no", name: "Deny", kind: "reject_once" },
    { id: "ever", name: "Allow always", kind: "allow_always" },
    { id: "once", name: "Allow once", kind: "allow_once" },
  ] as const;
  server.session("a", {}, [...all.slice(0, at), { ...asked, value: { ...asked.value, options, rule: "Write(/home/dev/**)" } }]);
  await open("a");
  await page.locator('.card[data-armed="true"]').waitFor();
  match(await text(".card .rule"), /“Allow always” adds the rule Write\(\/home\/dev\/\*\*\)/);
  deepStrictEqual(await page.locator(".card footer button").allInnerTexts(), ["Allow once", "Allow always", "Deny"]);
  await page.getByRole("button", { name: "Allow always" }).click();
  const { body } = await server.request("/api/sessions/a/permissions");
  strictEqual((body as { option: string }).option, "ever");
});

/** Lists past conversations of these titles, and opens the list of sessions. */
async function openPast(titles: readonly string[]): Promise<void> {
  const conversations = titles.map((title, at) => ({ id: `p${at}`, agent: "claude", title, cwd: "/home/dev", model: null, turns: 1, cost_usd: null, last_activity_ms: Date.now() - at * 60_000 }));
  server.read = (path, query) => (path === "/api/history" ? { conversations: conversations.slice(0, Number(query.get("limit"))) } : undefined);
  await page.goto(`${server.url}/#login=ticket-abc`);
  await page.waitForSelector(".sessions li");
}

test("a past conversation that is older than those of the list is shown at its address", async () => {
  server.session("a", {}, []);
  await openPast(["newest"]);
  const { read } = server;
  server.read = (path, query) => (path === "/api/history/old%2Fone" ? { id: "old/one", agent: "codex", title: "The oldest", cwd: "/home/dev", turns: 2, cost_usd: null, last_activity_ms: 0 } : read(path, query));
  await page.goto(`${server.url}/#/past/old%2Fone`);
  await page.reload();
  await page.locator(".past .chosen").getByText("The oldest").waitFor();
  deepStrictEqual(await page.locator(".past li .name").allInnerTexts(), ["The oldest", "newest"]);
});

test("an address of a past conversation that is gone says so", async () => {
  server.session("a", {}, []);
  await openPast(["newest"]);
  for (const address of ["gone", "%"]) {
    const json = { code: "CONVERSATION_NOT_FOUND", detail: `there is no conversation ${address}`, next: "list the conversations with GET /api/history" };
    await page.route("**/api/history/*", (route) => route.fulfill({ status: 404, json }));
    await page.goto(`${server.url}/#/past/${address}`);
    await page.locator(".past .bad").getByText("not kept any more").waitFor();
    deepStrictEqual(await page.locator(".past li .name").allInnerTexts(), ["newest"]);
  }
});

const pastNames = () => page.locator("section", { hasText: "Past conversations" }).locator(".name").allInnerTexts();

test("a past conversation that a session has is listed once", async () => {
  server.session("a", { conversation: "p0" }, []);
  server.session("b", { labels: { "bowline.resume": "p2" } }, []);
  server.session("c", { labels: { "bowline.resume": "p3", "bowline.fork": "true" } }, []);
  await openPast(["has a session", "one", "is resumed", "was copied", "two", "three", "four", "five"]);
  await page.getByText("All past conversations").waitFor();
  deepStrictEqual(await pastNames(), ["one", "was copied", "two", "three", "four"]);
});

for (const when of ["the page is looked at", "a session ends"] as const) {
  test(`past conversations are read again when ${when}`, async () => {
    server.session("a", {}, []);
    await openPast(["before"]);
    await page.getByText("All past conversations").waitFor();
    const before = server.read;
    server.read = (path, query) => {
      if (path === "/api/sessions" && when === "a session ends") return { sessions: [{ id: "a", name: null, phase: "ended" }] };
      const all = before(path, query) as { conversations: { title: string }[] } | undefined;
      return all && { conversations: all.conversations.map((it) => ({ ...it, title: "after" })) };
    };
    // After a cut, the list is read again.
    if (when === "a session ends") server.cut();
    else await page.evaluate(() => dispatchEvent(new Event("focus")));
    await page.getByText("after", { exact: true }).waitFor();
    deepStrictEqual(await pastNames(), ["after"]);
  });
}

for (const [what, answer] of [
  ["a token may not read them", { status: 403, json: { code: "SCOPE_REFUSED", detail: "the token has no such scope", next: "" } }],
  ["there are none", { status: 404, json: { code: "CONVERSATION_NOT_FOUND", detail: "no conversations", next: "" } }],
  ["they cannot be read", { status: 500, json: { code: "INTERNAL", detail: "the disk is broken", next: "" } }],
] as const) {
  test(`the list has no past conversations if ${what}`, async () => {
    server.session("a", { title: "the session" }, []);
    const asked = page.waitForResponse((it) => new URL(it.url()).pathname === "/api/history");
    await page.route("**/api/history?*", (route) => route.fulfill(answer));
    await openPast(["one"]);
    await asked;
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    deepStrictEqual(await page.locator(".sessions h2").allInnerTexts(), ["Working\n1"]);
    strictEqual(await page.getByText("Past conversations").count(), 0);
    strictEqual(await page.locator(".bad").count(), 0);
  });
}

test("the bars of the timeline are walked by keys in the order of time", async () => {
  server.session("a", {}, changesOf(`${fixtures}sub_nest_fg.jsonl`));
  const answers = await answersFor(`${fixtures}sub_nest_fg.jsonl`);
  server.answer("a", "timeline", () => answers.timeline);
  await open("a");
  const bars = page.locator(".lanes .bar");
  await bars.first().waitFor();
  strictEqual(await page.locator('.lanes .bar[tabindex="0"]').count(), 1);
  await bars.first().focus();
  const name = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  const all = await bars.evaluateAll((found) => found.map((bar) => bar.getAttribute("aria-label")));
  ok(all.length > 2 && all.every((it) => it !== null && it !== ""));
  strictEqual(await name(), all[0]);
  await page.keyboard.press("ArrowLeft");
  strictEqual(await name(), all[0], "there is none before the first one");
  for (const expected of all.slice(1)) {
    await page.keyboard.press("ArrowRight");
    strictEqual(await name(), expected);
  }
  await page.keyboard.press("Home");
  strictEqual(await name(), all[0]);
  await page.keyboard.press("End");
  strictEqual(await name(), all.at(-1));
  strictEqual(await page.locator('.lanes .bar[tabindex="0"]').getAttribute("aria-label"), all.at(-1));
  const call = page.locator(".lanes .bar.agent").first();
  await call.focus();
  await page.keyboard.press("Enter");
  await page.locator(".e.marked .call").first().waitFor();
});

test("a session that is gone is said", async () => {
  server.session("a", {}, []);
  await page.goto(`${server.url}/#login=ticket-abc`);
  await page.waitForSelector(".sessions li");
  await page.evaluate(() => (location.hash = "#/gone"));
  await page.getByText("The session is not there any more; choose another one").waitFor();
});

for (const colorScheme of ["light", "dark"] as const) {
  for (const viewport of SIZES) {
    test(`no accessibility rule is broken, ${colorScheme}, ${viewport.width} wide`, async () => {
      server.session("a", { title: "asks", phase: "awaiting_permission", reason: "Write waits" }, untilPermission("permission_allow.jsonl", "Write"));
      server.session("b", { title: "nested", phase: "running", cost_usd: 0.3 }, changesOf(`${fixtures}sub_nest_fg.jsonl`));
      server.session("c", { title: "shell", kind: "terminal", program: "/bin/bash" }, []);
      await page.context().close();
      page = await newPage(colorScheme, viewport);
      for (const session of ["", "a", "b"]) {
        await page.goto(`${server.url}/#login=ticket-abc`);
        await page.waitForSelector(".sessions li", { state: "attached" });
        if (session !== "") {
          await page.evaluate((id) => (location.hash = `#/${id}`), session);
          await page.locator(".thread .row").first().waitFor();
        }
        deepStrictEqual(await violations(page), [], `view ${session}`);
      }
    });
  }
}
