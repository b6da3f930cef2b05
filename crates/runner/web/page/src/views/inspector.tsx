import type { Client, LineStart } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { BytesStore } from "../state/bytes.js";
import type { PastTranscript } from "../state/past_transcript.js";
import { useStore } from "../state/store.js";
import { Bytes } from "./bytes.js";
import { UsageTable } from "./usage.js";

export type InspectorTab = "bytes" | "usage";

interface Props {
  readonly client: Client;
  /** The lines to be shown. */
  readonly lines: LineStart;
  readonly replay: PastTranscript;
  readonly tab: InspectorTab;
  readonly onTab: (tab: InspectorTab) => void;
  readonly onEntry: (entry: number) => void;
  readonly onClose: () => void;
}

const TABS: readonly (readonly [InspectorTab, string])[] = [
  ["bytes", "Bytes"],
  ["usage", "Usage"],
];

/** What a session consists of, beside its transcript. */
export function Inspector({ client, lines, replay, tab, onTab, onEntry, onClose }: Props): JSX.Element {
  const bytes = useMemo(() => new BytesStore(client, replay.session), [client, replay]);
  useEffect(() => () => bytes.close(), [bytes]);
  useEffect(() => void bytes.show(lines), [bytes, lines]);
  useStore(replay);
  const lineCount = replay.timeline?.lines ?? 0;
  useEffect(() => {
    if (bytes.count > 0) bytes.grown();
  }, [bytes, lineCount]);
  return (
    <aside class="inspector" aria-label={tab === "bytes" ? "Bytes" : "Usage"}>
      <header>
        <div class="tabs" role="group" aria-label="What is shown">
          {TABS.map(([name, label]) => (
            <button key={name} class="ghost" aria-pressed={tab === name} onClick={() => onTab(name)}>
              {label}
            </button>
          ))}
        </div>
        <button class="ghost" onClick={onClose}>
          Close
        </button>
      </header>
      {tab === "bytes" ? (
        <Bytes store={bytes} onEntry={onEntry} onMoment={(line) => replay.show({ line })} />
      ) : (
        <UsageTable store={replay} onEntry={onEntry} />
      )}
    </aside>
  );
}
