import type { PermissionRequest } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { groupOf, type Group, type ListedSession, type SessionThen, type SessionsStore } from "../state/sessions.js";
import { useStore } from "../state/store.js";
import { cost, duration, line, shortPath } from "../text/format.js";
import { QuickAnswer } from "./quick_answer.js";
import { Icon, type IconName } from "./icon.js";
import { useMore } from "./lazy.js";

const GROUPS: readonly [Group, string][] = [
  ["asks", "Needs you"],
  ["working", "Working"],
  ["idle", "Open"],
  ["ended", "Ended"],
  ["recordings", "Recordings"],
];

/** How often ages are shown anew, in milliseconds. */
const AGE_MS = 10_000;

interface Props {
  readonly store: SessionsStore;
  readonly current: string | null;
  /** What is shown of it. */
  readonly part: string | null;
}

/** The sessions of the runner, those that need the reader first. */
export function Sidebar({ store, current, part }: Props): JSX.Element {
  useStore(store);
  const more = useMore(store.isKnown);
  useEvery(AGE_MS);
  const [filter, setFilter] = useState("");
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = ({ title, cwd, agent }: ListedSession) => {
    const text = `${title} ${cwd ?? ""} ${agent ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const shown = store.sessions.filter(matches);
  return (
    <nav class="sessions" aria-label="Sessions">
      <header>
        <Knot />
        <strong>bowline</strong>
        <a class="new" href="#/new">
          New <kbd>N</kbd>
        </a>
      </header>
      <label class="find">
        <span class="vh">Filter sessions</span>
        <input type="search" placeholder="Filter sessions" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        <kbd aria-hidden>/</kbd>
      </label>
      {GROUPS.map(([group, name]) => {
        const sessions = shown.filter((session) => groupOf(session) === group);
        if (sessions.length === 0) return null;
        return (
          <section key={group} aria-labelledby={`group-${group}`}>
            <h2 id={`group-${group}`}>
              {name}
              <span>{sessions.length}</span>
            </h2>
            <ul>
              {sessions.map((session) => (
                <Item key={session.id} session={session} isCurrent={session.id === current} then={store.then?.id === session.id ? store.then : null} request={store.requests.find((it) => it.session === session.id)} />
              ))}
            </ul>
          </section>
        );
      })}
      {store.sessions.length === 0 && !store.error && (
        <p class="empty">
          No sessions. <a href="#/new">Start one</a>, or run <code>bowline run -d "…"</code>
        </p>
      )}
      {store.sessions.length > 0 && shown.length === 0 && <p class="empty">No session has these words.</p>}
      {more && <more.PastGroup store={store} filter={filter.trim()} chosen={current === "past" ? (part ?? "") : null} />}
      <footer>
        <span class={`dot ${store.connection.state}`} />
        <p role="status">{connectionText(store)}</p>
      </footer>
    </nav>
  );
}

function connectionText({ connection, error }: SessionsStore): string {
  switch (connection.state) {
    case "connected":
      return location.host;
    case "connecting":
      return "connecting";
    case "reconnecting":
      return "the runner does not answer; trying again";
    default:
      return error?.message ?? connection.error.message;
  }
}

interface ItemProps {
  readonly session: ListedSession;
  readonly isCurrent: boolean;
  /** What it was at the moment that is shown. */
  readonly then: SessionThen | null;
  readonly request: PermissionRequest | undefined;
}

function Item({ session: now, isCurrent, then, request }: ItemProps): JSX.Element {
  const session = then ? { ...now, ...then, isRecording: false } : now;
  // At an earlier moment, the session keeps its place in the list.
  const group = groupOf(session);
  const [icon, label] = iconOf(session, group);
  const isOver = group === "ended" || group === "recordings";
  const about = joined([session.cwd && shortPath(session.cwd), isOver ? null : session.reason, session.agent]);
  const share = session.contextShare === null ? null : `${Math.round(100 * session.contextShare)} %`;
  const used = joined([session.costUsd ? cost(session.costUsd) : null, share]);
  return (
    <li>
      <a href={`#/${session.id}`} class={then ? "then" : undefined} aria-current={isCurrent ? "page" : undefined}>
        <Icon name={icon} label={label} />
        <span class="name">{line(session.title)}</span>
        <span class="side">{then ? "" : age(session, isOver)}</span>
        <span class="about" title={about}>
          {about}
        </span>
        <span class="side">{used}</span>
      </a>
      {group === "asks" && !isCurrent && request && <QuickAnswer key={request.request_id} request={request} />}
    </li>
  );
}

/** How long a session has run, or how long ago it ended. */
function age({ startedMs, endedMs }: ListedSession, isOver: boolean): string {
  if (!isOver) return duration(Date.now() - startedMs);
  return endedMs === null ? "" : `${duration(Date.now() - endedMs)} ago`;
}

function joined(parts: readonly (string | null)[]): string {
  return line(parts.filter(Boolean).join(" · "));
}

/** Renders again now and then. */
function useEvery(ms: number): void {
  const [, render] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => render(Date.now()), ms);
    return () => clearInterval(timer);
  }, []);
}

function iconOf({ isTerminal, phase }: ListedSession, group: Group): readonly [IconName, string] {
  if (group === "asks") return ["ask", "waits for you"];
  if (phase === "lost") return ["bad", "lost"];
  if (group === "recordings") return ["ok", "recording"];
  if (group === "ended") return ["ok", "ended"];
  if (isTerminal) return ["terminal", "terminal"];
  return group === "idle" ? ["idle", "idle"] : ["run", "working"];
}

function Knot(): JSX.Element {
  return (
    <svg class="knot" viewBox="0 0 20 20" aria-hidden>
      <path
        d="M4 18c0-5 2-7.4 6-7.4 3.6 0 5.4-1.6 5.4-4S13.4 2.6 10.6 2.6 6 4.4 6 7.6c0 4.4 3.6 5 10 4.8"
        fill="none"
        stroke="currentColor"
        stroke-width="1.7"
        stroke-linecap="round"
      />
    </svg>
  );
}
