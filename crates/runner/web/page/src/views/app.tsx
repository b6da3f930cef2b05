import type { Client } from "@bowline/client";
import type { JSX } from "preact";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import { LOGIN_HINT } from "../login.js";
import { Commands, CommandsContext, useCommands } from "../state/commands.js";
import { Actions } from "../state/actions.js";
import { Notifier, isNotifying, setNotifying } from "../state/notify.js";
import { SessionsStore } from "../state/sessions.js";
import { useStore } from "../state/store.js";
import { ActionsContext, ActionsView } from "./actions.js";
import { Keyboard } from "./keyboard.js";
import { useMore } from "./lazy.js";
import { SessionView } from "./session.js";
import { Sidebar } from "./sidebar.js";

/** The page of one runner. The address names the session that is shown: `#/ID`. */
export function App({ client }: { readonly client: Client }): JSX.Element {
  const sessions = useMemo(() => new SessionsStore(client), [client]);
  const actions = useMemo(() => new Actions(client, sessions), [client, sessions]);
  const commands = useMemo(() => new Commands(), []);
  useEffect(() => {
    void sessions.follow();
    return () => sessions.close();
  }, [sessions]);
  useStore(sessions);
  const notifier = useMemo(() => new Notifier(), [sessions]);
  useEffect(() => {
    if (sessions.isKnown) notifier.read(sessions.sessions);
  }, [sessions.sessions]);
  const { current, part } = useCurrent();
  return (
    <CommandsContext.Provider value={commands}>
    <ActionsContext.Provider value={actions}>
      <div class="app" data-view={current === null ? "sessions" : "session"}>
        <a class="skip" href="#main">
          Skip to the session
        </a>
        <Sidebar store={sessions} current={current} part={part} />
        <Main client={client} sessions={sessions} current={current} part={part} />
        <ActionsView />
        <Keyboard sessions={sessions} />
      </div>
    </ActionsContext.Provider>
    </CommandsContext.Provider>
  );
}

interface MainProps {
  readonly client: Client;
  readonly sessions: SessionsStore;
  readonly current: string | null;
  readonly part: string | null;
}

function Main({ client, sessions, current, part }: MainProps): JSX.Element {
  const actions = useContext(ActionsContext)!;
  const onClose = () => (location.hash = "#/");
  const session = sessions.sessions.find(({ id }) => id === current);
  useCommands(
    () => [
      { title: "New session", key: "n", run: () => (location.hash = "#/new") },
      { title: "Past conversations", key: "p", run: () => (location.hash = "#/past") },
      {
        title: "Turn notifications on or off",
        run: () => void actions.run(async () => actions.say(await setNotifying(!isNotifying()))),
      },
      { title: "Filter sessions", key: "/", run: () => document.querySelector<HTMLElement>(".sessions .find input")?.focus() },
    ],
    [],
  );
  const isForm = current === "new" || current === "past";
  const more = useMore(isForm || session?.isTerminal === true);
  if (isForm) {
    if (!more) return <main id="main" tabIndex={-1} />;
    return current === "new" ? <more.Start client={client} onClose={onClose} /> : <more.Past sessions={sessions} chosen={part} onClose={onClose} />;
  }
  if (session?.isTerminal) {
    return more ? <more.TerminalView key={session.id} session={session} client={client} onClose={onClose} /> : <main id="main" tabIndex={-1} />;
  }
  if (current === null || !sessions.isKnown) {
    return (
      <main id="main" tabIndex={-1}>
        <p class="empty">{current === null && "Choose a session."}</p>
      </main>
    );
  }
  const entry = part !== null && /^\d+$/.test(part) ? Number(part) : null;
  return <SessionView key={current} id={current} listed={session ?? null} entry={entry} client={client} onClose={onClose} />;
}

/** A page that cannot go on, with the next step. */
export function Refused({ reason }: { readonly reason: string }): JSX.Element {
  return (
    <main class="refused" id="main">
      <h1>Not logged in</h1>
      <p role="alert">
        {reason}; {LOGIN_HINT}.
      </p>
    </main>
  );
}

/** Returns what the address names: `#/SESSION`, `#/SESSION/ENTRY` or `#/past/CONVERSATION`. */
function useCurrent(): { readonly current: string | null; readonly part: string | null } {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const read = () => setHash(location.hash);
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  const parts = /^#\/([\w-]+)(?:\/([^/]+))?/.exec(hash);
  return { current: parts?.[1] ?? null, part: parts?.[2] ?? null };
}
