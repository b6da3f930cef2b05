// Terminal sessions in Chromium, with a real runner.
import { deepStrictEqual, match, notStrictEqual, ok, strictEqual } from "node:assert";
import { gzipSync } from "node:zlib";
import { readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";
import { find } from "../src/terminal/find.js";
import { keySequence, modified } from "../src/terminal/keys.js";
import { Runner, watch } from "./runner.js";

const chromiumPath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

let browser: Browser;
let page: Page;
let runner: Runner;
let problems: string[];

before(async () => {
  browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--font-render-hinting=none"] });
});

after(() => browser.close());

beforeEach(async () => {
  runner = await Runner.start();
  problems = [];
  page = await newPage();
});

afterEach(async () => {
  await page.context().close();
  await runner.stop();
  deepStrictEqual(problems, []);
});

async function newPage(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const opened = await context.newPage();
  await watch(opened, problems);
  return opened;
}

const rows = (of: Page = page) => of.locator(".xterm-rows").innerText();

/** Waits until the terminal shows a text. */
async function shows(text: string, of: Page = page): Promise<void> {
  const has = (wanted: string) => document.querySelector(".xterm-rows")?.textContent?.replaceAll("\u00a0", " ").includes(wanted);
  await of.waitForFunction(has, text);
}

async function attached(text: "attached" | "watching", of: Page = page): Promise<void> {
  await of.locator(".top .phase").getByText(text, { exact: true }).waitFor();
}

test("a shell is typed into, and its colors keep the page's policy", async () => {
  const id = await runner.terminal("/bin/sh", [], "a shell");
  await runner.open(page, id);
  await attached("attached");
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.type("printf '\\033[38;2;10;200;30mgre%s\\033[0m\\n' en\n");
  await shows("green");
  const color = await page.locator(".xterm-rows span", { hasText: "green" }).last().evaluate((it) => getComputedStyle(it).color);
  // The contrast of the color is raised where the theme needs it.
  match(color, /^rgb\((\d+), (\d+), (\d+)\)$/);
  const [red, green] = color.match(/\d+/g)!.map(Number) as [number, number];
  ok(green > 2 * red, color);
  // The session has the size of the window.
  await page.keyboard.type("stty size\n");
  const size = (await page.locator(".top .about").innerText()).match(/(\d+) × (\d+)/)!;
  await shows(`${size[2]} ${size[1]}`);
  // All of it is visible: the last row, and the last column.
  const [outside, inside] = [(await page.locator(".screen").boundingBox())!, (await page.locator(".xterm-screen").boundingBox())!];
  ok(inside.y + inside.height <= outside.y + outside.height && inside.x + inside.width <= outside.x + outside.width, JSON.stringify([outside, inside]));
});

test("output goes on at its offset after the runner was killed", async () => {
  const id = await runner.terminal("/bin/sh", ["-c", "echo before; read a; echo after; read b"], "a shell");
  await runner.open(page, id);
  await shows("before");
  await attached("attached");
  // Counts how often the screen is reset.
  const element = await page.locator(".xterm-rows").elementHandle();
  runner.kill();
  await page.locator(".banner").waitFor();
  await runner.serve();
  await page.locator(".banner").waitFor({ state: "detached", timeout: 60_000 });
  await attached("attached");
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.press("Enter");
  await shows("after");
  strictEqual((await rows()).split("before").length, 2, "what was shown is not shown again");
  ok(await element!.evaluate((it) => it.isConnected), "the terminal is the same one");
});

test("leaving the page keeps the session, and one client types at a time", async () => {
  const id = await runner.terminal("/bin/sh", [], "a shell");
  await runner.open(page, id);
  await attached("attached");
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.type("echo fir''st\n");
  await shows("first");

  const other = await newPage({ viewport: { width: 900, height: 600 } });
  await runner.open(other, id);
  await shows("first", other);
  await attached("watching", other);
  await other.locator(".xterm-helper-textarea").focus();
  await other.keyboard.type("echo not''typed\n");
  await page.keyboard.type("echo sec''ond\n");
  await shows("second", other);
  ok(!(await rows(other)).includes("nottyped"));

  // The other client takes over, with its size; this one shows that, and follows the size.
  const wide = await page.locator(".top .about").innerText();
  await other.getByRole("button", { name: "Type here" }).click();
  await attached("attached", other);
  await page.getByText("Another client types now").waitFor();
  await attached("watching");
  await page.waitForFunction((before) => document.querySelector<HTMLElement>(".top .about")!.innerText !== before, wide);
  notStrictEqual(await page.locator(".top .about").innerText(), wide);
  await other.context().close();
  await page.getByRole("button", { name: "Type here" }).click();
  await attached("attached");
  await page.keyboard.type("echo thi''rd\n");
  await shows("third");
});

test("text is found above the screen, copied and pasted", async () => {
  const id = await runner.terminal("/bin/sh", ["-c", "read a; seq -f 'line %g.' 300; cat"], "numbers");
  await runner.open(page, id);
  await attached("attached");
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.press("Enter");
  await shows("line 300.");
  await page.keyboard.press("Control+Shift+F");
  await page.getByLabel("Find in the terminal").fill("line 7.");
  await page.getByText("1 of 1").waitFor();
  await shows("line 7.");
  await page.getByRole("button", { name: "Copy" }).click();
  strictEqual(await page.evaluate(() => navigator.clipboard.readText()), "line 7.");
  await page.keyboard.press("Escape");
  await page.getByText("Go to the end").click();
  await page.evaluate(() => navigator.clipboard.writeText("pasted text"));
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.press("Control+V");
  await page.keyboard.press("Control+Shift+V");
  await shows("pasted text");
});

test("a touch screen has the keys that its keyboard lacks", async () => {
  await page.context().close();
  page = await newPage({ viewport: { width: 360, height: 740 }, hasTouch: true });
  const id = await runner.terminal("/bin/sh", ["-c", "stty -icanon -echo; printf ready; while :; do dd bs=16 count=1 2>/dev/null | od -An -tx1; done"], "keys");
  await runner.open(page, id);
  await shows("ready");
  await attached("attached");
  await page.getByRole("button", { name: "esc" }).tap();
  await shows("1b");
  await page.getByRole("button", { name: "ArrowUp" }).tap();
  await shows("1b 5b 41");
  await page.getByRole("button", { name: "ctrl" }).tap();
  await page.keyboard.type("a");
  await shows("01");
});

test("an ended terminal shows its last output and how it ended", async () => {
  const id = await runner.terminal("/bin/sh", ["-c", "echo last words; exit 3"], "short");
  await runner.open(page, id);
  await page.getByText("ended with code 3").waitFor();
  await shows("last words");
  await page.reload();
  await page.getByText("ended with code 3").waitFor();
  await shows("last words");
});

test("a terminal is shown as it was", async () => {
  const script = "printf 'first\\r\\n'; read x; printf '\\033[2J\\033[H\\033[31msecond\\033[m\\r\\n'; read x";
  const id = await runner.terminal("/bin/sh", ["-c", script], "a terminal");
  await runner.open(page, id);
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("first"));
  const { streams } = await runner.api<{ streams: { tty: { end: number } } }>("GET", `/api/sessions/${id}`);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("second"));
  await page.getByRole("button", { name: "Replay" }).click();
  const past = page.locator(".terminal-past");
  const shows = (text: string) => page.waitForFunction((it) => document.querySelector(".terminal-past .xterm-rows")?.textContent?.includes(it), text);
  await shows("second");
  const byte = past.getByLabel("Moment, as a byte");
  await byte.fill(String(streams.tty.end));
  await byte.press("Enter");
  await shows("first");
  ok(!(await past.locator(".xterm-rows").innerText()).includes("second"));
  const later = past.getByRole("button", { name: "Later output" });
  while (await later.isEnabled()) await later.click();
  await shows("second");
  await byte.fill("0");
  await byte.press("Enter");
  await past.getByRole("button", { name: "Earlier output" }).click();
  strictEqual(await byte.inputValue(), "0", "nothing is earlier");
  await page.waitForFunction(() => document.querySelector(".terminal-past .xterm-rows")?.textContent?.trim() === "");
  await past.getByLabel("Speed").selectOption("20");
  await past.getByRole("button", { name: "Play" }).click();
  await shows("second");
  await past.getByRole("button", { name: "Play" }).waitFor();
  await past.getByRole("button", { name: "To the present" }).click();
  await past.waitFor({ state: "detached" });
  ok((await page.locator(".xterm-rows").innerText()).includes("second"));
});

