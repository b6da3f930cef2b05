import type { Client } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { PastTerminal } from "../state/past_terminal.js";
import { useStore } from "../state/store.js";
import type { Screen } from "../terminal/screen.js";
import { count } from "../text/format.js";
import { clock, readClock, readCount, type MomentUnit } from "../text/moments.js";
import { loadScreen } from "./load_screen.js";
import { MomentField } from "./moment_field.js";
import { ReplayControls } from "./replay_controls.js";

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
  const { axis, at, end } = store;
  const time = clock(store.position - axis.from);
  const choose = (place: number) => {
    store.pause();
    store.showAt(place);
  };
  const go = (text: string, unit: MomentUnit) => {
    const value = unit === "time" ? readClock(text) : readCount(text);
    if (value === null) return false;
    store.pause();
    if (unit === "time") store.showAt(axis.from + value);
    else store.show(value);
    return true;
  };
  return (
    <section class="terminal-past" aria-label="Terminal as it was">
      <div class="screen read" ref={parent} />
      <div class="past-tools">
        <ReplayControls
          store={store}
          axis={axis}
          position={store.position}
          text={`${axis.unit === "ms" ? `${time}, ` : ""}${count(at)} bytes`}
          steps={["Earlier output", "Later output"]}
          isLast={at >= end}
          onChoose={choose}
        >
          <MomentField units={axis.unit === "ms" ? ["byte", "time"] : ["byte"]} shown={(unit) => (unit === "time" ? time : count(at))} onWritten={go} />
          <button class="now" onClick={onClose}>
            <span class="dot connected" />
            To the present
          </button>
        </ReplayControls>
      </div>
    </section>
  );
}
