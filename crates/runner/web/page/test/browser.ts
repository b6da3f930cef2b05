// Chromium, and what is asked of every page.
import { ok } from "node:assert";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium, type Browser, type Page } from "playwright-core";

const chromiumPath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const axe = readFileSync(createRequire(`${process.cwd()}/`).resolve("axe-core/axe.min.js"), "utf8");

export const SIZES = [
  { width: 1440, height: 900 },
  { width: 360, height: 740 },
];

export function launch(...more: string[]): Promise<Browser> {
  ok(existsSync(chromiumPath), `${chromiumPath} is missing; install the package chromium, or set CHROMIUM`);
  return chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--font-render-hinting=none", ...more] });
}

/** Returns the rules of WCAG 2.2 AA that the page breaks. */
export async function violations(page: Page): Promise<unknown> {
  // The page's own policy permits no script of a test; a context without it would be another page.
  const client = await page.context().newCDPSession(page);
  const { result } = await client.send("Runtime.evaluate", {
    expression: `${axe}; axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html.slice(0, 120) + " " + n.failureSummary).join("; ")))`,
    awaitPromise: true,
    returnByValue: true,
  });
  return result.value;
}

/** Smallest side of a target, in pixels. */
const TARGET = 24;

/** Returns the controls that are smaller than a target may be. Links of a sentence are as high as its lines. */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate((least) => {
    const controls = "button, select, textarea, a[href], input:not([type=checkbox], [type=radio], [type=file]), label:has(input), [role=option], [role=menuitem]";
    const isExempt = (it: Element) => it.closest(".screen, .vh, .skip, p, .md") !== null;
    const small = [...document.querySelectorAll(`#root :is(${controls})`)].filter((it) => {
      const { width, height } = it.getBoundingClientRect();
      return width > 0 && !isExempt(it) && Math.min(width, height) < least - 0.1;
    });
    return small.map((it) => `${it.outerHTML.slice(0, 120)} is ${it.getBoundingClientRect().width} x ${it.getBoundingClientRect().height}`);
  }, TARGET);
}

/** Returns the animations that run, which a reader with reduced motion is not shown. */
export function animations(page: Page): Promise<string[]> {
  return page.evaluate(() => document.getAnimations().map((it) => String((it as CSSAnimation).animationName)));
}
