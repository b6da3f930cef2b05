import type { Client, SearchHit, Transcript } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { KINDS, type Kind } from "../state/filter.js";
import { line } from "../text/format.js";

/** Pause in writing after which it is searched, in milliseconds. */
const PAUSE_MS = 150;

interface Props {
  readonly session: string;
  readonly client: Client;
  readonly transcript: Transcript;
  readonly kind: Kind;
  readonly onKind: (kind: Kind) => void;
  readonly thread: string | null;
  readonly onThread: (thread: string | null) => void;
  readonly onHit: (hit: SearchHit) => void;
}

/** Filters of a transcript, and its search. */
export function Toolbar(props: Props): JSX.Element {
  const { transcript, kind, onKind, thread, onThread } = props;
  const threads = transcript.calls().filter(({ value }) => value.subagent !== null);
  return (
    <div class="tools">
      <div class="kinds" role="group" aria-label="Show">
        {KINDS.map(([name, label]) => (
          <button key={name} aria-pressed={name === kind} onClick={() => onKind(name)}>
            {label}
          </button>
        ))}
      </div>
      {threads.length > 0 && (
        <select class="option" aria-label="Agent" value={thread ?? ""} onChange={(event) => onThread(event.currentTarget.value || null)}>
          <option value="">Main agent</option>
          {threads.map(({ value }) => (
            <option key={value.id} value={value.id}>
              {line(value.title ?? value.subagent?.title ?? value.name)}
            </option>
          ))}
        </select>
      )}
      <Search {...props} />
    </div>
  );
}

function Search({ session, client, onHit }: Props): JSX.Element {
  const [text, setText] = useState("");
  const [inBytes, setInBytes] = useState(false);
  const [found, setFound] = useState<{ readonly hits: readonly SearchHit[]; readonly next: string | null } | null>(null);
  const [at, setAt] = useState(-1);
  const [error, setError] = useState<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const where = inBytes ? "text,tools,bytes" : "text,tools";
  useEffect(() => {
    setAt(-1);
    setError(null);
    if (text === "") return setFound(null);
    const abort = new AbortController();
    const fail = (cause: unknown) => {
      if (!abort.signal.aborted) setError(cause instanceof Error ? cause.message : String(cause));
    };
    const timer = setTimeout(() => client.search(session, { q: text, in: where }, abort.signal).then(setFound, fail), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [session, text, where]);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [at]);
  const hits = found?.hits ?? [];
  const show = (index: number) => {
    const hit = hits[index];
    if (!hit) return;
    setAt(index);
    onHit(hit);
  };
  const more = () => {
    if (!found?.next) return;
    const next = client.search(session, { q: text, in: where, after: found.next });
    next.then((page) => setFound({ hits: [...found.hits, ...page.hits], next: page.next }), (cause: unknown) => setError(String(cause)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === "ArrowDown") show(event.shiftKey ? at - 1 : Math.min(at + 1, hits.length - 1));
    else if (event.key === "ArrowUp") show(Math.max(at - 1, 0));
    else if (event.key === "Escape") setText("");
    else return;
    event.preventDefault();
  };
  return (
    <div class="search" role="search">
      <input
        type="text"
        role="combobox"
        aria-label="Search text, tools and bytes"
        aria-expanded={text !== ""}
        aria-controls="hits"
        aria-activedescendant={at >= 0 ? `hit-${at}` : undefined}
        placeholder="Search"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <kbd aria-hidden>F</kbd>
      {text !== "" && (
        <div class="results">
          <p class="why" role="status">
            {error ?? (found === null ? "searching" : hits.length === 0 && !found.next ? "not found" : `${hits.length}${found.next ? " or more" : ""} found`)}
          </p>
          <ul ref={list} id="hits" role="listbox" aria-label="Places that were found">
            {hits.map((hit, index) => (
              <li key={index} id={`hit-${index}`} role="option" aria-selected={index === at} onClick={() => show(index)}>
                <span class="why">{hit.in}</span>
                <span class="text">
                  {line(hit.before)}
                  <mark>{line(hit.found)}</mark>
                  {line(hit.after)}
                </span>
              </li>
            ))}
          </ul>
          <footer>
            <label>
              <input type="checkbox" checked={inBytes} onChange={(event) => setInBytes(event.currentTarget.checked)} /> in the bytes too
            </label>
            {found?.next && (
              <button class="ghost" onClick={more}>
                More
              </button>
            )}
          </footer>
        </div>
      )}
    </div>
  );
}