test("lines above those that a terminal keeps are read by page", async () => {
  const id = await runner.terminal("/bin/sh", ["-c", "seq -f 'line %.0f' 1 20000; echo done; read x"], "many lines");
  await runner.open(page, id);
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("done"));
  await page.locator(".screen .xterm").hover();
  const slider = (await page.locator(".screen .scrollbar.vertical .slider").boundingBox())!;
  const x = slider.x + slider.width / 2;
  await page.mouse.move(x, slider.y + slider.height / 2);
  await page.mouse.down();
  await page.mouse.move(x, 0, { steps: 4 });
  await page.mouse.up();
  const earlier = page.getByRole("button", { name: "Earlier lines" });
  await earlier.click();
  const past = page.locator(".terminal-past");
  await past.getByText("2\u202f000 lines", { exact: true }).waitFor();
  const numbers = async () => {
    const text = await past.locator(".xterm-rows").innerText();
    return [...text.matchAll(/line (\d+)/g)].map((it) => Number(it[1]));
  };
  // The newest of them is the one before those that the terminal has: 10,000 lines, and the screen.
  const first = await numbers();
  ok(first.at(-1)! < 10_000 && first.at(-1)! > 9_900, `${first.at(-1)}`);
  await past.getByRole("button", { name: "Older" }).click();
  await page.waitForFunction((last) => {
    const found = [...document.querySelector(".terminal-past .xterm-rows")!.textContent!.matchAll(/line (\d+)/g)];
    return Number(found.at(-1)?.[1]) === last;
  }, first.at(-1)! - 2_000);
  await past.getByRole("button", { name: "Newer" }).click();
  await past.getByRole("button", { name: "Back to the terminal" }).click();
  await past.waitFor({ state: "detached" });
});

