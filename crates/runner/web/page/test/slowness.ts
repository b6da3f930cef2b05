// How fast the machine runs a browser: bounds of work are those of one machine, and tests run on many.
import type { Browser } from "playwright-core";

/** Duration of the task below on the machine for which the bounds are stated, in milliseconds. */
const REFERENCE_MS = 9;

/** The most that a bound is raised by: a page that is much too slow fails anywhere. */
const MOST = 2.5;

/** Returns how many times as long as on the reference machine a fixed task takes here and now, at least 1. */
export async function slowness(browser: Browser): Promise<number> {
  const page = await browser.newPage();
  const least = await page.evaluate(leastDuration);
  await page.close();
  return Math.min(MOST, Math.max(1, least / REFERENCE_MS));
}

/** Runs in the browser. Builds, lays out and serialises; the least of some runs is that of an undisturbed one. */
function leastDuration(): number {
  let least = Infinity;
  for (let run = 0; run < 30; run += 1) {
    const begin = performance.now();
    const box = document.body.appendChild(document.createElement("div"));
    for (let at = 0; at < 1_000; at += 1) box.appendChild(document.createElement("p")).textContent = `${at} of **many**`.replace(/\*\*(\w+)\*\*/, "$1");
    box.getBoundingClientRect();
    box.remove();
    JSON.parse(JSON.stringify(Array.from({ length: 2_000 }, (_, at) => ({ at, text: `word ${at}` }))));
    least = Math.min(least, performance.now() - begin);
  }
  return least;
}
