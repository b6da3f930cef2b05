// The web components in a page of their own, in Chromium with a real runner.
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch } from "./browser.js";
import { buildElements, openExample, WITH_EXAMPLES } from "./example.js";
import { Runner, watch } from "./runner.js";

let browser: Browser;
let page: Page;
let runner: Runner;
let problems: string[];

before(async () => {
  buildElements();
  browser = await launch(WITH_EXAMPLES);
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

test("a transcript is embedded, and answers a request", async () => {
  const id = await runner.dialogue("One of the tests fails. Find out why and fix it.");
  await openExample(page, runner, "transcript", id);
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
  await openExample(page, runner, "terminal", id);
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
