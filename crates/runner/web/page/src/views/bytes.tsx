import type { CheckedMembers, LineItem } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { List } from "../list/list.js";
import type { BytesStore, ShownRow } from "../state/bytes.js";
import { useStore } from "../state/store.js";
import { count, line as oneLine, plain } from "../text/format.js";
import { pretty, raw, shortKind } from "../text/lines.js";
import { readCount } from "../text/moments.js";
import { saveBytes } from "./save.js";
import { Output } from "./output.js";

interface Props {
  readonly store: BytesStore;
  /** Called with the number of the entry of the main thread that a line became a part of. */
  readonly onEntry: (entry: number) => void;
  /** Called with a line of output at which the session is to be shown. */
  readonly onMoment: (line: number) => void;
}

/** The lines of a session, of all its streams, with what each became. */
export function Bytes({ store, onEntry, onMoment }: Props): JSX.Element {
  useStore(store);
  const list = useRef<List>(null);
  const { target, shown, entry } = store;
  useEffect(() => {
    if (target) list.current?.show(target.row);
  }, [target]);
  return (
    <>
      <Tools store={store} />
      {store.error && (
        <p class="bad" role="alert">
          {plain(store.error.message)}
        </p>
      )}
      {store.hits ? (
        <Hits store={store} />
      ) : (
        <List
          handle={list}
          class="lines"
          label="Lines of the session"
          count={store.count}
          estimate={24}
          margin={48}
          rowKey={(index) => index}
          row={(index) => {
            const item = store.row(index);
            if (!item) return <div class="line" aria-busy />;
            const isMarked = entry !== null && item.became.some((it) => it.main_entry === entry);
            return <Row item={item} isMarked={isMarked} isShown={shown?.index === index} onShow={() => void store.select(index)} />;
          }}
        />
      )}
      <section class="detail" aria-label="The line">
        {shown && <Detail key={shown.index} shown={shown} store={store} onEntry={onEntry} onMoment={onMoment} />}
      </section>
    </>
  );
}

function Tools({ store }: { readonly store: BytesStore }): JSX.Element {
  const [isChoosing, choose] = useState(false);
  return (
    <div class="byte-tools">
      <input
        type="search"
        aria-label="Search the bytes"
        placeholder="Search bytes"
        onChange={(event) => void store.search(event.currentTarget.value)}
        onInput={(event) => event.currentTarget.value === "" && void store.search("")}
      />
      <label>
        <input type="checkbox" checked={store.isFolded} onChange={(event) => void store.setFolded(event.currentTarget.checked)} />
        fold deltas
      </label>
      <span class="why">{count(store.lines)} lines</span>
      <button class="ghost" aria-expanded={isChoosing} onClick={() => choose(!isChoosing)}>
        Range…
      </button>
      {isChoosing && <RangeForm store={store} onDone={() => choose(false)} />}
    </div>
  );
}

const RANGE_STREAMS = ["output", "input", "stderr"] as const;

