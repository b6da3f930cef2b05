import type { Range, Span, Timeline } from "@bowline/client";

/** What is drawn of a timeline: bars in lanes. Pure: the width is an argument. */
export interface Bar {
  readonly kind: "model" | "tool" | "agent" | "ask";
  /** Whether the tool failed or was interrupted. */
  readonly isBad: boolean;
  readonly x: number;
  readonly width: number;
  readonly lane: number;
  readonly label: string;
  /** The number of the entry of the main thread. */
  readonly entry: number | null;
  readonly bytes: Range;
  /** In the unit of the axis. */
  readonly from: number;
  readonly to: number;
  /** How many spans the bar stands for: those too short to be seen apart. */
  readonly spans: number;
}

/** The part of a session that is drawn, in milliseconds or in bytes. */
export interface Axis {
  readonly unit: "ms" | "bytes";
  readonly from: number;
  readonly to: number;
}

export const MAX_LANES = 5;

/** Narrower bars are drawn as wide, in pixels. */
const MIN_WIDTH = 2;

/** Bars nearer to each other than this are one. */
const MIN_GAP = 1;

/** Returns the axis of a whole session: its time if it is known and tells each moment, otherwise its bytes. */
export function wholeAxis({ from_ms, to_ms, is_ordered, end }: Timeline): Axis {
  if (is_ordered && from_ms !== null && to_ms !== null && to_ms > from_ms) return { unit: "ms", from: from_ms, to: to_ms };
  return { unit: "bytes", from: 0, to: Math.max(1, end) };
}

/** Returns where a span begins and ends on an axis; an open one ends with the session. */
export function placeOf(span: Span, { unit }: Axis, end: number): readonly [number, number] | null {
  if (unit === "bytes") return span.bytes;
  if (span.from_ms === null) return null;
  return [span.from_ms, Math.max(span.from_ms, span.to_ms ?? end)];
}

/** Lays out the bars that are visible, those of models in lane 0. */
export function bars(timeline: Timeline, axis: Axis, width: number): Bar[] {
  const end = wholeAxis(timeline).to;
  const scale = width / Math.max(1, axis.to - axis.from);
  const placed: Bar[] = [];
  const add = (span: Span, bar: Omit<Bar, "x" | "width" | "bytes" | "from" | "to" | "spans">): void => {
    const place = placeOf(span, axis, end);
    if (!place || place[1] < axis.from || place[0] > axis.to) return;
    const x = Math.max(0, (place[0] - axis.from) * scale);
    const right = Math.min(width, (place[1] - axis.from) * scale);
    placed.push({ ...bar, x, width: Math.max(MIN_WIDTH, right - x), bytes: span.bytes, from: place[0], to: place[1], spans: 1 });
  };
  for (const call of timeline.model_calls) {
    if (call.thread !== null) continue;
    add(call, { kind: "model", isBad: false, lane: 0, label: call.model ?? "model", entry: call.entry });
  }
  const lanes = toolLanes(timeline, axis, end);
  for (const tool of timeline.tools) {
    const isBad = tool.state === "failed" || tool.state === "interrupted" || tool.state === "lost";
    const label = tool.title ? `${tool.name} ${tool.title}` : tool.name;
    add(tool, { kind: tool.subagent ? "agent" : "tool", isBad, lane: lanes.get(tool.id) ?? 1, label, entry: tool.entry });
  }
  const entries = new Map(timeline.tools.map((tool) => [tool.id, tool.entry]));
  for (const ask of timeline.permissions) {
    const lane = lanes.get(ask.tool_use_id ?? "") ?? 1;
    const entry = entries.get(ask.tool_use_id ?? "") ?? null;
    add(ask, { kind: "ask", isBad: false, lane, label: `${ask.tool_name} waits`, entry });
  }
  return merged(placed);
}

/** Gives each tool call a lane below that of the call that holds it, in which no other runs at the time. */
function toolLanes(timeline: Timeline, axis: Axis, end: number): Map<string, number> {
  const lanes = new Map<string, number>();
  const busyUntil: number[] = [];
  const starts = timeline.tools.map((tool) => ({ tool, place: placeOf(tool, axis, end) }));
  starts.sort((a, b) => (a.place?.[0] ?? 0) - (b.place?.[0] ?? 0));
  for (const { tool, place } of starts) {
    if (!place) continue;
    let lane = 1 + (tool.thread === null ? 0 : (lanes.get(tool.thread) ?? 0));
    while (lane < MAX_LANES && (busyUntil[lane] ?? -Infinity) > place[0]) lane += 1;
    lane = Math.min(lane, MAX_LANES);
    busyUntil[lane] = Math.max(busyUntil[lane] ?? -Infinity, place[1]);
    lanes.set(tool.id, lane);
  }
  return lanes;
}

/** Draws bars that cannot be seen apart as one. */
function merged(all: Bar[]): Bar[] {
  all.sort((a, b) => a.lane - b.lane || a.x - b.x);
  const out: Bar[] = [];
  for (const bar of all) {
    const last = out.at(-1);
    const isSmall = bar.width <= 3 && last !== undefined && last.kind === bar.kind && last.lane === bar.lane;
    if (!isSmall || bar.x > last.x + last.width + MIN_GAP) {
      out.push(bar);
      continue;
    }
    out[out.length - 1] = {
      ...last,
      isBad: last.isBad || bar.isBad,
      width: Math.max(last.width, bar.x + bar.width - last.x),
      bytes: [last.bytes[0], Math.max(last.bytes[1], bar.bytes[1])],
      to: Math.max(last.to, bar.to),
      spans: last.spans + bar.spans,
    };
  }
  return out;
}

/** Returns round positions on an axis, about so many. */
export function ticks({ from, to }: Axis, about: number): number[] {
  const length = Math.max(1, to - from);
  const power = 10 ** Math.floor(Math.log10(length / about));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((it) => length / it <= about) ?? 10 * power;
  const out: number[] = [];
  for (let at = 0; at <= length; at += Math.max(1, step)) out.push(from + at);
  return out;
}
