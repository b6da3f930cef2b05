// The list of sessions, its forms, and the keyboard, in Chromium with a real runner.
import { deepStrictEqual, match, ok, strictEqual } from "node:assert";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";
import { matching } from "../src/text/matching.js";
import { splitTools } from "../src/text/tools.js";
import { Runner, watch } from "./runner.js";

const chromiumPath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

let browser: Browser;
let page: Page;
let runner: Runner;
let problems: string[];

before(async () => {
  browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
});

after(() => browser.close());

beforeEach(async () => {
  runner = await Runner.start();
  problems = [];
  page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  await watch(page, problems);
});

afterEach(async () => {
  await page.close();
  await runner.stop();
  deepStrictEqual(problems, []);
});

interface Listed {
  readonly id: string;
  readonly name: string | null;
  readonly state: string;
}

async function sessions(): Promise<readonly Listed[]> {
  return (await runner.api<{ sessions: Listed[] }>("GET", "/api/sessions")).sessions;
}

/** Waits until the sessions of the runner are as they should be. */
async function until(is: (all: readonly Listed[]) => boolean): Promise<void> {
  while (!is(await sessions()));
}

const armed = () => page.locator('.card[data-armed="true"]');
const PROMPT = "One of the tests fails. Find out why and fix it.";

test("a form starts a session in a folder that it completes", async () => {
  mkdirSync(join(runner.folder, "work", "project"), { recursive: true });
  await runner.open(page, "new", 0);
  await page.getByRole("radio", { name: "claude" }).waitFor();
  await page.getByLabel("Prompt").fill(PROMPT);
  await page.getByLabel("Folder", { exact: true }).fill(join(runner.folder, "wo"));
  await page.getByRole("option", { name: join(runner.folder, "work") }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("option", { name: join(runner.folder, "work", "project") }).click();
  await page.getByRole("button", { name: "More options" }).click();
  await page.getByLabel("Name").fill("from the form");
  await page.getByLabel("Budget").fill("2.5");
  await page.getByLabel("Tools").fill("Read, Bash(git log, git diff)");
  await page.getByRole("button", { name: "Start" }).click();
  await armed().waitFor();
  strictEqual(await page.locator("h1").innerText(), "from the form");
  match(await page.locator(".top .about").innerText(), /work\/project/);
});

test("a folder that is written whole has no list over what is below", async () => {
  const project = join(runner.folder, "project");
  mkdirSync(project);
  await runner.open(page, "new", 0);
  const folder = page.getByLabel("Folder", { exact: true });
  await folder.fill(join(runner.folder, "pro"));
  await page.getByRole("option", { name: project }).waitFor();
  await folder.fill(project);
  await page.getByRole("option").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "More options" }).click();
  strictEqual(await folder.inputValue(), project);
});

test("what the runner refuses is said in the form", async () => {
  await runner.open(page, "new", 0);
  await page.getByRole("radio", { name: "claude" }).waitFor();
  await page.getByLabel("Folder", { exact: true }).fill("/nowhere");
  await page.getByRole("button", { name: "Start" }).click();
  await page.locator(".note.bad").waitFor();
  strictEqual(await page.getByLabel("Folder", { exact: true }).inputValue(), "/nowhere");
});

