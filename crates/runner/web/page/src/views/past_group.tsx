import type { PastConversation } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { MOST, useHistory } from "../state/history.js";
import { groupOf, type SessionsStore } from "../state/sessions.js";
import { cost, duration, line, shortPath } from "../text/format.js";
import { Icon } from "./icon.js";

/** The most conversations of the group. */
const SHOWN = 5;

interface Props {
  readonly store: SessionsStore;
  /** What the list is filtered by. */
  readonly filter: string;
  /** The conversation that is looked at, as the address spells it; empty for all of them. */
  readonly chosen: string | null;
}

/**
 * The newest past conversations as the last group of the list, and the way to all of them. Those of listed sessions are
 * left out. Without any that fit, or without leave to read them, there is no group.
 */
export function PastGroup({ store, filter, chosen }: Props): JSX.Element | null {
  const listed = new Set(store.sessions.flatMap(({ conversation }) => conversation ?? []));
  const over = store.sessions.filter((session) => groupOf(session) === "ended").length;
  const { found } = useHistory(store.client, filter, Math.min(MOST, SHOWN + listed.size), [over, useFocusCount()]);
  const shown = found?.filter(({ id }) => !listed.has(id)).slice(0, SHOWN) ?? [];
  // If all of them are listed, the way to them stays.
  if (shown.length === 0 && (filter !== "" || !found?.length)) return null;
  return (
    <section aria-labelledby="group-past">
      <h2 id="group-past">Past conversations</h2>
      <ul>
        {shown.map((it) => (
          <Item key={it.id} past={it} isChosen={encodeURIComponent(it.id) === chosen} />
        ))}
        <li>
          <a href="#/past" aria-current={chosen === "" ? "page" : undefined}>
            <span class="about">All past conversations</span>
          </a>
        </li>
      </ul>
    </section>
  );
}

function Item({ past, isChosen }: { readonly past: PastConversation; readonly isChosen: boolean }): JSX.Element {
  const about = line([past.cwd && shortPath(past.cwd), past.agent].filter(Boolean).join(" · "));
  return (
    <li>
      <a href={`#/past/${encodeURIComponent(past.id)}`} aria-current={isChosen ? "page" : undefined}>
        <Icon name="past" label="past conversation" />
        <span class="name">{line(past.title ?? "untitled")}</span>
        <span class="side">{duration(Date.now() - past.last_activity_ms)} ago</span>
        <span class="about" title={about}>
          {about}
        </span>
        <span class="side">{past.cost_usd ? cost(past.cost_usd) : null}</span>
      </a>
    </li>
  );
}

/** Returns how often the page was looked at again. */
function useFocusCount(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const add = () => setCount((it) => it + 1);
    addEventListener("focus", add);
    return () => removeEventListener("focus", add);
  }, []);
  return count;
}
