import { RunnerError, type Client } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { LOGIN_HINT, forget } from "../login.js";
import { SessionsStore } from "../state/sessions.js";
import { useStore } from "../state/store.js";
import { SessionView } from "./session.js";
import { Sidebar } from "./sidebar.js";

/** The page of one runner. The address names the session that is shown: `#/ID`. */
export function App({ client }: { readonly client: Client }): JSX.Element {
  const sessions = useMemo(() => new SessionsStore(client), [client]);
  useEffect(() => {
    void sessions.follow();
    return () => sessions.close();
  }, [sessions]);
  useStore(sessions);
  const current = useCurrent();
  const { connection } = sessions;
  if (connection.state === "failed" && connection.error instanceof RunnerError && connection.error.status === 401) {
    forget();
    return <Refused reason="This page's token is no longer valid" />;
  }
  return (
    <div class="app" data-view={current === null ? "sessions" : "session"}>
      <a class="skip" href="#main">
        Skip to the transcript
      </a>
      <Sidebar store={sessions} current={current} />
      {current === null ? (
        <main id="main" tabIndex={-1}>
          <p class="empty">Choose a session.</p>
        </main>
      ) : (
        <SessionView key={current} id={current} name={sessions.sessions.find(({ id }) => id === current)?.title ?? null} client={client} onClose={() => (location.hash = "#/")} />
      )}
    </div>
  );
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

function useCurrent(): string | null {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const read = () => setHash(location.hash);
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return /^#\/([\w-]+)/.exec(hash)?.[1] ?? null;
}
