// Pictures of the page that are kept, and compared with what it looks like. `UPDATE_PICTURES=1` makes them anew.
import { deepStrictEqual, ok } from "node:assert";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";
import { watch } from "./runner.js";
import { StandIn, changesOf } from "./stand_in.js";

const chromiumPath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const fixtures = "../../../tests/fixtures/";

/** Pictures that differ are written here. */
const NEW = "target/pictures";

/** Share of pixels that may differ: other versions of Chromium draw the edges of letters otherwise. */
const TOLERANCE = 0.003;

/** Difference of a color from which a pixel counts, of 255. */
const DIFFERENCE = 48;

const NOW = Date.UTC(2026, 0, 1, 12);

let browser: Browser;
let server: StandIn;
let page: Page;
let problems: string[];

before(async () => {
  mkdirSync(NEW, { recursive: true });
  browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--font-render-hinting=none"] });
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

/** Returns the share of pixels in which two pictures differ; 1 if their sizes do. */
async function differing(old: Buffer, now: Buffer): Promise<number> {
  const blank = await browser.newPage();
  const compare = async ([first, second, least]: readonly [string, string, number]) => {
    const pixels = async (data: string) => {
      const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d")!;
      context.drawImage(bitmap, 0, 0);
      return context.getImageData(0, 0, bitmap.width, bitmap.height);
    };
    const [a, b] = [await pixels(first), await pixels(second)];
    if (a.width !== b.width || a.height !== b.height) return 1;
    let count = 0;
    for (let at = 0; at < a.data.length; at += 4) {
      const isOther = [0, 1, 2].some((channel) => Math.abs(a.data[at + channel]! - b.data[at + channel]!) > least);
      if (isOther) count += 1;
    }
    return count / (a.width * a.height);
  };
  const share = await blank.evaluate(compare, [old.toString("base64"), now.toString("base64"), DIFFERENCE] as const);
  await blank.close();
  return share;
}

/** Compares the page with a picture that is kept. */
async function looksLike(path: string): Promise<void> {
  await page.evaluate(() => {
    // The port is another one each time.
    document.querySelector(".sessions footer p")!.textContent = "127.0.0.1:7420";
    return document.fonts.ready;
  });
  const now = await page.screenshot({ caret: "hide" });
  if (process.env["UPDATE_PICTURES"] !== undefined) return writeFileSync(path, new Uint8Array(now));
  ok(existsSync(path), `${path} is missing; make it with UPDATE_PICTURES=1`);
  const share = await differing(readFileSync(path), now);
  if (share <= TOLERANCE) return;
  const made = `${NEW}/${path.split("/").at(-1)}`;
  writeFileSync(made, new Uint8Array(now));
  ok(false, `${(share * 100).toFixed(1)} % of ${path} differ from ${made}; look at both, and keep the new one with UPDATE_PICTURES=1`);
}

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };
const kept = (name: string) => `page/test/pictures/${name}.png`;

for (const [name, colorScheme, viewport] of [
  ["desktop-light", "light", DESKTOP],
  ["phone-dark", "dark", PHONE],
] as const) {
  test(`the form looks as it did, ${name}`, async () => {
    await open(colorScheme, viewport, "new");
    await page.getByRole("radio", { name: "claude" }).waitFor();
    await looksLike(kept(`start-${name}`));
  });

  test(`a request looks as it did, ${name}`, async () => {
    await open(colorScheme, viewport, "a");
    await page.locator(".card").waitFor();
    await page.locator(".card .diff").waitFor();
    await looksLike(kept(`request-${name}`));
  });
}

test("the palette looks as it did", async () => {
  await open("dark", DESKTOP, "");
  await page.keyboard.press("Control+k");
  await page.getByLabel("Command or session").waitFor();
  await looksLike(kept("palette-desktop-dark"));
});

test("the picture of the README is what the page looks like", async () => {
  await open("light", { width: 1440, height: 900 }, "b");
  await page.getByText("turn finished").waitFor();
  await looksLike("../../../.github/page.png");
});
