import type { ComponentChildren, JSX } from "preact";
import { SPEEDS, type Replay } from "../state/replay.js";
import { useStore } from "../state/store.js";
import { plain } from "../text/format.js";
import type { Axis } from "../text/lanes.js";
import { Icon } from "./icon.js";

interface Props {
  readonly store: Replay<unknown>;
  /** What can be chosen with the slider. */
  readonly axis: Axis;
  /** The moment that is shown, on the axis and in words. */
  readonly position: number;
  readonly text: string;
  /** The labels of the steps back and forth. */
  readonly steps: readonly [string, string];
  readonly isLast: boolean;
  readonly onChoose: (place: number) => void;
  /** Called once a moment was chosen. */
  readonly onChosen?: () => void;
  readonly children: ComponentChildren;
}

/** Chooses and plays the moment at which a session is shown. */
export function ReplayControls({ store, axis, position, text, steps, isLast, onChoose, onChosen, children }: Props): JSX.Element {
  useStore(store);
  const { isPlaying } = store;
  return (
    <>
      <input
        class="scrub"
        type="range"
        aria-label="Moment"
        aria-valuetext={text}
        min={axis.from}
        max={axis.to}
        step={1}
        value={position}
        onInput={(event) => onChoose(event.currentTarget.valueAsNumber)}
        onChange={onChosen}
      />
      <div class="replay">
        <button class="ghost" aria-label={isPlaying ? "Pause" : "Play"} onClick={() => (isPlaying ? store.pause() : store.play())}>
          <Icon name={isPlaying ? "pause" : "play"} />
        </button>
        <button class="ghost" aria-label={steps[0]} onClick={() => store.step(-1)}>
          <Icon name="back" />
        </button>
        <button class="ghost" aria-label={steps[1]} disabled={isLast} onClick={() => store.step(1)}>
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
        {store.error && (
          <span class="bad" role="alert">
            {plain(store.error.message)}
          </span>
        )}
        {children}
      </div>
    </>
  );
}
