import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { List } from "../list/list.js";
import type { BytesStore } from "../state/bytes.js";
import { useStore } from "../state/store.js";
import { count, line as oneLine } from "../text/format.js";
import { describe, pretty, type LogLine } from "../text/lines.js";
import { Output } from "./output.js";

/** The lines that the agent wrote, beside the entry that they became. */
export function Bytes({ store, onClose }: { readonly store: BytesStore; readonly onClose: () => void }): JSX.Element {
  useStore(store);
  const { lines, selected, gap, end } = store;
  const list = useRef<List>(null);
  const [shown, show] = useState<number | null>(null);
  const isSelected = (line: LogLine) => selected !== null && line.from < selected[1] && line.to > selected[0];
  const first = lines.findIndex(isSelected);
  useEffect(() => {
    if (first < 0) return;
    show(lines[first]!.from);
    list.current?.show(first);
  }, [lines, selected]);
  const line = lines.find(({ from }) => from === shown);
  return (
    <aside aria-label="Bytes">
      <header>
        <h2>Bytes</h2>
        <span class="why">{count(end)} in all</span>
        <button class="ghost" onClick={onClose}>
          Close
        </button>
      </header>
      {store.error && (
        <p class="bad" role="alert">
          {store.error.message}
        </p>
      )}
      {gap && (
        <p class="gap" role="status">
          Bytes {count(gap[0])} to {count(gap[1])} are lost.
        </p>
      )}
      <div class="pages">
        <button class="ghost" disabled={(lines[0]?.from ?? 0) === 0} onClick={() => void store.readEarlier()}>
          Earlier
        </button>
        <button class="ghost" disabled={(lines.at(-1)?.to ?? end) >= end - 1} onClick={() => void store.readLater()}>
          Later
        </button>
      </div>
      <List
        handle={list}
        class="lines"
        label="Lines of the agent's output"
        count={lines.length}
        estimate={24}
        rowKey={(index) => lines[index]!.from}
        row={(index) => {
          const it = lines[index]!;
          return <Line line={it} isSelected={isSelected(it)} isShown={it.from === shown} onShow={() => show(it.from)} />;
        }}
      />
      <section class="detail" aria-label="The line as JSON">{line && <Detail line={line} />}</section>
    </aside>
  );
}

interface LineProps {
  readonly line: LogLine;
  readonly isSelected: boolean;
  readonly isShown: boolean;
  readonly onShow: () => void;
}

function Line({ line, isSelected, isShown, onShow }: LineProps): JSX.Element {
  const { kind, about } = useMemo(() => describe(line.text), [line]);
  return (
    <button class={`line ${isSelected ? "selected" : ""}`} aria-pressed={isShown} onClick={onShow}>
      <span class="at">{count(line.from)}</span>
      <span class="kind">{oneLine(kind)}</span>
      <span class="about">{oneLine(about)}</span>
      <span class="size">{count(line.to - line.from)}</span>
    </button>
  );
}

function Detail({ line }: { readonly line: LogLine }): JSX.Element {
  const text = useMemo(() => pretty(line.text), [line]);
  return (
    <>
      <p class="why">
        {count(line.from)} to {count(line.to)}
        {line.isCut && ", not read as a whole"}
      </p>
      <Output text={text} label={`Line at ${line.from} as JSON`} />
    </>
  );
}
