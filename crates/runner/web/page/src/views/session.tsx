import { RunnerError, entryBytes, type Client, type Entry, type LineStart, type SearchHit, type Transcript } from "@bowline/client";
import type { JSX, RefObject } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { List } from "../list/list.js";
import { AnswersElsewhere } from "../state/answers.js";
import { useCommands } from "../state/commands.js";
import { FilteredEntries, type Kind } from "../state/filter.js";
import type { EntrySource, PagedTranscript } from "../state/paged.js";
import { PastTranscript } from "../state/past_transcript.js";
import { SessionStore } from "../state/session.js";
import type { ListedSession, SessionThen } from "../state/sessions.js";
import { useStore } from "../state/store.js";
import { count, plain } from "../text/format.js";
import { ActionsContext } from "./actions.js";
import { EntryView } from "./entry.js";
import { Head } from "./head.js";
import { LogContext } from "./images.js";
import type { InspectorTab } from "./inspector.js";
import { loadMore, useMore } from "./lazy.js";
import { PermissionCard } from "./permission.js";
import { Plan } from "./plan.js";
import { PromptBox } from "./prompt_box.js";
import { saveFile } from "./save.js";
import { Toolbar } from "./toolbar.js";
import { walkElements, walkRows } from "./walk.js";

interface Props {
  readonly id: string;
  /** What the list says of it. */
  readonly listed: ListedSession | null;
  /** The entry that the address names. */
  readonly entry: number | null;
  readonly client: Client;
  readonly onClose: () => void;
}

