import type { PastConversation } from "@bowline/client";
import type { JSX } from "preact";
import { useContext, useState } from "preact/hooks";
import { MOST, useHistory, usePastConversation } from "../state/history.js";
import type { SessionsStore } from "../state/sessions.js";
import { cost, duration, line, shortPath } from "../text/format.js";
import { ActionsContext } from "./actions.js";

interface Props {
  readonly sessions: SessionsStore;
  /** The conversation that is shown first, as the address spells it. */
  readonly chosen: string | null;
  readonly onClose: () => void;
}

/** Conversations that agents keep themselves, to go on with. */
export function Past({ sessions, chosen, onClose }: Props): JSX.Element {
  const [search, setSearch] = useState("");
  const { found, error, none } = useHistory(sessions.client, search, MOST);
  // It may be older than those of the list.
  const { past: first, error: missing } = usePastConversation(sessions.client, chosen === null ? null : decoded(chosen));
  const isChosen = ({ id }: PastConversation) => id === first?.id;
  return (
    <main id="main" tabIndex={-1} class="form past">
      <header>
        <h1>Past conversations</h1>
        <button class="ghost" onClick={onClose}>
          Close
        </button>
      </header>
      {first && (
        <ul class="chosen" aria-label="Chosen">
          <Item past={first} isChosen />
        </ul>
      )}
      <label class="find">
        <span class="vh">Search past conversations</span>
        <input type="search" placeholder="Search titles, prompts and answers" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      </label>
      {[...new Set([missing, error])].map(
        (it) =>
          it && (
            <p key={it} class="bad" role="alert">
              {it}
            </p>
          ),
      )}
      {found?.length === 0 && <p class="empty">{none ?? (search === "" ? "Claude Code and Codex keep no conversations here." : "No conversation has these words.")}</p>}
      <ul>{found?.map((it) => isChosen(it) || <Item key={it.id} past={it} isChosen={false} />)}</ul>
    </main>
  );
}

/** Returns a part of an address as text; as it is if it is not encoded correctly. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A conversation, which is resumed, or a copy of it. */
function Item({ past, isChosen }: { readonly past: PastConversation; readonly isChosen: boolean }): JSX.Element {
  const actions = useContext(ActionsContext)!;
  const { id, agent, cwd, title, turns, cost_usd } = past;
  const resume = (isFork: boolean) =>
    void actions.start({
      agent,
      resume: id,
      ...(cwd === null ? {} : { cwd }),
      ...(title === null ? {} : { name: title }),
      ...(isFork ? { fork: true } : {}),
    });
  return (
    <li>
      <span class="name">{line(title ?? "untitled")}</span>
      <span class="about">{line([agent, cwd && shortPath(cwd), turns === 1 ? "1 turn" : `${turns} turns`, cost_usd && cost(cost_usd)].filter(Boolean).join(" · "))}</span>
      <time>{duration(Date.now() - past.last_activity_ms)} ago</time>
      <button class={isChosen ? "primary" : "ghost"} onClick={() => resume(false)}>
        Resume
      </button>
      <button class="ghost" onClick={() => resume(true)}>
        Fork
      </button>
    </li>
  );
}
