import type { Timeline } from "@bowline/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { SPEEDS, position, type ReplayStore } from "../state/replay.js";
import { useStore } from "../state/store.js";
import { count, duration, plain } from "../text/format.js";
import { wholeAxis, type Axis } from "../text/lanes.js";
import { Icon } from "./icon.js";
import { MomentField } from "./moment_field.js";

interface Props {
  readonly store: ReplayStore;
  readonly timeline: Timeline;
  readonly axis: Axis;
  /** Shows the whole session again; `null` if it is shown. */
  readonly onWhole: (() => void) | null;
}

/** Chooses the moment at which the session is shown. */
export function Scrubber({ store, timeline, axis, onWhole }: Props): JSX.Element {
  useStore(store);
  const [dragged, drag] = useState<number | null>(null);
  const whole = wholeAxis(timeline);
  const shown = dragged ?? position(store, whole);
  const { past, isPlaying } = store;
  const choose = (value: number) => {
    store.pause();
    drag(value);
    if (value >= whole.to) store.show(null);
    else store.show(axis.unit === "ms" ? { at_ms: Math.round(value) } : { at: Math.round(value) });
  };
  const part = past?.part;
  const at = part ? `line ${count(part.line)}, ${count(part.at)} bytes` : `line ${count(timeline.lines)}, ${count(timeline.end)} bytes`;
  return (
    <>
      <input
        class="scrub"
        type="range"
        aria-label="Moment"
        aria-valuetext={axis.unit === "ms" ? `${duration(shown - whole.from)}, ${at}` : at}
        min={axis.from}
        max={axis.to}
        step={1}
        value={shown}
        onInput={(event) => choose(event.currentTarget.valueAsNumber)}
        onChange={() => drag(null)}
      />
      <div class="replay">
        <button class="ghost" aria-label={isPlaying ? "Pause" : "Play"} onClick={() => (isPlaying ? store.pause() : store.play())}>
          <Icon name={isPlaying ? "pause" : "play"} />
        </button>
        <button class="ghost" aria-label="A line earlier" onClick={() => store.step(-1)}>
          <Icon name="back" />
        </button>
        <button class="ghost" aria-label="A line later" disabled={!past} onClick={() => store.step(1)}>
          <Icon name="forward" />
        </button>
        <label>
          <span class="vh">Speed</span>
          <select value={store.speed} onChange={(event) => store.setSpeed(Number(event.currentTarget.value))}>
            {SPEEDS.map((speed) => (
              <option key={speed} value={speed}>
                {speed}×
              </option>
            ))}
          </select>
        </label>
        {onWhole && (
          <button class="ghost" onClick={onWhole}>
            Whole session
          </button>
        )}
        {store.error && (
          <span class="bad" role="alert">
            {plain(store.error.message)}
          </span>
        )}
        <MomentField store={store} timeline={timeline} />
        {past && (
          <button class="now" onClick={() => store.show(null)}>
            <span class="dot connected" />
            To the end
          </button>
        )}
      </div>
    </>
  );
}
