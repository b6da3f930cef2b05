// The page in Chromium, with a real runner and the scripted agent.
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
