// Pictures of the page that are kept, and compared with what it looks like. `UPDATE_PICTURES=1` makes them anew.
import { deepStrictEqual } from "node:assert";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch } from "./browser.js";
import { kept, looksLike } from "./picture.js";
import { answersFor } from "./recorded.js";
import { watch } from "./runner.js";
import { StandIn, changesOf } from "./stand_in.js";

const fixtures = "../../../tests/fixtures/";

const NOW = Date.UTC(2026, 0, 1, 12);

let browser: Browser;
let server: StandIn;
let page: Page;
let problems: string[];

before(async () => {
  browser = await launch();
});

after(() => browser.close());

/** A runner with sessions of all kinds. */
async function listed(now: number): Promise<StandIn> {
  const runner = await StandIn.start();
  const used = { context_used: 24, context_size: 200 };
  runner.session("d", { title: "Find the slowest test", phase: "ended", cost_usd: 0.35, ...used, started_ms: now - 9_000_000, ended_ms: now - 8_000_000 }, []);
  runner.session("c", { title: "bash", kind: "terminal", program: "/bin/bash", started_ms: now - 3_600_000 }, []);
  runner.session("b", { title: "Who calls median?", phase: "running", reason: "Explore runs", cost_usd: 0.28, ...used, started_ms: now - 60_000 }, changesOf(`${fixtures}sub_nest_fg.jsonl`));
  runner.session("a", { title: "Tidy up the README", phase: "awaiting_permission", reason: "Write waits", started_ms: now - 1_140_000 }, untilPermission());
  return runner;
}

beforeEach(async () => {
  server = await listed(NOW);
  problems = [];
  server.read = (path) =>
    path === "/api/agents"
      ? { agents: ["claude", "codex", "gemini"].map((name) => ({ name, path: name === "gemini" ? null : `/usr/bin/${name}`, dialect: name, install: `npm install -g ${name}` })) }
      : undefined;
});

afterEach(async () => {
  await page.context().close();
  await server.stop();
  deepStrictEqual(problems, []);
});

/** The changes of a recording until its permission request. */
function untilPermission() {
  const all = changesOf(`${fixtures}permission_allow.jsonl`);
  const at = all.findIndex((it) => it.change === "permission" && it.value.tool_name === "Write" && it.value.state === "open");
  return all.slice(0, at + 3);
}

async function open(colorScheme: "light" | "dark", viewport: { width: number; height: number }, address: string, now = NOW): Promise<void> {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
  page = await context.newPage();
  await watch(page, problems);
  await page.clock.setFixedTime(now);
  await page.goto(`${server.url}/#login=ticket-abc`);
  await page.locator(".sessions li").first().waitFor({ state: "attached" });
  await page.evaluate((it) => (location.hash = `#/${it}`), address);
}

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };

for (const [name, colorScheme, viewport] of [
  ["desktop-light", "light", DESKTOP],
  ["phone-dark", "dark", PHONE],
] as const) {
  test(`the form looks as it did, ${name}`, async () => {
    await open(colorScheme, viewport, "new");
    await page.getByRole("radio", { name: "claude" }).waitFor();
    await looksLike(page, kept(`start-${name}`));
  });

  test(`a request looks as it did, ${name}`, async () => {
    await open(colorScheme, viewport, "a");
    await page.locator('.card[data-armed="true"] .diff').waitFor();
    await looksLike(page, kept(`request-${name}`));
  });
}

test("the palette looks as it did", async () => {
  await open("dark", DESKTOP, "");
  await page.keyboard.press("Control+k");
  await page.getByLabel("Command or session").waitFor();
  await looksLike(page, kept("palette-desktop-dark"));
});

/** The session of `bowline demo` up to its permission request, as a runner has recorded it at the pace of an agent. */
const DEMO = "page/test/demo.bjl.gz";

test("the picture of the README is what the page looks like", async () => {
  const { timeline, lines, log } = await answersFor(DEMO);
  const all = changesOf(DEMO);
  const asked = all.findIndex((it) => it.change === "permission" && it.value.state === "open");
  const now = timeline.to_ms! + 14_000;
  const summary = { phase: "awaiting_permission", reason: "Edit waits for permission", cwd: "/home/dev/stats" };
  await server.stop();
  server = await listed(now);
  server.session("demo", { title: "median_of_even_lengths is red", ...summary, started_ms: timeline.from_ms!, context_used: 12, context_size: 200 }, all.slice(0, asked + 3));
  server.answer("demo", "timeline", () => timeline);
  server.answer("demo", "lines", lines);
  server.answer("demo", "unknown-members", () => ({ is_checked: true, kept_whole: 0, lines: [] }));
  server.log("demo", log);
  await open("light", { width: 1440, height: 900 }, "demo", now);
  await page.locator('.card[data-armed="true"]').waitFor();
  await page.locator(".lanes .bar").first().waitFor();
  await page.locator(".thread button.offset").last().click();
  await page.locator(".line.selected").first().waitFor();
  await page.locator(".inspector .detail pre").waitFor();
  // What can be done with the entry that has the focus is not shown.
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await looksLike(page, "../../../.github/page.png");
});