/** Downloads any bytes of a stream. */
function RangeForm({ store, onDone }: { readonly store: BytesStore; readonly onDone: () => void }): JSX.Element {
  const [stream, setStream] = useState<(typeof RANGE_STREAMS)[number]>("output");
  const [error, setError] = useState<string | null>(null);
  const from = useRef<HTMLInputElement>(null);
  const to = useRef<HTMLInputElement>(null);
  const save = async (event: Event) => {
    event.preventDefault();
    const [first, end] = [offset(from.current!.value, 0), offset(to.current!.value, Infinity)];
    if (first === null || end === null || end <= first) return setError("Write two offsets, the smaller one first.");
    try {
      const parts = await store.read(stream, first, end);
      if (parts.length === 0) return setError(`There are no bytes from ${count(first)} on.`);
      const length = parts.reduce((sum, part) => sum + part.length, 0);
      saveBytes(`${stream}-${first}-${Number.isFinite(end) ? end : first + length}.jsonl`, parts);
      onDone();
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  return (
    <form class="range" aria-label="Download a range" onSubmit={(event) => void save(event)}>
      <select aria-label="Stream" value={stream} onChange={(event) => setStream(event.currentTarget.value as typeof stream)}>
        {RANGE_STREAMS.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <input ref={from} aria-label="First byte" inputMode="numeric" placeholder="0" />
      <span aria-hidden>–</span>
      <input ref={to} aria-label="End" inputMode="numeric" placeholder="end" />
      <button class="ghost">Download</button>
      {error && (
        <span class="bad" role="alert">
          {plain(error)}
        </span>
      )}
    </form>
  );
}

/** Reads an offset, which may be left out; `null` if it is none. */
function offset(text: string, absent: number): number | null {
  return text.trim() === "" ? absent : readCount(text);
}

function Hits({ store }: { readonly store: BytesStore }): JSX.Element {
  const hits = store.hits ?? [];
  const go = (at: number) => {
    void store.search("");
    void store.show({ offset: at });
  };
  return (
    <div class="hits" role="region" aria-label="What was found" tabIndex={0}>
      <p class="why" role="status">
        {hits.length === 0 ? "Not found" : hits.length >= 100 ? "The first 100 lines with it" : `${hits.length} lines with it`}
      </p>
      {hits.map((hit) => (
        <button key={hit.bytes![0]} class="line" onClick={() => go(hit.bytes![0])}>
          <span class="at">{count(hit.bytes![0])}</span>
          <span class="about">
            {oneLine(hit.before)}
            <mark>{oneLine(hit.found)}</mark>
            {oneLine(hit.after)}
          </span>
        </button>
      ))}
    </div>
  );
}

const STREAM_SIGNS: Record<LineItem["stream"], string> = { output: "", input: "›", stderr: "!", gap: "∅" };

interface RowProps {
  readonly item: LineItem;
  readonly isMarked: boolean;
  readonly isShown: boolean;
  readonly onShow: () => void;
}

function Row({ item, isMarked, isShown, onShow }: RowProps): JSX.Element {
  const { stream, number, lines, bytes, note } = item;
  const numbers = lines > 1 ? `${number}–${number + lines - 1}` : stream === "gap" ? "" : count(number);
  return (
    <button class={`line ${stream} ${note ?? ""} ${isMarked ? "selected" : ""}`} aria-pressed={isShown} onClick={onShow}>
      <span class="number">
        {STREAM_SIGNS[stream]}
        {numbers}
      </span>
      <span class="at">{count(bytes[0])}</span>
      <span class="when">{item.at_ms !== null && clock(item.at_ms).slice(3)}</span>
      <span class="kind">
        {oneLine(shortKind(item.kind))}
        {lines > 1 && <span class="why"> ×{lines}</span>}
      </span>
      <span class="about">{oneLine(item.error ?? item.about ?? "")}</span>
      <span class="size">{count(bytes[1] - bytes[0])}</span>
    </button>
  );
}

const STREAM_NAMES: Record<LineItem["stream"], string> = {
  output: "Line",
  input: "Input line",
  stderr: "Standard error, line",
  gap: "Lost bytes",
};

interface DetailProps extends Pick<Props, "store" | "onEntry" | "onMoment"> {
  readonly shown: ShownRow;
}

function Detail({ shown, store, onEntry, onMoment }: DetailProps): JSX.Element {
  const { item, text, isCut, members } = shown;
  const unknown = members?.lines ?? [];
  const [isRaw, setRaw] = useState(false);
  const [from, to] = item.bytes;
  const body = useMemo(() => (isRaw || item.stream === "stderr" ? raw(text ?? "", unknown, from) : pretty(text ?? "", unknown, from)), [text, isRaw]);
  const name = `${item.stream === "output" ? "output" : item.stream}-${from}-${to}.jsonl`;
  const download = async () => saveBytes(name, await store.read(item.stream, from, to));
  return (
    <>
      <h3>
        {STREAM_NAMES[item.stream]} {item.stream !== "gap" && count(item.number)}
        <span class="why">
          {count(from)}–{count(to)}
        </span>
        {item.at_ms !== null && <time dateTime={new Date(item.at_ms).toISOString()}>{clock(item.at_ms)}</time>}
      </h3>
      <p class="became">
        <Became item={item} onEntry={onEntry} />
      </p>
      {item.stream !== "gap" && (
        <div class="pages">
          <button class="ghost" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            Raw
          </button>
          {item.stream === "output" && (
            <button class="ghost" onClick={() => onMoment(item.number + item.lines - 1)}>
              Show this moment
            </button>
          )}
          <button class="ghost" onClick={() => void download()}>
            Download
          </button>
        </div>
      )}
      {isCut && <p class="why">The beginning is shown; download it to see the rest.</p>}
      {members && <Members members={members} isInput={item.stream === "input"} />}
      <Output {...body} label={`${STREAM_NAMES[item.stream]} ${item.number}`} />
    </>
  );
}

/** Names that are listed. */
const MAX_NAMES = 8;

/** Which members of the lines the runner does not read, or why that is not known. */
function Members({ members, isInput }: { readonly members: CheckedMembers; readonly isInput: boolean }): JSX.Element | null {
  const { is_checked: isChecked, kept_whole: whole, lines } = members;
  const pointers = [...new Set(lines.flatMap(({ members }) => members))];
  const rest = pointers.length - MAX_NAMES;
  return (
    <>
      {!isChecked && <p class="unknown">{isInput ? "Members of what was written to this agent are not checked." : "Members are not checked in this protocol."}</p>}
      {whole > 0 && <p class="unknown">{whole === 1 ? "A line is" : `${count(whole)} lines are`} kept as a whole: members are not checked in messages of this type.</p>}
      {pointers.length > 0 && (
        <p class="unknown">
          Not read by this version:{" "}
          {pointers.slice(0, MAX_NAMES).map((pointer, at) => (
            <>
              {at > 0 && ", "}
              <code>{oneLine(pointer.slice(1))}</code>
            </>
          ))}
          {rest > 0 && ` and ${count(rest)} more`}
        </p>
      )}
    </>
  );
}

function clock(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23);
}

const TARGETS: Record<string, string> = {
  entry: "a part of the transcript",
  tool_call: "a part of a tool call",
  permission: "a permission request",
  task: "a background task",
  session: "information on the session",
  status: "the session's status",
  usage: "the session's usage",
};

/** What the line became, or why nothing. */
function Became({ item, onEntry }: Pick<RowProps, "item"> & Pick<Props, "onEntry">): JSX.Element {
  const { became, note } = item;
  const places = [...new Set(became.map((it) => it.main_entry))].filter((it) => it !== null);
  const texts = [...new Set(became.map(({ type }) => TARGETS[type] ?? type))];
  return (
    <>
      {note === "unknown" && <span class="ask">a type that this version does not know; </span>}
      {item.error !== null && <span class="bad">{plain(item.error)}; </span>}
      {texts.length > 0 ? `became ${texts.join(", ")}` : whyNothing(item)}
      {places.map((entry) => (
        <button key={entry} class="link" onClick={() => onEntry(entry)}>
          show it
        </button>
      ))}
    </>
  );
}

function whyNothing({ stream, note, kind }: LineItem): string {
  if (stream === "gap") return "lost: these bytes were not kept, or cannot be read";
  if (stream === "stderr") return "standard error is no part of the transcript";
  if (note === "duplicate") return "left out: the line was there before";
  if (stream === "input") return "the agent has read it; what it answers is in its own lines";
  return `became nothing: ${shortKind(kind)} changes nothing that is shown`;
}
