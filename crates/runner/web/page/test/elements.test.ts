// The web components in a page of their own, in Chromium with a real runner.
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";
import { Runner, watch } from "./runner.js";
import { POLICY } from "./stand_in.js";

const chromiumPath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const TYPES: Record<string, string> = { html: "text/html", js: "text/javascript", css: "text/css" };

let browser: Browser;
let page: Page;
let runner: Runner;
let problems: string[];

before(async () => {
  execFileSync(process.execPath, ["build.js", "--elements"]);
  // A page that the test serves has no address, which is not taken for a local one.
  const args = ["--no-sandbox", "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets"];
  browser = await chromium.launch({ executablePath: chromiumPath, args });
});

after(() => browser.close());

beforeEach(async () => {
  runner = await Runner.start();
  problems = [];
  page = await browser.newPage({ viewport: { width: 900, height: 700 }, reducedMotion: "reduce" });
  await watch(page, problems);
});

afterEach(async () => {
  await page.close();
  await runner.stop();
  deepStrictEqual(problems, []);
});

/** Opens an example at the origin of the runner, under the policy of its page. */
async function example(name: string, session: string): Promise<void> {
  const { url } = await runner.api<{ url: string }>("POST", "/api/login-links");
  const { origin, hash } = new URL(url);
  const headers = { "content-type": "application/json", origin };
  const login = await fetch(`${origin}/api/login`, { method: "POST", headers, body: JSON.stringify({ ticket: hash.replace("#login=", "") }) });
  const { token } = (await login.json()) as { token: string };
  const files = new Map([
    ["/transcript.js", "elements/dist/transcript.js"],
    ["/terminal.js", "elements/dist/terminal.js"],
    ...["transcript.html", "transcript.js", "terminal.html", "terminal.js", "example.css"].map((it) => [`/examples/${it}`, `elements/examples/${it}`] as const),
  ]);
  await page.route("**/*", async (route) => {
    const path = files.get(new URL(route.request().url()).pathname);
    if (path === undefined) return route.continue();
    const contentType = TYPES[path.split(".").at(-1)!]!;
    await route.fulfill({ body: readFileSync(path, "utf8"), contentType, headers: { "content-security-policy": POLICY } });
  });
  await page.goto(`${origin}/examples/${name}.html#${new URLSearchParams({ src: origin, session, token })}`);
}

test("a transcript is embedded, and answers a request", async () => {
  const id = await runner.dialogue("One of the tests fails. Find out why and fix it.");
  await example("transcript", id);
  const element = page.locator("bowline-transcript");
  await element.locator('.card[data-armed="true"]').waitFor();
  await element.locator(".card .primary").click();
  await element.getByText("turn finished").waitFor();
  // The style of the component is its own.
  const color = await element.locator(".end").last().evaluate((it) => getComputedStyle(it).color);
  ok(color !== "rgb(0, 0, 0)", color);
  strictEqual(await page.locator("style").count(), 0);
});

test("a terminal is embedded, typed into and left", async () => {
  const id = await runner.terminal("/bin/sh", [], "a shell");
  await example("terminal", id);
  const element = page.locator("bowline-terminal");
  await element.locator(".xterm-rows").waitFor();
  await page.waitForFunction(() => document.querySelector("bowline-terminal")!.shadowRoot!.querySelector(".xterm-rows")!.textContent!.trim() !== "");
  await element.locator(".xterm-helper-textarea").focus();
  await page.keyboard.type("echo em''bedded\n");
  await page.waitForFunction(() => document.querySelector("bowline-terminal")!.shadowRoot!.querySelector(".xterm-rows")!.textContent!.includes("embedded"));
  await page.evaluate(() => document.querySelector("bowline-terminal")!.remove());
  const { state } = await runner.api<{ state: string }>("GET", `/api/sessions/${id}`);
  strictEqual(state, "running");
});

test("packages have what they need, and the examples have ten lines", () => {
  for (const [folder, wanted] of [
    ["client", ["dist/index.js", "dist/index.d.ts"]],
    ["elements", ["dist/transcript.js", "dist/terminal.js", "examples/transcript.html", "types/transcript.d.ts", "types/terminal.d.ts", "README.md"]],
  ] as const) {
    const json = execFileSync("npm", ["pack", "--dry-run", "--json", "--silent"], { cwd: folder, encoding: "utf8" });
    const [{ files }] = JSON.parse(json.slice(json.indexOf("["))) as [{ files: { path: string }[] }];
    const paths = files.map(({ path }) => path);
    for (const path of wanted) ok(paths.includes(path), `${folder} has ${path}`);
  }
  for (const name of ["transcript", "terminal"]) {
    const lines = ["html", "js"].map((end) => readFileSync(`elements/examples/${name}.${end}`, "utf8").trim().split("\n").length);
    ok(lines.every((count) => count <= 10), `${name}: ${lines.join(", ")}`);
  }
});
