// Pictures of every view in both themes and on a phone, and the rules of accessibility in each.
import { deepStrictEqual, ok } from "node:assert";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";
import { Runner, watch } from "./runner.js";

const chromiumPath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const axe = readFileSync(createRequire(`${process.cwd()}/`).resolve("axe-core/axe.min.js"), "utf8");
const SCHEMES = ["light", "dark"] as const;
const SIZES = [
  { width: 1440, height: 900 },
  { width: 360, height: 740 },
];

/** Where pictures are made. */
const PICTURES = "target/pictures";

let browser: Browser;
let runner: Runner;
let page: Page;
let problems: string[];

before(async () => {
  mkdirSync(PICTURES, { recursive: true });
  browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--font-render-hinting=none"] });
  runner = await Runner.start();
  dialogue = await runner.dialogue("One of the tests fails. Find out why and fix it.", { name: "Fix the failing test" });
  const script = "printf '\\033[1;32mok\\033[0m \\033[33mwarning\\033[0m \\033[31merror\\033[0m \\033[36mnote\\033[0m \\033[35mmagenta\\033[0m \\033[34mblue\\033[0m\\r\\n$ '; cat";
  terminal = await runner.terminal("/bin/sh", ["-c", script], "Watch the build");
});

after(async () => {
  await runner.stop();
  await browser.close();
});

beforeEach(() => {
  problems = [];
});

afterEach(async () => {
  await page.context().close();
  deepStrictEqual(problems, []);
});

/** Returns the rules of WCAG 2.2 AA that a page breaks. */
async function brokenRules(): Promise<unknown> {
  // The page's own policy permits no script of a test; a context without it would be another page.
  const client = await page.context().newCDPSession(page);
  const { result } = await client.send("Runtime.evaluate", {
    expression: `${axe}; axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join("; ")))`,
    awaitPromise: true,
    returnByValue: true,
  });
  return result.value;
}

/** Returns the texts in the color of the canvas, which the system puts behind each text in high contrast. */
function illegible(): Promise<string[]> {
  return page.evaluate(() => {
    const probe = document.createElement("span");
    probe.style.color = "Canvas";
    document.body.append(probe);
    const canvas = getComputedStyle(probe).color;
    probe.remove();
    const hasText = (it: Element) => [...it.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent!.trim() !== "");
    const all = [...document.querySelectorAll("#root *")].filter((it) => hasText(it) && getComputedStyle(it).color === canvas);
    return all.map((it) => it.textContent!.slice(0, 40));
  });
}

/** A view: how it is reached from a page that is logged in. */
interface View {
  readonly name: string;
  readonly show: () => Promise<void>;
}

let dialogue: string;
let terminal: string;

const VIEWS: readonly View[] = [
  { name: "empty", show: async () => {} },
  {
    name: "start",
    show: async () => {
      await go("#/new");
      await page.getByText("claude", { exact: true }).waitFor();
      await page.getByRole("button", { name: "More options" }).click();
    },
  },
  {
    name: "past",
    show: async () => {
      await go("#/past");
      await page.locator(".past").waitFor();
    },
  },
  {
    name: "dialogue",
    show: async () => {
      await go(`#/${dialogue}`);
      await page.locator('.card[data-armed="true"]').waitFor();
    },
  },
  {
    name: "menu",
    show: async () => {
      await go(`#/${dialogue}`);
      await page.locator('.card[data-armed="true"]').waitFor();
      await page.getByRole("button", { name: "Session", exact: true }).click();
      await page.locator(".menu-list").waitFor();
    },
  },
  {
    name: "palette",
    show: async () => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").waitFor();
    },
  },
  {
    name: "help",
    show: async () => {
      await page.keyboard.press("?");
      await page.getByText("Keyboard shortcuts").waitFor();
    },
  },
  {
    name: "terminal",
    show: async () => {
      await go(`#/${terminal}`);
      await page.locator(".top .phase").getByText("attached", { exact: true }).waitFor();
      await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("warning"));
    },
  },
  {
    name: "replay",
    show: async () => {
      await go(`#/${terminal}`);
      await page.getByRole("button", { name: "Replay" }).click();
      await page.waitForFunction(() => document.querySelector(".terminal-past .xterm-rows")?.textContent?.includes("warning"));
    },
  },
];

async function go(hash: string): Promise<void> {
  await page.evaluate((it) => (location.hash = it), hash);
}

/** How a page is looked at. */
interface Look {
  readonly colorScheme: (typeof SCHEMES)[number];
  readonly viewport: { readonly width: number; readonly height: number };
  /** High contrast: the colors of the system replace those of the page. */
  readonly forcedColors: "active" | "none";
}

const LOOKS: readonly Look[] = [
  ...SCHEMES.flatMap((colorScheme) => SIZES.map((viewport) => ({ colorScheme, viewport, forcedColors: "none" }) as const)),
  { colorScheme: "light", viewport: { width: 3840, height: 2160 }, forcedColors: "none" },
  { colorScheme: "dark", viewport: SIZES[0]!, forcedColors: "active" },
];

for (const { colorScheme, viewport, forcedColors } of LOOKS) {
  const contrast = forcedColors === "active" ? ", high contrast" : "";
  for (const { name, show } of VIEWS) {
    test(`${name}, ${colorScheme}, ${viewport.width} wide${contrast}`, async () => {
      const context = await browser.newContext({ viewport, colorScheme, forcedColors, reducedMotion: "reduce" });
      page = await context.newPage();
      await watch(page, problems);
      const { url } = await runner.api<{ url: string }>("POST", "/api/login-links");
      await page.goto(url);
      await page.locator(".sessions li").first().waitFor({ state: "attached" });
      await show();
      const picture = await page.screenshot({ path: `${PICTURES}/${name}-${contrast ? "contrast" : colorScheme}-${viewport.width}.png` });
      ok(picture.length > 1_000);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      ok(!wide, "the page is wider than its window");
      if (forcedColors === "active") deepStrictEqual(await illegible(), []);
      deepStrictEqual(await brokenRules(), []);
    });
  }
}