/** Follows one session while it is shown. */
export function SessionView({ id, listed, entry, client, onClose }: Props): JSX.Element {
  const store = useMemo(() => new SessionStore(id, client), [id, client]);
  const actions = useContext(ActionsContext)!;
  const answers = useMemo(() => new AnswersElsewhere((text) => actions.say(text)), [id, actions]);
  useEffect(() => {
    void store.follow();
    return () => store.close();
  }, [store]);
  const replay = useMemo(() => new PastTranscript(client, id), [client, id]);
  useEffect(() => {
    const isNew = () => (store.touched.threads.size > 0 || store.touched.calls.size > 0 || store.touched.session) && replay.refresh();
    const end = store.subscribe(isNew);
    return () => {
      end();
      replay.close();
    };
  }, [store, replay]);
  useStore(store, replay);
  useEffect(() => actions.sessions.setThen(replay.past && thenOf(id, replay.past.transcript)), [actions, replay.past]);
  useEffect(() => () => actions.sessions.setThen(null), [actions, id]);
  const { transcript, connection } = store;
  const list = useRef<List>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const [tab, setTab] = useState<InspectorTab | null>(null);
  const more = useMore(tab !== null || replay.timeline !== null);
  const [lines, setLines] = useState<LineStart>({ from: 0 });
  const [kind, setKind] = useState<Kind>("all");
  const [thread, setThread] = useState<string | null>(null);
  const [marked, mark] = useState<number | null>(entry);
  const filter = useMemo(() => new FilteredEntries(), [store]);
  const numbers = filter.read(transcript, thread, kind, store.touched);
  const isWhole = kind === "all" && thread === null;
  const source: EntrySource = replay.past ?? (isWhole && store.paged ? store.paged : new Listed(transcript, numbers));
  const onBytes = (entry: Entry) => {
    setTab("bytes");
    setLines({ entry: entry.number });
  };
  const show = (number: number) => {
    setKind("all");
    setThread(null);
    mark(number);
  };
  useShown(list, source, marked);
  useEffect(() => {
    if (entry !== null) show(entry);
  }, [entry]);
  const onHit = ({ main_entry, bytes: range }: SearchHit) => {
    if (main_entry !== null) show(main_entry);
    if (main_entry === null && range) {
      setTab("bytes");
      setLines({ offset: range[0] });
    }
  };
  const title = listed?.title ?? transcript.session?.title ?? "Session";
  const onExport = (form: "copy" | "markdown" | "html") =>
    void actions.run(async () => {
      const { exportHtml, exportMarkdown } = await loadMore();
      if (form === "html") saveFile(exportHtml(transcript, title), `${title}.html`, "text/html");
      else if (form === "markdown") saveFile(exportMarkdown(transcript, title), `${title}.md`, "text/markdown");
      else {
        await navigator.clipboard.writeText(exportMarkdown(transcript, title));
        actions.say("copied as Markdown");
      }
    });
  const permissions = transcript.permissions();
  const open = permissions.filter(({ state }) => state === "open");
  useEffect(() => answers.read(permissions), [store.touched]);
  useCommands(() => {
    const walk = (step: 1 | -1) => {
      if (document.activeElement?.closest("nav")) return walkElements("nav.sessions li a", step);
      const scroller = document.querySelector<HTMLElement>(".thread");
      walkRows(list, scroller, Number(scroller?.dataset["count"] ?? 0), step);
    };
    const focus = (selector: string) => document.querySelector<HTMLElement>(selector)?.focus();
    return [
      { title: "Next entry", key: "j", isHidden: true, run: () => walk(1) },
      { title: "Previous entry", key: "k", isHidden: true, run: () => walk(-1) },
      { title: "Go to the open request", key: "r", run: () => focus(".card") },
      { title: "Search the session", key: "f", run: () => focus(".search input") },
      { title: "Go to the end", key: "G", run: () => list.current?.showEnd() },
      { title: "Write a prompt", key: "i", run: () => focus(".say textarea") },
      { title: "Copy the session as Markdown", run: () => onExport("copy") },
      { title: "Save the session as Markdown", run: () => onExport("markdown") },
      { title: "Save the session as HTML", run: () => onExport("html") },
      { title: "Interrupt", run: () => void actions.run(() => client.interrupt(id)) },
    ];
  }, [store, title]);
  const log = useMemo(() => ({ client, session: id }), [client, id]);
  return (
    <LogContext.Provider value={log}>
      <main id="main" tabIndex={-1} class="session">
        <Head store={store} transcript={source.transcript} listed={listed} onClose={onClose} onExport={onExport} onInspect={() => setTab(tab === null ? "bytes" : null)} />
        {more && <more.TimelineStrip store={replay} onEntry={show} />}
        {store.isLost && (
          <p class="banner" role="status">
            The runner does not answer; trying again. What is shown may be old.
          </p>
        )}
        {listed?.isRecording && transcript.stats?.truncated && (
          <p class="banner" role="status">
            This recording is cut within its last line. All before it is shown; copy the file again if there is more of it.
          </p>
        )}
        {connection.state === "failed" && (
          <p class="banner bad" role="alert">
            {failureText(connection.error)}
          </p>
        )}
        <Toolbar session={id} client={client} transcript={transcript} kind={kind} onKind={setKind} thread={thread} onThread={setThread} onHit={onHit} />
        <div class="stage">
          <Thread
            key={replay.past ? "past" : "present"}
            store={store}
            list={list}
            source={source}
            kind={replay.past ? "all" : kind}
            marked={marked}
            onEnd={setAtEnd}
            onBytes={onBytes}
          />
          {!isAtEnd && (
            <button class="to-end" onClick={() => list.current?.showEnd()}>
              Go to the end
            </button>
          )}
        </div>
        {replay.past && <Past source={replay.past} onNow={() => replay.show(null)} />}
        {!replay.past && !listed?.isRecording && <div class="dock">
          <Plan transcript={transcript} onStop={(task) => void actions.run(() => client.interrupt(id, { task }))} />
          <div class="asks" aria-live="polite">
            {open.map((request) => (
              <PermissionCard
                key={request.request_id}
                request={request}
                session={id}
                client={client}
                transcript={transcript}
                onAnswer={() => answers.own(request.request_id)}
                onRefused={(error) => answers.refused(request, error)}
              />
            ))}
          </div>
          <PromptBox
            key={id}
            session={id}
            client={client}
            status={transcript.status}
            fields={transcript.session}
            onResume={listed && (() => void actions.resume(listed, false))}
          />
        </div>}
      </main>
      {tab !== null && more && <more.Inspector client={client} lines={lines} replay={replay} tab={tab} onTab={setTab} onEntry={show} onClose={() => setTab(null)} />}
    </LogContext.Provider>
  );
}

/** Returns why a session cannot be shown, and the next step. */
function failureText(error: Error): string {
  const isGone = error instanceof RunnerError && error.code === "SESSION_NOT_FOUND";
  return isGone ? "The session is not there any more; choose another one, or start one with New." : plain(error.message);
}

/** Returns what the list shows of a session at an earlier moment. */
function thenOf(id: string, { status, session, usage }: Transcript): SessionThen {
  const context = session?.context;
  return {
    id,
    phase: status?.phase ?? "starting",
    reason: status?.reason || null,
    costUsd: usage?.cost_usd ?? null,
    contextShare: context?.used != null && context.size ? context.used / context.size : null,
  };
}

