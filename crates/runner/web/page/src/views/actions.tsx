import { createContext, type JSX } from "preact";
import { useContext, useState } from "preact/hooks";
import type { Actions } from "../state/actions.js";
import { useStore } from "../state/store.js";
import { plain } from "../text/format.js";
import { Dialog } from "./dialog.js";

export const ActionsContext = createContext<Actions | null>(null);

/** What came of actions, and the dialogs that they need. */
export function ActionsView(): JSX.Element {
  const actions = useContext(ActionsContext)!;
  useStore(actions);
  const { note, renaming } = actions;
  return (
    <>
      <div class="notes" role="status">
        {note && (
          <p class={note.isError ? "note bad" : "note"}>
            <span>{plain(note.text)}</span>
            {note.undo && <button onClick={note.undo}>Undo</button>}
            <button class="ghost" aria-label="Dismiss" onClick={() => actions.dismiss()}>
              ✕
            </button>
          </p>
        )}
      </div>
      {renaming && <Rename key={renaming.id} actions={actions} />}
    </>
  );
}

function Rename({ actions }: { readonly actions: Actions }): JSX.Element {
  const session = actions.renaming!;
  const [name, setName] = useState(session.title);
  const rename = (event: Event) => {
    event.preventDefault();
    actions.rename(null);
    void actions.run(async () => {
      await actions.client.rename(session.id, name.trim());
      await actions.sessions.read();
    });
  };
  return (
    <Dialog title="Rename the session" onClose={() => actions.rename(null)}>
      <form onSubmit={rename}>
        <label class="field">
          Name
          <input value={name} maxLength={200} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <footer>
          <button type="button" class="ghost" onClick={() => actions.rename(null)}>
            Cancel
          </button>
          <button class="primary" disabled={name.trim() === ""}>
            Rename
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
