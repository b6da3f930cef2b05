// The page in Chromium, with a real runner and the scripted agent.
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";

const bowline = resolve(process.env["BOWLINE"] ?? "../../../target/debug/bowline");
const chromiumPath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

let browser: Browser;
let page: Page;
let folder: string;
let daemon: ChildProcess;
let problems: string[];

before(async () => {
  ok(existsSync(chromiumPath), `${chromiumPath} is missing; install the package chromium, or set CHROMIUM`);
  browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
});

after(() => browser.close());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "page-"));
  writeFileSync(join(folder, "agent"), `#!/bin/sh\nexec '${bowline}' understudy --scenario demo --pace 0 "$@"\n`);
  chmodSync(join(folder, "agent"), 0o700);
  await serve();
  page = await browser.newPage({ reducedMotion: "reduce" });
  problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective}`));
  });
  page.on("console", (message) => {
    if (message.type() === "error" && message.text().startsWith("policy")) problems.push(message.text());
  });
});

afterEach(async () => {
  await page.close();
  for (const { id } of (await api<{ sessions: { id: string }[] }>("GET", "/api/sessions")).sessions) {
    await api("DELETE", `/api/sessions/${id}?force=true`);
  }
  daemon.kill();
  await once(daemon, "exit");
  rmSync(folder, { recursive: true, force: true });
  deepStrictEqual(problems, []);
});

/** Starts the runner, and returns once it listens. */
async function serve(): Promise<void> {
  daemon = spawn(bowline, ["serve"], { env: { ...process.env, BOWLINE_STATE_DIR: join(folder, "state") }, stdio: ["ignore", "pipe", "inherit"] });
  await once(createInterface({ input: daemon.stdout! }), "line");
}

function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  return new Promise((resolved, reject) => {
    const headers = { host: "localhost", "content-type": "application/json" };
    const sent = request({ socketPath: join(folder, "state", "runner.sock"), method, path, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      response.on("end", () => {
        if ((response.statusCode ?? 500) < 300) resolved(JSON.parse(text) as T);
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
      });
    });
    sent.on("error", reject).end(body === undefined ? "" : JSON.stringify(body));
  });
}

async function start(prompt: string): Promise<string> {
  const agent = { agent: join(folder, "agent"), dialect: "claude", cwd: folder, name: "the demo", prompt };
  return (await api<{ id: string }>("POST", "/api/sessions", agent)).id;
}

async function open(id: string): Promise<void> {
  const { url } = await api<{ url: string }>("POST", "/api/login-links");
  await page.goto(url);
  await page.locator(".sessions li").getByText("the demo").waitFor();
  await page.evaluate((session) => (location.hash = `#/${session}`), id);
}

test("a session is followed, asked and prompted, over a killed runner", async () => {
  const id = await start("One of the tests fails. Find out why and fix it.");
  await open(id);
  await page.locator('.card[data-armed="true"]').waitFor();
  ok((await page.locator(".card .diff").innerText()).includes("+"), "the card shows what would change");
  await page.locator(".card .primary").click();
  await page.getByText("turn finished").waitFor();

  // The page keeps its token, its place and its text over a runner that is killed.
  const before = await page.locator(".thread").innerText();
  daemon.kill("SIGKILL");
  await page.locator(".banner").waitFor();
  await serve();
  await page.locator(".banner").waitFor({ state: "detached", timeout: 60_000 });
  strictEqual(await page.locator(".thread").innerText(), before);

  await page.getByLabel("Say something to the agent").fill("And what about an empty list?");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("turn finished").nth(1).waitFor();
  strictEqual(await page.locator(".you").filter({ hasText: "And what about an empty list?" }).count(), 1);
});

test("a running session is shown as it was, and goes on", async () => {
  const id = await start("One of the tests fails. Find out why and fix it.");
  await open(id);
  await page.locator('.card[data-armed="true"]').waitFor();
  await page.locator(".lanes").waitFor();
  const field = page.getByLabel("Moment, as a line");
  for (const line of [60, 30, 90]) {
    await field.fill(String(line));
    await field.press("Enter");
    await page.getByText(`As it was at line ${line}`).waitFor();
    const { entries } = await api<{ entries: { kind: string; text?: string; blocks?: { type: string; text?: string }[] }[] }>("GET", `/api/sessions/${id}/transcript?line=${line}`);
    strictEqual(await page.locator(".thread").getAttribute("data-count"), String(entries.length));
    const shown = await page.locator(".thread").innerText();
    const texts = entries.flatMap(({ blocks }) => blocks ?? []).flatMap(({ type, text }) => (type === "text" && text ? [text.replaceAll("`", "").trim()] : []));
    ok(texts.length > 0 || line < 60, `line ${line} has a text`);
    for (const text of texts) ok(shown.includes(text), `${text} at line ${line}`);
    strictEqual(await page.locator(".card").count(), 0, "nothing of the past is answered");
  }
  // What happens meanwhile is not shown, until the reader comes back.
  const { permissions } = await api<{ permissions: { request_id: string; state: unknown }[] }>("GET", `/api/sessions/${id}/permissions`);
  const { request_id } = permissions.find(({ state }) => state === "open")!;
  await api("POST", `/api/sessions/${id}/permissions`, { request_id, decision: "allow", by: "laptop" });
  await page.locator(".note").getByText("Edit: allowed by laptop").waitFor();
  strictEqual(await page.getByText("turn finished").count(), 0);
  await page.getByRole("button", { name: "Back to the end" }).click();
  await page.getByText("turn finished").waitFor();
});

