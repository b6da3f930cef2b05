import type { Client } from "@bowline/client";
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import { groupOf, type ListedSession } from "../state/sessions.js";
import { ActionsContext } from "./actions.js";
import { MenuItem } from "./menu.js";

/** What can be done with a session as a whole. */
export function SessionMenuItems({ session, client }: { readonly session: ListedSession; readonly client: Client }): JSX.Element {
  const actions = useContext(ActionsContext)!;
  const isEnded = groupOf(session) === "ended";
  return (
    <>
      <MenuItem onSelect={() => actions.rename(session)}>Rename…</MenuItem>
      {!session.isTerminal && isEnded && <MenuItem onSelect={() => void actions.resume(session, false)}>Resume</MenuItem>}
      {!session.isTerminal && <MenuItem onSelect={() => void actions.resume(session, true)}>Fork</MenuItem>}
      {!isEnded && (
        <MenuItem isDanger onSelect={() => void actions.run(() => client.end(session.id))}>
          End
        </MenuItem>
      )}
      {isEnded && (
        <MenuItem isDanger onSelect={() => void actions.delete(session)}>
          Delete
        </MenuItem>
      )}
    </>
  );
}
