// Pictures that are kept, and compared with what a page looks like. `UPDATE_PICTURES=1` makes them anew.
import { ok } from "node:assert";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";

/** Pictures that differ are written here. */
const NEW = "target/pictures";

/** Share of pixels that may differ: other versions of Chromium draw the edges of letters otherwise. */
const TOLERANCE = 0.003;

/** Difference of a color from which a pixel counts, of 255. */
const DIFFERENCE = 48;

/** Returns the path of a picture that is kept. */
export const kept = (name: string): string => `page/test/pictures/${name}.png`;

/** Returns the share of pixels in which two pictures differ; 1 if their sizes do. */
async function differing(page: Page, old: Buffer, now: Buffer): Promise<number> {
  const blank = await page.context().browser()!.newPage();
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

/** Parts of a real session that are another each time. */
const VARYING = ".timeline";
const UNSEEN = ".offset";

/** Compares the page with a picture that is kept. Of a real session, durations and the test's folder are replaced, and what varies is hidden. */
export async function looksLike(page: Page, path: string, folder: string | null = null): Promise<void> {
  // What the pointer is at is shown otherwise.
  await page.mouse.move(0, 0);
  await page.evaluate(
    async ([real, varying, unseen]) => {
      // The port is another one each time. A component in a page of its own has no list of sessions.
      const port = document.querySelector(".sessions footer p");
      if (port) port.textContent = "127.0.0.1:7420";
      const roots = [document, ...[...document.querySelectorAll("*")].flatMap((it) => it.shadowRoot ?? [])];
      for (const root of real === null ? [] : roots) {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(`${varying} { display: none !important; } ${unseen} { visibility: hidden !important; }`);
        root.adoptedStyleSheets.push(sheet);
        const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
          const text = texts.currentNode as Text;
          const fixed = text.data.replaceAll(real!, "~/project").replace(/\b\d+(?:\.\d+)? (?:ms|s|min)\b/g, "1.0 s");
          if (fixed !== text.data) text.data = fixed;
        }
      }
      await document.fonts.ready;
      // The list is at its end again.
      for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
    },
    [folder, VARYING, UNSEEN] as const,
  );
  const now = await page.screenshot({ caret: "hide" });
  if (process.env["UPDATE_PICTURES"] !== undefined) return writeFileSync(path, new Uint8Array(now));
  ok(existsSync(path), `${path} is missing; make it with UPDATE_PICTURES=1`);
  const share = await differing(page, readFileSync(path), now);
  if (share <= TOLERANCE) return;
  mkdirSync(NEW, { recursive: true });
  const made = `${NEW}/${path.split("/").at(-1)}`;
  writeFileSync(made, new Uint8Array(now));
  ok(false, `${(share * 100).toFixed(1)} % of ${path} differ from ${made}; look at both, and keep the new one with UPDATE_PICTURES=1`);
}

/** Compares a session with a picture, without a focus. Its timeline, which comes later and changes the height of the head, is waited for. */
export async function sessionLooksLike(page: Page, path: string, folder: string | null): Promise<void> {
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  const isTerminal = (await page.locator(".xterm").count()) > 0;
  if (!isTerminal) await page.locator(".timeline").waitFor({ state: "attached" });
  await looksLike(page, path, folder);
}