/** The entries of a transcript that a filter shows. */
class Listed implements EntrySource {
  constructor(
    readonly transcript: Transcript,
    readonly numbers: readonly number[],
  ) {}

  get count(): number {
    return this.numbers.length;
  }

  numberAt(index: number): number | undefined {
    return this.numbers[index];
  }

  want(): void {}

  async find(entry: number): Promise<number> {
    return this.numbers.indexOf(entry);
  }
}

/** What stands in the place of the prompt at an earlier moment. */
function Past({ source, onNow }: { readonly source: PagedTranscript; readonly onNow: () => void }): JSX.Element {
  const status = source.transcript.status;
  return (
    <div class="dock past" role="status">
      <p>
        As it was at line {count(source.part?.line ?? 0)}: {plain(status?.reason || status?.phase || "")}
        <button class="ghost" onClick={onNow}>
          Back to the end
        </button>
      </p>
    </div>
  );
}

/** Scrolls to the entry that the address, a search or the inspector names, once it is there. */
function useShown(list: RefObject<List | null>, source: EntrySource, marked: number | null): void {
  const shown = useRef<number | null>(null);
  useEffect(() => {
    if (marked === null || marked === shown.current || source.count === 0) return;
    void source.find(marked).then((at) => {
      if (at < 0 || marked === shown.current) return;
      shown.current = marked;
      list.current?.show(at);
    });
  }, [marked, source]);
}

interface ThreadProps {
  readonly store: SessionStore;
  readonly list: RefObject<List | null>;
  readonly source: EntrySource;
  readonly kind: Kind;
  /** The entry that the address or a search names. */
  readonly marked: number | null;
  readonly onEnd: (isAtEnd: boolean) => void;
  /** Called with an entry whose bytes are to be shown. */
  readonly onBytes: (entry: Entry) => void;
}

function Thread({ store, list, source, kind, marked, onEnd, onBytes }: ThreadProps): JSX.Element {
  const { transcript } = source;
  if (source.count === 0) {
    const isWaiting = store.connection.state !== "connected" || transcript.status === null;
    return <p class="empty">{isWaiting ? "" : kind === "all" ? "Nothing was said yet." : "Nothing of this kind."}</p>;
  }
  const row = (index: number) => {
    const number = source.numberAt(index);
    const entry = number === undefined ? undefined : transcript.entry(number);
    if (!entry) {
      source.want(index);
      return <article class="e" aria-busy data-row={index} />;
    }
    return (
      <article class={`e ${entry.number === marked ? "marked" : ""}`} tabIndex={-1} data-row={index} aria-label={`Entry ${index + 1}`}>
        <Offset session={store.id} entry={entry} onBytes={onBytes} />
        <div class="body">
          <EntryView entry={entry} transcript={transcript} depth={0} kind={kind} />
        </div>
        <EntryActions store={store} transcript={transcript} entry={entry} />
      </article>
    );
  };
  return (
    <List
      handle={list}
      class="thread"
      label="Transcript"
      count={source.count}
      estimate={56}
      row={row}
      rowKey={(index) => source.numberAt(index) ?? `unread ${index}`}
      follows
      onEnd={onEnd}
    />
  );
}

function Offset({ entry, onBytes }: { readonly session: string; readonly entry: Entry } & Pick<ThreadProps, "onBytes">): JSX.Element {
  const bytes = entryBytes(entry);
  // A prompt is in the input, and has no bytes of the output.
  if (!bytes || bytes[0] === bytes[1]) return <span class="offset" />;
  return (
    <button class="offset" aria-label={`${count(bytes[0])} to ${count(bytes[1])}: show these bytes`} onClick={() => onBytes(entry)}>
      {count(bytes[0])}
    </button>
  );
}

function EntryActions({ store, transcript, entry }: { readonly store: SessionStore; readonly transcript: Transcript; readonly entry: Entry }): JSX.Element {
  const actions = useContext(ActionsContext)!;
  const copy = (text: () => Promise<string>, done: string) =>
    void actions.run(async () => {
      await navigator.clipboard.writeText(await text());
      actions.say(done);
    });
  const link = async () => `${location.origin}/#/${store.id}/${entry.number}`;
  const markdown = async () => (await loadMore()).exportMarkdown(transcript, "", [entry]);
  return (
    <div class="entry-acts">
      <button class="ghost" onClick={() => copy(markdown, "copied as Markdown")}>
        Copy
      </button>
      <button class="ghost" onClick={() => copy(link, "copied a link to this entry")}>
        Link
      </button>
    </div>
  );
}
