import { RunnerError, type Client, type PastConversation } from "@bowline/client";
import type { JSX } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { cost, duration, line, shortPath } from "../text/format.js";
import { ActionsContext } from "./actions.js";

/** Conversations that are listed. */
const LIMIT = 200;

/** The code of the error when there are no conversations at all. */
const NONE = "CONVERSATION_NOT_FOUND";

/** Pause in writing after which it is searched, in milliseconds. */
const PAUSE_MS = 200;

/** Conversations that agents keep themselves, to go on with. */
export function Past({ client, onClose }: { readonly client: Client; readonly onClose: () => void }): JSX.Element {
  const actions = useContext(ActionsContext)!;
  const [search, setSearch] = useState("");
  const [found, setFound] = useState<readonly PastConversation[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [none, setNone] = useState<string | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    const fail = (cause: unknown) => {
      if (abort.signal.aborted) return;
      const text = cause instanceof Error ? cause.message : String(cause);
      if (!(cause instanceof RunnerError) || cause.code !== NONE) return setError(text);
      setNone(text);
      setFound([]);
    };
    const timer = setTimeout(() => client.history(search, LIMIT, abort.signal).then(setFound, fail), search === "" ? 0 : PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [client, search]);
  const resume = ({ agent, id, cwd, title }: PastConversation, isFork: boolean) =>
    void actions.start({
      agent,
      resume: id,
      ...(cwd === null ? {} : { cwd }),
      ...(title === null ? {} : { name: title }),
      ...(isFork ? { fork: true } : {}),
    });
  return (
    <main id="main" tabIndex={-1} class="form past">
      <header>
        <h1>Past conversations</h1>
        <button class="ghost" onClick={onClose}>
          Close
        </button>
      </header>
      <label class="find">
        <span class="vh">Search past conversations</span>
        <input type="search" placeholder="Search titles, prompts and answers" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      </label>
      {error && (
        <p class="bad" role="alert">
          {error}
        </p>
      )}
      {found?.length === 0 && <p class="empty">{none ?? (search === "" ? "Claude Code and Codex keep no conversations here." : "No conversation has these words.")}</p>}
      <ul>
        {found?.map((it) => (
          <li key={it.id}>
            <span class="name">{line(it.title ?? "untitled")}</span>
            <span class="about">{line([it.agent, it.cwd && shortPath(it.cwd), it.turns === 1 ? "1 turn" : `${it.turns} turns`, it.cost_usd && cost(it.cost_usd)].filter(Boolean).join(" · "))}</span>
            <time>{duration(Date.now() - it.last_activity_ms)} ago</time>
            <button class="ghost" onClick={() => resume(it, false)}>
              Resume
            </button>
            <button class="ghost" onClick={() => resume(it, true)}>
              Fork
            </button>
          </li>
        ))}
      </ul>
    </main>
  );
}
