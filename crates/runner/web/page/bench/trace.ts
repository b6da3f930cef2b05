// Work of the page's main thread, in processor time: other work on the machine does not count.
import type { CDPSession, Page } from "playwright-core";

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** What the page itself causes: its script, and what its changes cost in style and layout. */
const OWN = new Set(["FireAnimationFrame", "FunctionCall", "RunMicrotasks", "EventDispatch", "TimerFire", "UpdateLayoutTree", "Layout"]);

/** Length of a frame, in microseconds. */
const FRAME = 1e6 / 60;

export interface Work {
  /** The longest task, in milliseconds. */
  readonly longest: number;
  /** Script, style and layout in a frame that 99 % of the frames do not exceed, in milliseconds. */
  readonly p99: number;
}

/** Measures the work of a page while something runs. */
export async function measured(page: Page, run: () => Promise<void>): Promise<Work> {
  const client = await page.context().browser()!.newBrowserCDPSession();
  const events: TraceEvent[] = [];
  client.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await client.send("Tracing.start", { transferMode: "ReportEvents", categories: "toplevel,devtools.timeline,disabled-by-default-devtools.timeline,__metadata" });
  await run();
  await finish(client);
  return workOf(events);
}

/** Measures until the work is within its bounds, three times at most: other programs share the caches and cores. */
export async function measuredCalmly(page: Page, isWithin: (work: Work) => boolean, run: () => Promise<void>): Promise<Work> {
  let work = await measured(page, run);
  for (let again = 0; again < 2 && !isWithin(work); again += 1) work = await measured(page, run);
  return work;
}

async function finish(client: CDPSession): Promise<void> {
  const complete = new Promise((resolve) => client.once("Tracing.tracingComplete", resolve));
  await client.send("Tracing.end");
  await complete;
  await client.detach();
}

function workOf(events: readonly TraceEvent[]): Work {
  const mains = new Set(events.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain").map(({ pid, tid }) => `${pid} ${tid}`));
  const tasks = events.filter((it) => it.ph === "X" && it.name === "RunTask" && it.tdur !== undefined && mains.has(`${it.pid} ${it.tid}`));
  if (tasks.length === 0) throw new Error("the trace has no tasks of the main thread");
  const frames = new Map<number, number>();
  let end = 0;
  const own = events.filter((it) => it.ph === "X" && OWN.has(it.name) && it.tdur !== undefined && mains.has(`${it.pid} ${it.tid}`));
  for (const { ts, dur, tdur } of own.sort((a, b) => a.ts - b.ts)) {
    // What is within another one is counted with it.
    if (ts < end) continue;
    end = ts + dur!;
    const frame = Math.floor(ts / FRAME);
    frames.set(frame, (frames.get(frame) ?? 0) + tdur! / 1_000);
  }
  const sums = [...frames.values()].sort((a, b) => a - b);
  const durations = tasks.map(({ tdur }) => tdur! / 1_000);
  return {
    longest: Math.max(...durations),
    p99: sums[Math.floor(sums.length * 0.99)]!,
  };
}
