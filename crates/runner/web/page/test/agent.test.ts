// The real agent with a scripted API, in Chromium. `.ci/agents` runs this.
import { ok, deepStrictEqual, strictEqual } from "node:assert";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch } from "./browser.js";
import { Runner, watch } from "./runner.js";

const program = process.env["SCRIPTED_API"];
const skip = program === undefined && "left out: the real agent; run .ci/agents";

interface Setup {
  readonly agent: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

let browser: Browser;
let runner: Runner;
let api: ChildProcess;
let setup: Setup;

before(async () => {
  if (program === undefined) return;
  api = spawn(program, [], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = (await once(createInterface({ input: api.stdout! }), "line")) as [string];
  setup = JSON.parse(line) as Setup;
  runner = await Runner.start();
  const exports = Object.entries(setup.environment).map(([name, value]) => `export ${name}='${value}'\n`);
  writeFileSync(runner.agent, `#!/bin/sh\n${exports.join("")}exec '${setup.agent}' "$@"\n`);
  chmodSync(runner.agent, 0o700);
  browser = await launch();
});

after(async () => {
  if (program === undefined) return;
  await browser.close();
  await runner.stop();
  api.stdin!.end();
  await once(api, "exit");
});

/** Starts a session with the form, and returns its id. */
async function start(page: Page, prompt: string): Promise<string> {
  await runner.open(page, "new", 0);
  await page.getByRole("radio", { name: "claude" }).waitFor();
  await page.getByLabel("Prompt").fill(prompt);
  await page.getByLabel("Folder", { exact: true }).fill(setup.cwd);
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForFunction(() => /^#\/[\w-]{20,}/.test(location.hash));
  return /^#\/([\w-]+)/.exec(new URL(page.url()).hash)![1]!;
}

interface Transcript {
  readonly status: { readonly phase: string };
  readonly entries: readonly { readonly kind: string; readonly outcome?: string }[];
}

test("the real agent is started, permitted and interrupted", { skip, timeout: 180_000 }, async () => {
  const problems: string[] = [];
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  await watch(page, problems);
  const id = await start(page, "write a file");
  await page.locator('.card[data-armed="true"]').waitFor();
  await page.locator(".card").getByText("permitted.txt").first().waitFor();
  await page.screenshot({ path: "target/agent-permission.png" });
  await page.locator(".card .primary").click();
  await page.getByText("The file is written.").waitFor();
  strictEqual(readFileSync(join(setup.cwd, "permitted.txt"), "utf8"), "permitted\n");
  await page.getByLabel("Say something to the agent").fill("write without end");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("This text has no end.").first().waitFor();
  await page.getByRole("button", { name: "Interrupt" }).click();
  const read = () => runner.api<Transcript>("GET", `/api/sessions/${id}/transcript`);
  while ((await read()).status.phase !== "idle");
  ok((await read()).entries.some(({ outcome }) => outcome === "cancelled"));
  await page.locator(".thread .end").nth(1).waitFor();
  await page.screenshot({ path: "target/agent-interrupted.png" });
  deepStrictEqual(problems, []);
});
