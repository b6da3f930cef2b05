import type { Client } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { PastTerminal } from "../state/past_terminal.js";
import { SPEEDS } from "../state/replay.js";
import { useStore } from "../state/store.js";
import type { Screen } from "../terminal/screen.js";
import { count, plain } from "../text/format.js";
import { clock, readClock } from "../text/moments.js";
import { Icon } from "./icon.js";
import { loadScreen } from "./load_screen.js";

interface Props {
  readonly client: Client;
  readonly session: string;
  readonly onClose: () => void;
}

/** A terminal as it was: its screen at any moment, in the place of the present one. */
export function TerminalPast({ client, session, onClose }: Props): JSX.Element {
  const parent = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | null>(null);
  const store = useMemo(() => new PastTerminal(client, session, ({ bytes, size }) => screen.current?.replace(bytes, size)), [client, session]);
  useStore(store);
  useEffect(() => {
    let isClosed = false;
    void loadScreen().then(({ Screen }) => {
      if (isClosed) return;
      screen.current = new Screen(parent.current!, { label: "Terminal as it was", onInput: () => {} });
      void store.open();
    });
    return () => {
      isClosed = true;
      store.close();
      screen.current?.dispose();
    };
  }, [store]);
  const { axis, isPlaying } = store;
  const choose = (place: number) => {
    store.pause();
    store.showAt(place);
  };
  return (
    <section class="terminal-past" aria-label="Terminal as it was">
      <div class="screen read" ref={parent} />
      <div class="past-tools">
        <input
          class="scrub"
          type="range"
          aria-label="Moment"
          aria-valuetext={text(store)}
          min={axis.from}
          max={axis.to}
          step={1}
          value={store.position}
          onInput={(event) => choose(event.currentTarget.valueAsNumber)}
        />
        <div class="replay">
          <button class="ghost" aria-label={isPlaying ? "Pause" : "Play"} onClick={() => (isPlaying ? store.pause() : store.play())}>
            <Icon name={isPlaying ? "pause" : "play"} />
          </button>
          <button class="ghost" aria-label="Earlier output" onClick={() => store.step(-1)}>
            <Icon name="back" />
          </button>
          <button class="ghost" aria-label="Later output" onClick={() => store.step(1)}>
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
          <Fields store={store} />
          <button class="now" onClick={onClose}>
            <span class="dot connected" />
            To the present
          </button>
        </div>
      </div>
    </section>
  );
}

function text({ at, position, axis }: PastTerminal): string {
  const bytes = `${count(at)} bytes`;
  return axis.unit === "ms" ? `${clock(position - axis.from)}, ${bytes}` : bytes;
}

/** The moment as an offset and as a time; another one can be written. */
function Fields({ store }: { readonly store: PastTerminal }): JSX.Element {
  const [written, write] = useState<string | null>(null);
  const { axis } = store;
  const go = (place: number | null, show: (place: number) => void) => {
    write(null);
    if (place === null || !Number.isFinite(place)) return;
    store.pause();
    show(place);
  };
  return (
    <span class="at-moment">
      {axis.unit === "ms" && (
        <input
          key="time"
          aria-label="Moment, as a time"
          value={clock(store.position - axis.from)}
          onChange={({ currentTarget: { value } }) => {
            const ms = readClock(value);
            go(ms === null ? null : axis.from + ms, (place) => store.showAt(place));
          }}
        />
      )}
      <label>
        byte
        <input
          aria-label="Moment, as a byte"
          inputMode="numeric"
          value={written ?? count(store.at)}
          onInput={(event) => write(event.currentTarget.value)}
          onChange={({ currentTarget: { value } }) => go(Number(value.replace(/[\s\u202f]/g, "")), (place) => store.show(place))}
        />
      </label>
    </span>
  );
}