test("a session is renamed, ended, resumed and forked", async () => {
  const id = await runner.dialogue(PROMPT);
  await runner.open(page, id);
  await armed().waitFor();
  const menu = async (item: string) => {
    await page.getByRole("button", { name: "Session", exact: true }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  await menu("Rename…");
  await page.getByRole("textbox", { name: "Name" }).fill("a better name");
  await page.getByRole("button", { name: "Rename" }).click();
  await page.locator("h1").getByText("a better name").waitFor();
  await page.locator(".card .primary").click();
  await page.getByText("turn finished").waitFor();
  await menu("Fork");
  await until((all) => all.some(({ name }) => name === "a better name (copy)"));
  await page.locator("h1").getByText("a better name (copy)").waitFor();
  await page.evaluate((it) => (location.hash = `#/${it}`), id);
  await page.locator("h1").getByText("a better name", { exact: true }).waitFor();
  await menu("End");
  await until((all) => all.find((it) => it.id === id)?.state === "exited");
  await page.getByPlaceholder("The session has ended.").waitFor();
  await menu("Resume");
  await until((all) => all.filter(({ name, state }) => name === "a better name" && state === "running").length === 1);
});

test("a deletion can be undone, and takes place otherwise", async () => {
  const keep = await runner.terminal("/bin/true", [], "to keep");
  const drop = await runner.terminal("/bin/true", [], "to drop");
  await until((all) => all.every(({ state }) => state === "exited"));
  const remove = async (id: string) => {
    await page.evaluate((it) => (location.hash = `#/${it}`), id);
    await page.getByRole("button", { name: "Session", exact: true }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
  };
  await runner.open(page, keep);
  await remove(keep);
  await page.locator(".sessions li", { hasText: "to keep" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.locator(".sessions li", { hasText: "to keep" }).waitFor();
  await remove(drop);
  await until((all) => all.length === 1);
  strictEqual((await sessions())[0]!.id, keep);
});

test("the palette finds commands and sessions, and keys walk", async () => {
  const id = await runner.dialogue(PROMPT);
  await runner.terminal("/bin/cat", [], "the other one");
  await runner.open(page, id);
  await armed().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByLabel("Command or session").waitFor();
  await page.keyboard.type("other");
  await page.keyboard.press("Enter");
  await page.locator("h1").getByText("the other one").waitFor();
  await page.locator(".top .phase").getByText("attached", { exact: true }).waitFor();
  // The terminal has the keys, until it is left.
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.press("?");
  strictEqual(await page.locator("dialog").count(), 0);
  await page.keyboard.press("Shift+Escape");
  await page.keyboard.press("?");
  await page.getByText("Keyboard shortcuts").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("/");
  strictEqual(await page.evaluate(() => document.activeElement?.getAttribute("placeholder")), "Filter sessions");
  await page.keyboard.type("demo");
  await page.locator(".sessions li").nth(1).waitFor({ state: "detached" });
  strictEqual(await page.locator(".sessions li").count(), 1);
  await page.evaluate((it) => (location.hash = `#/${it}`), id);
  await page.locator(".thread").focus();
  const focused = () => page.evaluate(() => Number(document.activeElement?.getAttribute("data-row") ?? -1));
  await page.keyboard.press("k");
  await page.waitForFunction(() => document.activeElement?.hasAttribute("data-row"));
  const from = await focused();
  await page.keyboard.press("j");
  await page.waitForFunction((before) => Number(document.activeElement?.getAttribute("data-row")) === before + 1, from);
});

test("a key answers a request that has the focus, once it is confirmed", async () => {
  const id = await runner.dialogue(PROMPT);
  await runner.open(page, id);
  await armed().waitFor();
  await page.locator(".thread").focus();
  await page.keyboard.press("a");
  await page.keyboard.press("a");
  ok(await armed().isVisible(), "keys elsewhere answer nothing");
  await page.keyboard.press("r");
  await page.keyboard.press("d");
  await page.getByText(/Press d again/).waitFor();
  await page.keyboard.press("a");
  await page.getByText(/Press a again/).waitFor();
  ok(await armed().isVisible());
  await page.keyboard.press("a");
  await page.getByText("turn finished").waitFor();
});

/** Keeps a conversation as Claude Code does, and returns its id. */
function keepConversation(prompt: string, answer: string, day = 1): string {
  const id = crypto.randomUUID();
  const folder = join(runner.folder, ".claude", "projects", "-tmp-sheep");
  mkdirSync(folder, { recursive: true });
  const timestamp = `2026-01-0${day}T00:00:00Z`;
  const line = (type: string, content: unknown) =>
    JSON.stringify({ type, uuid: crypto.randomUUID(), sessionId: id, cwd: runner.folder, timestamp, message: { role: type, content } });
  const lines = [line("user", prompt), line("assistant", [{ type: "text", text: answer }])];
  writeFileSync(join(folder, `${id}.jsonl`), `${lines.join("\n")}\n`);
  return id;
}

test("past conversations are searched and resumed", async () => {
  keepConversation("Count the sheep", "There are nine.");
  await runner.open(page, "past", 0);
  const item = page.locator(".past li", { hasText: "Count the sheep" });
  await item.waitFor();
  await page.getByLabel("Search past conversations").fill("goats");
  await page.getByText("No conversation has these words.").waitFor();
  await page.getByLabel("Search past conversations").fill("sheep");
  await item.getByRole("button", { name: "Resume" }).click();
  await page.locator("h1").getByText("Count the sheep").waitFor();
  strictEqual((await sessions()).length, 1);
});

test("past conversations are the last group of the list, which the filter searches", async () => {
  const group = page.locator("section", { hasText: "Past conversations" });
  const named = (name: string) => group.getByRole("link", { name });
  for (let day = 1; day < 7; day += 1) keepConversation(`Count flock ${day}`, day === 1 ? "There are nine goats." : "There are none.", day);
  const sheep = keepConversation("Count the sheep", "There are eight.", 8);
  await runner.terminal("/bin/cat", [], "cat");
  await runner.open(page, "");
  await named("Count the sheep").waitFor();
  deepStrictEqual(await group.locator(".name").allInnerTexts(), ["Count the sheep", "Count flock 6", "Count flock 5", "Count flock 4", "Count flock 3"]);
  deepStrictEqual((await page.locator(".sessions h2").allInnerTexts()).at(-1), "Past conversations");
  // What was said is searched, also in conversations that were not listed.
  await page.getByLabel("Filter sessions").fill("nine goats");
  await named("Count flock 1").waitFor();
  strictEqual(await group.locator(".name").count(), 1);
  await named("Count flock 1").click();
  await page.locator(".past .chosen").getByText("Count flock 1").waitFor();
  await page.getByLabel("Filter sessions").fill("no such words");
  await group.waitFor({ state: "detached" });
  await page.getByLabel("Filter sessions").fill("");
  await named("Count the sheep").click();
  const chosen = page.locator(".past .chosen li");
  await chosen.getByText("Count the sheep").waitFor();
  strictEqual(await page.locator(".past li", { hasText: "Count the sheep" }).count(), 1);
  strictEqual(await group.locator("[aria-current]").innerText().then((text) => text.includes("Count the sheep")), true);
  await page.reload();
  await chosen.getByRole("button", { name: "Resume" }).click();
  await page.locator("h1").getByText("Count the sheep").waitFor();
  // It is a session now, and listed once.
  await named("Count flock 2").waitFor();
  strictEqual(await named("Count the sheep").count(), 0);
  const { sessions: all } = await runner.api<{ sessions: { conversation?: string; labels?: Record<string, string> }[] }>("GET", "/api/sessions");
  ok(all.some(({ conversation, labels }) => (conversation ?? labels?.["bowline.resume"]) === sheep));
  await named("All past conversations").click();
  await page.locator(".past li", { hasText: "Count the sheep" }).waitFor();
});

test("a request is answered from the list, with its whole input", async () => {
  const id = await runner.dialogue(PROMPT, { name: "asks in the list" });
  await runner.open(page, "");
  const quick = page.locator(".quick");
  await quick.waitFor();
  const { permissions } = await runner.api<{ permissions: { input: { new_string: string } }[] }>("GET", `/api/sessions/${id}/permissions`);
  const shown = await quick.locator(".input").innerText();
  for (const line of permissions[0]!.input.new_string.split("\n")) ok(shown.includes(JSON.stringify(line).slice(1, -1)), line);
  const allow = quick.getByRole("button", { name: "Allow" });
  await quick.locator('button[aria-disabled="false"]').first().waitFor();
  await allow.click();
  await quick.waitFor({ state: "detached" });
});

test("a session that begins to ask is notified of, once that is chosen", async () => {
  await page.addInitScript(() => {
    const made: string[] = [];
    class Notification {
      static permission = "default";
      static async requestPermission() {
        return (Notification.permission = "granted");
      }
      constructor(title: string, { body }: { body: string }) {
        made.push(`${title}: ${body}`);
      }
    }
    Object.assign(globalThis, { Notification, made });
  });
  const made = () => page.evaluate(() => (globalThis as unknown as { made: string[] }).made);
  await runner.open(page, "", 0);
  await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true }));
  await runner.dialogue(PROMPT, { name: "unasked" });
  await page.locator("section", { hasText: "Needs you" }).getByText("unasked").waitFor();
  deepStrictEqual(await made(), []);
  await page.keyboard.press("Control+k");
  await page.getByLabel("Command or session").waitFor();
  await page.keyboard.type("notifications");
  await page.keyboard.press("Enter");
  await page.getByText("notifications are on").waitFor();
  await runner.dialogue(PROMPT, { name: "asked" });
  await page.waitForFunction(() => (globalThis as unknown as { made: string[] }).made.length > 0);
  deepStrictEqual(await made(), ["asked: Edit waits for permission"]);
});

test("letters find commands in order, those that begin with them first", () => {
  const entries = ["Past conversations", "New session", "Fork the session", "Session: new one"].map((title) => ({ title, about: "" }));
  deepStrictEqual(matching(entries, "session").map(({ title }) => title), ["Session: new one", "New session", "Fork the session"]);
  deepStrictEqual(matching(entries, "nses").map(({ title }) => title)[0], "New session");
  deepStrictEqual(matching(entries, "zz"), []);
});

test("rules of tools are split at their commas", () => {
  deepStrictEqual(splitTools("Read, Bash(git log, git diff) ,, Edit"), ["Read", "Bash(git log, git diff)", "Edit"]);
});
