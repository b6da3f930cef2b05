// Pictures of every view in both themes and on a phone, and the rules of accessibility in each.
import { deepStrictEqual, ok } from "node:assert";
import { mkdirSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { SIZES, animations, launch, smallTargets, violations } from "./browser.js";
import { Runner, watch } from "./runner.js";

const SCHEMES = ["light", "dark"] as const;

/** Where pictures are made. */
const PICTURES = "target/pictures";

let browser: Browser;
let runner: Runner;
let page: Page;
let problems: string[];

before(async () => {
  mkdirSync(PICTURES, { recursive: true });
  browser = await launch();
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
    name: "find",
    show: async () => {
      await go(`#/${terminal}`);
      await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("warning"));
      await page.getByRole("button", { name: "Find" }).click();
      await page.getByLabel("Find in the terminal").fill("error");
      await page.getByText("1 of 1").waitFor();
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
      deepStrictEqual(await violations(page), []);
      deepStrictEqual(await smallTargets(page), []);
      deepStrictEqual(await animations(page), []);
    });
  }
}
