import type { Timeline } from "@bowline/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ReplayStore } from "../state/replay.js";
import { count } from "../text/format.js";
import { wholeAxis } from "../text/lanes.js";
import { clock, readMoment, type MomentUnit } from "../text/moments.js";

const HINTS: Record<MomentUnit, string> = { line: "a number, such as 120", byte: "a number, such as 4096", time: "a time, such as 1:30.5" };

/** The moment that is shown, as a line, an offset or a time; another one can be written. */
export function MomentField({ store, timeline }: { readonly store: ReplayStore; readonly timeline: Timeline }): JSX.Element {
  const [unit, setUnit] = useState<MomentUnit>("line");
  // What is being written, so that an update of the page does not replace it.
  const [written, write] = useState<string | null>(null);
  const [isWrong, setWrong] = useState(false);
  const hasTimes = wholeAxis(timeline).unit === "ms";
  const go = (text: string) => {
    const moment = readMoment(text, unit, timeline);
    setWrong(moment === null);
    if (moment === null) return;
    write(null);
    store.pause();
    store.show(moment === "now" ? null : moment);
  };
  const choose = (chosen: MomentUnit) => {
    setUnit(chosen);
    setWrong(false);
    write(null);
  };
  const shown = shownAs(unit, store, timeline);
  return (
    <span class="at-moment">
      <select aria-label="Unit of the moment" value={unit} onChange={(event) => choose(event.currentTarget.value as MomentUnit)}>
        <option value="line">line</option>
        <option value="byte">byte</option>
        {hasTimes && <option value="time">time</option>}
      </select>
      <input
        aria-label={`Moment, as a ${unit}`}
        aria-invalid={isWrong}
        title={HINTS[unit]}
        inputMode={unit === "time" ? "text" : "numeric"}
        value={written ?? shown}
        onInput={(event) => write(event.currentTarget.value)}
        onChange={(event) => go(event.currentTarget.value)}
      />
      {isWrong && (
        <span class="bad" role="alert">
          Write {HINTS[unit]}
        </span>
      )}
    </span>
  );
}

function shownAs(unit: MomentUnit, { past }: ReplayStore, timeline: Timeline): string {
  const part = past?.part;
  if (unit === "line") return count(part?.line ?? timeline.lines);
  if (unit === "byte") return count(part?.at ?? timeline.end);
  const from = timeline.from_ms ?? 0;
  const wanted = past?.moment && "at_ms" in past.moment ? past.moment.at_ms : part?.at_ms;
  return clock(Math.max(0, (past ? (wanted ?? from) : (timeline.to_ms ?? from)) - from));
}
