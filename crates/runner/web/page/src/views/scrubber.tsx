import type { Timeline } from "@bowline/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { position, type PastTranscript } from "../state/past_transcript.js";
import { useStore } from "../state/store.js";
import { count, duration } from "../text/format.js";
import { wholeAxis, type Axis } from "../text/lanes.js";
import { clock, readMoment, type MomentUnit } from "../text/moments.js";
import { MomentField } from "./moment_field.js";
import { ReplayControls } from "./replay_controls.js";

interface Props {
  readonly store: PastTranscript;
  readonly timeline: Timeline;
  readonly axis: Axis;
  /** Shows the whole session again; `null` if it is shown. */
  readonly onWhole: (() => void) | null;
}

/** Chooses the moment at which a transcript is shown. */
export function Scrubber({ store, timeline, axis, onWhole }: Props): JSX.Element {
  useStore(store);
  const [dragged, drag] = useState<number | null>(null);
  const whole = wholeAxis(timeline);
  const shown = dragged ?? position(store, whole);
  const { past } = store;
  const part = past?.part;
  const at = `line ${count(part?.line ?? timeline.lines)}, ${count(part?.at ?? timeline.end)} bytes`;
  const choose = (value: number) => {
    store.pause();
    drag(value);
    if (value >= whole.to) store.show(null);
    else store.show(axis.unit === "ms" ? { at_ms: Math.round(value) } : { at: Math.round(value) });
  };
  const go = (text: string, unit: MomentUnit) => {
    const moment = readMoment(text, unit, timeline);
    if (moment === null) return false;
    store.pause();
    store.show(moment === "now" ? null : moment);
    return true;
  };
  return (
    <ReplayControls
      store={store}
      axis={axis}
      position={shown}
      text={axis.unit === "ms" ? `${duration(shown - whole.from)}, ${at}` : at}
      steps={["A line earlier", "A line later"]}
      isLast={!past}
      onChoose={choose}
      onChosen={() => drag(null)}
    >
      {onWhole && (
        <button class="ghost" onClick={onWhole}>
          Whole session
        </button>
      )}
      <MomentField units={whole.unit === "ms" ? ["line", "byte", "time"] : ["line", "byte"]} shown={(unit) => written(unit, store, timeline)} onWritten={go} />
      {past && (
        <button class="now" onClick={() => store.show(null)}>
          <span class="dot connected" />
          To the end
        </button>
      )}
    </ReplayControls>
  );
}

function written(unit: MomentUnit, { past }: PastTranscript, timeline: Timeline): string {
  const part = past?.part;
  if (unit === "line") return count(part?.line ?? timeline.lines);
  if (unit === "byte") return count(part?.at ?? timeline.end);
  const from = timeline.from_ms ?? 0;
  const wanted = past?.moment && "at_ms" in past.moment ? past.moment.at_ms : part?.at_ms;
  return clock(Math.max(0, (past ? (wanted ?? from) : (timeline.to_ms ?? from)) - from));
}
