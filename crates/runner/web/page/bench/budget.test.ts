// What the page may cost, in Chromium against a stand-in for the runner.
import { ok } from "node:assert";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";
import type { Change, EntryValue } from "@bowline/client";
import { HOSTILE, hostileChanges, hostileFields } from "../test/hostile.js";
import { StandIn } from "../test/stand_in.js";
import { measuredCalmly, type Work } from "./trace.js";

const chromiumPath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** Frames of a measurement: six seconds. */
const FRAMES = 360;

let browser: Browser;
let server: StandIn;
let page: Page;

before(async () => {
  browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
});

after(() => browser.close());

beforeEach(async () => {
  server = await StandIn.start();
  page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
});

afterEach(async () => {
  await page.close();
  await server.stop();
});

async function open(): Promise<void> {
  await page.goto(`${server.url}/#login=ticket-abc`);
  await page.waitForSelector(".sessions li");
  await page.evaluate(() => (location.hash = "#/a"));
  await page.waitForSelector("main .top");
}

const frame = () => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
const running: Change = { change: "status", status: { phase: "running", reason: "a turn is open" } };

function entry(number: number, value: EntryValue): Change {
  return { change: "entry", entry: number, thread: null, value, turn: null, at_ms: null, bytes: [number, number + 1], history: false };
}

/** Text that grows, as changes: in one block, or in a new message after so many words. */
class Growing {
  #from = 0;
  #words = 0;
  #total = 0;
  #block = 0;
  readonly #perMessage: number;

  constructor(perMessage = Infinity) {
    this.#perMessage = perMessage;
  }

  /** Returns the next deltas, each a word; some end a paragraph, a list or a block of code. */
  next(count: number): Change[] {
    return Array.from({ length: count }, () => this.#delta()).flat();
  }

  #delta(): Change[] {
      this.#words += 1;
      const begun: Change[] = [];
      if (this.#words % this.#perMessage === 0) {
        this.#block += 1;
        this.#from = 0;
        const number = 100_000 + this.#block;
        begun.push(entry(number, assistant), { change: "block", block: this.#block, entry: number, value: { type: "text", text: "" }, bytes: [0, 1] });
      }
      const text = this.#words % 400 === 0 ? "\n\n```rust\nlet a = 1;\n```\n\n" : this.#words % 40 === 0 ? "end.\n\n- **item** `code`\n\n" : "word ";
      const change: Change = { change: "append", block: this.#block, from: this.#from, text, end: this.#from };
      this.#from += text.length;
      this.#total += text.length;
      return [...begun, change];
  }

  get length(): number {
    return this.#total;
  }
}

const assistant: EntryValue = { kind: "assistant", message_id: null, model: null, state: "streaming", blocks: [] };
const block: Change = { change: "block", block: 0, entry: 100_000, value: { type: "text", text: "" }, bytes: [0, 1] };

/**
 * By how much tests raise the bounds of work, which `npm run bench` asserts as they are: where cores are shared, the same work was seen
 * to take 2.5 times as long a minute later. A page whose work grows with what it shows exceeds these, too.
 */
const RAISED = process.env["BENCH"] === undefined ? 3 : 1;

/** Script, style and layout of a frame. */
const P99_MS = 8 * RAISED;

/** A task from which the page is slow to answer. */
const LONG_MS = 50 * RAISED;

/** A task from which the page freezes. */
const FREEZE_MS = 100 * RAISED;

function report(what: string, { longest, p99 }: Work): void {
  console.log(`${what}: p99 of a frame's work ${p99.toFixed(1)} ms, longest task ${longest.toFixed(1)} ms`);
}

for (const [rate, perFrame] of [
  [1_000, 17],
  [20_000, 334],
] as const) {
  test(`100,000 entries and ${rate} deltas a second cost little in each frame`, async () => {
    const many = Array.from({ length: 100_000 }, (_, at) => entry(at, { kind: "user", uuid: null, text: `prompt ${at}`, replay: false, synthetic: false }));
    server.session("a", {}, [running, ...many, entry(100_000, assistant), block]);
    await open();
    await page.getByText("prompt 99999").waitFor();
    const growing = new Growing(400);
    for (let warm = 0; warm < 30; warm += 1) {
      server.push("a", growing.next(perFrame));
      await frame();
    }
    let elements = 0;
    const isWithin = ({ longest, p99 }: Work) => longest <= LONG_MS && p99 <= P99_MS;
    const work = await measuredCalmly(page, isWithin, async () => {
      for (let at = 0; at < FRAMES; at += 1) {
        server.push("a", growing.next(perFrame));
        await frame();
        if (at % 60 === 59) elements = Math.max(elements, await page.locator("*").count());
      }
    });
    report(`${rate} deltas a second, text of ${growing.length} bytes, ${elements} elements`, work);
    ok(work.longest <= LONG_MS, `a task of ${work.longest} ms`);
    ok(work.p99 <= P99_MS, `p99 ${work.p99}`);
    ok(elements <= 500, `${elements} elements`);
  });
}

test("a frame of Markdown of 200 KB costs little", async () => {
  const growing = new Growing();
  server.session("a", {}, [running, entry(100_000, assistant), block]);
  await open();
  while (growing.length < 200_000) {
    server.push("a", growing.next(2_000));
    await frame();
  }
  const work = await measuredCalmly(page, ({ p99 }) => p99 <= P99_MS, async () => {
    for (let at = 0; at < FRAMES / 2; at += 1) {
      server.push("a", growing.next(17));
      await frame();
    }
  });
  report(`Markdown of ${growing.length} bytes`, work);
  ok(work.p99 <= P99_MS, `p99 ${work.p99}`);
});

test("hostile texts freeze nothing", async () => {
  server.session("a", {}, [running]);
  await open();
  let longest = 0;
  let shown = 0;
  for (const [at, text] of HOSTILE.entries()) {
    const work = await measuredCalmly(page, ({ longest: task }) => task <= FREEZE_MS, async () => {
      shown += 1;
      const changes = hostileChanges([text]).map((it) => ("entry" in it ? { ...it, entry: it.entry + at * 4 } : it)) as Change[];
      const status: Change = { change: "status", status: { phase: "running", reason: `text ${shown}` } };
      server.push("a", [{ change: "reset" }, ...changes, ...hostileFields(text), status]);
      await page.getByText(`text ${shown}`, { exact: true }).waitFor();
      for (let step = 0; step < 6; step += 1) {
        await page.evaluate(() => document.querySelector(".thread")?.scrollBy(0, -400));
        await frame();
      }
    });
    if (work.longest > longest) {
      longest = work.longest;
      console.log(`${longest.toFixed(1)} ms: ${text.length} characters, ${JSON.stringify(text.slice(0, 24))}`);
    }
  }
  ok(longest <= FREEZE_MS, `a task of ${longest} ms`);
});
