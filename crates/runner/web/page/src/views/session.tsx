import { entryBytes, type Client, type Entry, type Status } from "@bowline/client";
import type { JSX, RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { List } from "../list/list.js";
import { BytesStore } from "../state/bytes.js";
import { SessionStore } from "../state/session.js";
import { useStore } from "../state/store.js";
import { cost, count, plain, shortPath } from "../text/format.js";
import { Bytes } from "./bytes.js";
import { EntryView } from "./entry.js";
import { Icon, type IconName } from "./icon.js";
import { PermissionCard } from "./permission.js";
import { PromptBox } from "./prompt_box.js";

interface Props {
  readonly id: string;
  /** What the list calls it. */
  readonly name: string | null;
  readonly client: Client;
  readonly onClose: () => void;
}

/** Follows one session while it is shown. */
export function SessionView({ id, name, client, onClose }: Props): JSX.Element {
  const store = useMemo(() => new SessionStore(id, client), [id, client]);
  useEffect(() => {
    void store.follow();
    return () => store.close();
  }, [store]);
  useStore(store);
  const { transcript, connection } = store;
  const list = useRef<List>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const bytes = useMemo(() => new BytesStore(client, id), [client, id]);
  const [hasBytes, showBytes] = useState(false);
  useEffect(() => () => bytes.close(), [bytes]);
  const onBytes = (entry: Entry) => {
    const range = entryBytes(entry);
    if (!range) return;
    showBytes(true);
    void bytes.select(range);
  };
  const open = transcript.permissions().filter(({ state }) => state === "open");
  return (
    <>
    <main id="main" tabIndex={-1}>
      <Head store={store} name={name} onClose={onClose} />
      {connection.state === "reconnecting" && (
        <p class="banner" role="status">
          The runner does not answer; trying again. What is shown may be old.
        </p>
      )}
      {connection.state === "failed" && (
        <p class="banner bad" role="alert">
          {plain(connection.error.message)}
        </p>
      )}
      <div class="stage">
        <Thread store={store} list={list} onEnd={setAtEnd} onBytes={onBytes} />
        {!isAtEnd && (
          <button class="to-end" onClick={() => list.current?.showEnd()}>
            Go to the end
          </button>
        )}
      </div>
      <div class="dock">
        <div class="asks" aria-live="polite">
          {open.map((request) => (
            <PermissionCard key={request.request_id} request={request} session={id} client={client} transcript={transcript} />
          ))}
        </div>
        <PromptBox key={id} session={id} client={client} status={transcript.status} queue={transcript.session?.queue ?? []} />
      </div>
    </main>
    {hasBytes && <Bytes store={bytes} onClose={() => showBytes(false)} />}
    </>
  );
}

interface ThreadProps {
  readonly store: SessionStore;
  readonly list: RefObject<List | null>;
  readonly onEnd: (isAtEnd: boolean) => void;
  /** Called with an entry whose bytes are to be shown. */
  readonly onBytes: (entry: Entry) => void;
}

function Thread({ store, list, onEnd, onBytes }: ThreadProps): JSX.Element {
  const { transcript } = store;
  const numbers = transcript.entryNumbers();
  if (numbers.length === 0) {
    const isWaiting = store.connection.state !== "connected" || transcript.status === null;
    return <p class="empty">{isWaiting ? "" : "Nothing was said yet."}</p>;
  }
  const row = (index: number) => {
    const entry = transcript.entry(numbers[index]!)!;
    return (
      <article class={`e ${entry.value.kind}`}>
        <Offset entry={entry} onBytes={onBytes} />
        <div class="body">
          <EntryView entry={entry} transcript={transcript} depth={0} />
        </div>
      </article>
    );
  };
  return (
    <List
      handle={list}
      class="thread"
      label="Transcript"
      count={numbers.length}
      estimate={56}
      row={row}
      rowKey={(index) => numbers[index]!}
      follows
      onEnd={onEnd}
    />
  );
}

function Offset({ entry, onBytes }: { readonly entry: Entry } & Pick<ThreadProps, "onBytes">): JSX.Element {
  const bytes = entryBytes(entry);
  // A prompt is in the input, and has no bytes of the output.
  if (!bytes || bytes[0] === bytes[1]) return <span class="offset" />;
  return (
    <button class="offset" aria-label={`${count(bytes[0])} to ${count(bytes[1])}: show these bytes`} onClick={() => onBytes(entry)}>
      {count(bytes[0])}
    </button>
  );
}

const PHASES: Record<string, readonly [IconName, string]> = {
  starting: ["run", "starting"],
  idle: ["idle", "idle"],
  running: ["run", "working"],
  awaiting_permission: ["ask", "waits for you"],
  ended: ["ok", "ended"],
  lost: ["bad", "lost"],
};

function Head({ store, name, onClose }: Pick<Props, "name" | "onClose"> & { readonly store: SessionStore }): JSX.Element {
  const { session, status, usage } = store.transcript;
  const title = session?.title ?? name ?? "Session";
  const context = session?.context;
  return (
    <header class="top">
      <button class="back" aria-label="All sessions" onClick={onClose}>
        <Icon name="back" />
      </button>
      <div class="about">
        <h1>{plain(title)}</h1>
        <p>
          {status && <PhaseText status={status} />}
          {session?.model && <span>{plain(session.model)}</span>}
          {session?.cwd && <span>{plain(shortPath(session.cwd))}</span>}
        </p>
      </div>
      <dl>
        {context?.used != null && (
          <div>
            <dt>context</dt>
            <dd>{context.size ? `${Math.round((100 * context.used) / context.size)} %` : count(context.used)}</dd>
          </div>
        )}
        {usage && usage.cost_usd > 0 && (
          <div>
            <dt>cost</dt>
            <dd>{cost(usage.cost_usd)}</dd>
          </div>
        )}
      </dl>
      <Actions store={store} status={status} />
    </header>
  );
}

function PhaseText({ status }: { readonly status: Status }): JSX.Element {
  const [icon, text] = PHASES[status.phase] ?? ["notice", status.phase];
  return (
    <span class={`phase ${status.phase}`}>
      <Icon name={icon} />
      {plain(status.reason || text)}
    </span>
  );
}

function Actions({ store, status }: { readonly store: SessionStore; readonly status: Status | null }): JSX.Element | null {
  const [error, setError] = useState<string | null>(null);
  if (!status || status.phase === "ended" || status.phase === "lost") return null;
  const isBusy = status.phase === "running" || status.phase === "awaiting_permission";
  const run = (action: Promise<void>) => {
    setError(null);
    action.catch((cause: unknown) => setError(cause instanceof Error ? cause.message : String(cause)));
  };
  return (
    <div class="acts">
      {error && (
        <span class="bad" role="alert">
          {plain(error)}
        </span>
      )}
      {isBusy && (
        <button class="ghost" onClick={() => run(store.client.interrupt(store.id))}>
          Interrupt
        </button>
      )}
      <button class="ghost" onClick={() => run(store.client.end(store.id))}>
        End
      </button>
    </div>
  );
}
