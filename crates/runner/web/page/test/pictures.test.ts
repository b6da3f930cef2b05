// Pictures of the page that are kept, and compared with what it looks like. `UPDATE_PICTURES=1` makes them anew.
import { deepStrictEqual } from "node:assert";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch } from "./browser.js";
import { kept, looksLike } from "./picture.js";
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

beforeEach(async () => {
  server = await StandIn.start();
  problems = [];
  server.session("a", { title: "Tidy up the README", phase: "awaiting_permission", reason: "Write waits", started_ms: NOW - 60_000 }, untilPermission());
  server.session("b", { title: "Who calls median?", phase: "running", reason: "Explore runs", cost_usd: 0.28, started_ms: NOW - 60_000 }, changesOf(`${fixtures}sub_nest_fg.jsonl`));
  server.session("c", { title: "bash", kind: "terminal", program: "/bin/bash", started_ms: NOW - 3_600_000 }, []);
  server.session("d", { title: "Find the slowest test", phase: "ended", cost_usd: 0.35, started_ms: NOW - 9_000_000 }, []);
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

async function open(colorScheme: "light" | "dark", viewport: { width: number; height: number }, address: string): Promise<void> {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
  page = await context.newPage();
  await watch(page, problems);
  await page.clock.setFixedTime(NOW);
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
    await page.locator(".card").waitFor();
    await page.locator(".card .diff").waitFor();
    await looksLike(page, kept(`request-${name}`));
  });
}

test("the palette looks as it did", async () => {
  await open("dark", DESKTOP, "");
  await page.keyboard.press("Control+k");
  await page.getByLabel("Command or session").waitFor();
  await looksLike(page, kept("palette-desktop-dark"));
});

test("the picture of the README is what the page looks like", async () => {
  await open("light", { width: 1440, height: 900 }, "b");
  await page.getByText("turn finished").waitFor();
  await looksLike(page, "../../../.github/page.png");
});