test("the part for terminals is loaded with the first one, and is small", async () => {
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const id = await runner.terminal("/bin/cat", [], "cat");
  await runner.open(page, "none", 0);
  await page.locator(".banner").waitFor();
  ok(!asked.includes("/terminal.js"));
  await page.evaluate((session) => (location.hash = `#/${session}`), id);
  await attached("attached");
  ok(asked.includes("/terminal.js"));
  const size = (name: string) => gzipSync(new Uint8Array(readFileSync(`dist/${name}`)), { level: 9 }).length;
  const first = size("app.js") + size("chunk.js") + size("app.css") + size("index.html") + size("icon.svg");
  console.log(`first load ${first} bytes, terminal ${size("terminal.js")} bytes, compressed`);
  ok(first <= 64 << 10, "first load");
  ok(size("terminal.js") <= 96 << 10, "terminal");
});

test("text is found where a line is wrapped", () => {
  const buffer = (...texts: [string, boolean][]) => ({
    length: texts.length,
    line: (row: number) => texts[row] && { isWrapped: texts[row][1], text: () => texts[row]![0] },
  });
  deepStrictEqual(find(buffer(["abc", false], ["def", true], ["cde", false]), "CD"), [
    { row: 0, at: 2, length: 2 },
    { row: 2, at: 0, length: 2 },
  ]);
  deepStrictEqual(find(buffer(["aaaa", false]), "aa").map(({ at }) => at), [0, 2]);
  deepStrictEqual(find(buffer(["a", false]), ""), []);
});

test("keys have the sequences that programs know", () => {
  const none = { ctrl: false, alt: false };
  strictEqual(keySequence("ArrowUp", none, false), "\x1b[A");
  strictEqual(keySequence("ArrowUp", none, true), "\x1bOA");
  strictEqual(keySequence("ArrowLeft", { ctrl: true, alt: false }, true), "\x1b[1;5D");
  strictEqual(keySequence("PageDown", { ctrl: false, alt: true }, false), "\x1b[6;3~");
  strictEqual(modified("c", { ctrl: true, alt: false }), "\x03");
  strictEqual(modified("x", { ctrl: false, alt: true }), "\x1bx");
  strictEqual(modified("[", { ctrl: true, alt: true }), "\x1b\x1b");
});
