// What a recording of 100 MB costs, in Chromium with a real runner.
import { ok, strictEqual } from "node:assert";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch } from "./browser.js";
import { writeLarge } from "./large.js";
import { Recorded } from "./recorded.js";

const BYTES = 100e6;

/** Time between two turns of the recording. */
const EVERY_MS = 5_000;

/** Moments that are shown, all over the recording. */
const MOMENTS = 20;

/** Bounds of a release build, in milliseconds: `BOWLINE=target/release/bowline`. Times of a debug build, which is not optimized, are only printed. */
const PAINT_MS = 500;
const FIRST_MS = 1_000;
const SCRUB_MS = 200;
const isRelease = /release|dist/.test(process.env["BOWLINE"] ?? "");

let browser: Browser;
let page: Page;
let folder: string;
let recorded: Recorded;

before(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), "large-"));
  const path = join(folder, "large.jsonl");
  writeLarge(path, BYTES, EVERY_MS);
  recorded = await Recorded.serve(path);
  page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
});

after(async () => {
  await browser.close();
  await recorded.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Places from 0 to 1 in no order, the same each time. */
const PLACES = Array.from({ length: MOMENTS }, (_, at) => ((at * 7_919) % 1_000) / 1_000);

/** Returns the time until the page shows the moment at a place from 0 to 1, in milliseconds. */
function scrub(place: number): Promise<number> {
  return page.evaluate(
    (share) =>
      new Promise<number>((resolve, reject) => {
        const before = document.querySelector(".dock.past")?.textContent;
        const begun = performance.now();
        const field = document.querySelector<HTMLInputElement>(".scrub")!;
        const [min, max] = [Number(field.min), Number(field.max)];
        field.value = String(Math.round(min + share * (max - min)));
        field.dispatchEvent(new Event("input", { bubbles: true }));
        const look = () => {
          const shown = document.querySelector(".dock.past")?.textContent;
          const isShown = shown && shown !== before && document.querySelector(".thread .row .body");
          const error = document.querySelector(".replay [role=alert]")?.textContent;
          if (error) reject(new Error(error));
          else if (isShown) resolve(performance.now() - begun);
          else requestAnimationFrame(look);
        };
        look();
      }),
    place,
  );
}

test("entries of a large recording are shown soon, and any moment of it", { timeout: 180_000 }, async () => {
  const begun = performance.now();
  await page.goto(recorded.link);
  await page.locator(".thread .row .body").first().waitFor();
  const first = performance.now() - begun;
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]!.startTime);
  await page.locator(".scrub").waitFor();
  const timeline = performance.now() - begun;
  const times: number[] = [];
  for (const place of PLACES) times.push(await scrub(0.001 + 0.998 * place));
  strictEqual(times.length, MOMENTS, "each moment was shown");
  times.sort((a, b) => a - b);
  const [least, median, most] = [times[0]!, times[times.length >> 1]!, times.at(-1)!].map(Math.round);
  console.log(`first paint ${Math.round(paint)} ms`);
  console.log(`100 MB: first entries ${Math.round(first)} ms, timeline ${Math.round(timeline)} ms, a moment ${least}–${most} ms, median ${median} ms`);
  if (!isRelease) return;
  ok(paint <= PAINT_MS, `first paint after ${paint} ms`);
  ok(first <= FIRST_MS, `first entries after ${first} ms`);
  ok(most! <= SCRUB_MS, `a moment after ${most} ms`);
});
