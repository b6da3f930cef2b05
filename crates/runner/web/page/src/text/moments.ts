import type { Moment, Timeline } from "@bowline/client";

/** How a moment is written: as a line of output, an offset in it, or a time since the beginning. */
export type MomentUnit = "line" | "byte" | "time";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: SECOND_MS, min: MINUTE_MS, m: MINUTE_MS, h: HOUR_MS };

/** Returns the time since the beginning as text, such as `1:02.500` or `2:03:04.000`. */
export function clock(ms: number): string {
  const seconds = ((ms % MINUTE_MS) / SECOND_MS).toFixed(3).padStart(6, "0");
  const minutes = Math.floor(ms / MINUTE_MS) % 60;
  const hours = Math.floor(ms / HOUR_MS);
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${seconds}` : `${minutes}:${seconds}`;
}

/** Reads a time, such as `90`, `1:30`, `1:02:03.5` or `2 min`; `null` if it is none. */
export function readClock(text: string): number | null {
  const trimmed = text.trim();
  const withUnit = /^(\d+(?:\.\d+)?)\s*(ms|s|min|m|h)?$/.exec(trimmed);
  if (withUnit) return Math.round(Number(withUnit[1]) * UNIT_MS[withUnit[2] ?? "s"]!);
  if (!/^(?:\d+:)?\d+:\d+(?:\.\d+)?$/.test(trimmed)) return null;
  const seconds = trimmed.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
  return Math.round(seconds * SECOND_MS);
}

/** Reads a number, with its digits in groups; `null` if it is none. */
export function readCount(text: string): number | null {
  const digits = text.replace(/[\s\u202f]/g, "");
  return /^\d+$/.test(digits) ? Number(digits) : null;
}

/** Reads a moment; `"now"` past the end, `null` if the text is none. */
export function readMoment(text: string, unit: MomentUnit, timeline: Timeline): Moment | "now" | null {
  if (unit === "time") {
    const ms = readClock(text);
    if (ms === null || timeline.from_ms === null || timeline.to_ms === null) return null;
    const at_ms = timeline.from_ms + ms;
    return at_ms > timeline.to_ms ? "now" : { at_ms };
  }
  const value = readCount(text);
  if (value === null) return null;
  if (unit === "byte") return value >= timeline.end ? "now" : { at: value };
  if (value >= timeline.lines) return "now";
  return value === 0 ? { at: 0 } : { line: value };
}