/** The processes of daemons whose state is in a folder. */
function daemonsOf(state: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
  return pids.filter((pid) => {
    try {
      const isDaemon = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[1] === "serve";
      return isDaemon && readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`BOWLINE_STATE_DIR=${state}`);
    } catch {
      return false;
    }
  });
}

test("the command opens the page, and starts a runner where there is none", async () => {
  const state = join(folder, "other");
  const env = { ...process.env, BOWLINE_STATE_DIR: state };
  const command = () => execFileSync(bowline, ["ui", "--no-open"], { env, encoding: "utf8" }).trim();
  try {
    await page.goto(command());
    await page.locator(".dot.connected").waitFor();
    strictEqual(daemonsOf(state).length, 1);
    // A second link is one of the same runner.
    const other = await browser.newPage();
    await other.goto(command());
    await other.locator(".dot.connected").waitFor();
    await other.close();
    strictEqual(daemonsOf(state).length, 1);
  } finally {
    for (const pid of daemonsOf(state)) process.kill(pid);
    while (daemonsOf(state).length > 0);
  }
});

test("a login link that was used says where to get another", async () => {
  const { url } = await api<{ url: string }>("POST", "/api/login-links");
  await page.goto(url);
  await page.locator(".dot.connected").waitFor();
  const other = await browser.newPage();
  await other.goto(url);
  await other.getByText("The login link was used or has expired; run `bowline ui` for a new login link.").waitFor();
  await other.close();
});

test("a token that is revoked while the page is open ends the page", async () => {
  const id = await start("One of the tests fails. Find out why and fix it.");
  await open(id);
  await page.locator('.card[data-armed="true"]').waitFor();
  const env = { ...process.env, BOWLINE_STATE_DIR: join(folder, "state") };
  const token = (...args: string[]) => execFileSync(bowline, ["token", ...args], { env, encoding: "utf8" });
  const names = token("ls").match(/^page\S*/gm)!;
  strictEqual(names.length, 1);
  token("rm", names[0]!);
  await page.locator(".card .primary").click();
  await page.getByText("This page's token is no longer valid; run `bowline ui` for a new login link.").waitFor();
  strictEqual(await page.locator(".thread, .card, .sessions").count(), 0);
  await page.reload();
  await page.getByText("This page needs a login link").waitFor();
});

test("answer of another client closes the card", async () => {
  const id = await start("One of the tests fails. Find out why and fix it.");
  await open(id);
  await page.locator('.card[data-armed="true"]').waitFor();
  const { permissions } = await api<{ permissions: { request_id: string; state: unknown }[] }>("GET", `/api/sessions/${id}/permissions`);
  const { request_id } = permissions.find(({ state }) => state === "open")!;
  await api("POST", `/api/sessions/${id}/permissions`, { request_id, decision: "deny", message: "not today", by: "laptop" });
  await page.locator(".card").waitFor({ state: "detached" });
});

test("an entry leads to its bytes, and the session is ended from the page", async () => {
  const id = await start("One of the tests fails. Find out why and fix it.");
  await open(id);
  await page.locator('.card[data-armed="true"]').waitFor();
  await page.locator("button.offset").first().click();
  await page.locator("aside .line.selected").first().waitFor();
  ok((await page.locator("aside .detail pre").innerText()).startsWith("{"));
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "End", exact: true }).click();
  await page.getByPlaceholder("The session has ended.").waitFor();
});

test("bytes view of a running session grows", async () => {
  const id = await start("One of the tests fails. Find out why and fix it.");
  await open(id);
  await page.locator('.card[data-armed="true"]').waitFor();
  await page.getByRole("button", { name: "Inspect" }).click();
  await page.locator(".lines .line .kind").first().waitFor();
  const lines = async () => Number((await page.locator(".byte-tools .why").innerText()).replace(/\D/g, ""));
  const before = await lines();
  ok(before > 0);
  await page.locator(".card .primary").click();
  await page.getByText("turn finished").waitFor();
  const isMore = (least: number) => Number(document.querySelector(".byte-tools .why")!.textContent!.replace(/\D/g, "")) > least;
  await page.waitForFunction(isMore, before);
});
