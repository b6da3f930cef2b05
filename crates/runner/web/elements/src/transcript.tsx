import type { Client } from "@bowline/client";
import { render, type JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import css from "../../page/style.css";
import { List } from "../../page/src/list/list.js";
import { SessionStore } from "../../page/src/state/session.js";
import { useStore } from "../../page/src/state/store.js";
import { plain } from "../../page/src/text/format.js";
import { EntryView } from "../../page/src/views/entry.js";
import { PermissionCard } from "../../page/src/views/permission.js";
import { SessionElement } from "./element.js";

/** `<bowline-transcript>`: a dialogue as it grows, with its permission requests. */
class TranscriptElement extends SessionElement {
  protected show(client: Client, session: string): void {
    this.adopt(css);
    const store = new SessionStore(session, client);
    store.subscribe(() => this.report(store.connection));
    render(<Embedded key={session} store={store} />, this.root);
  }

  protected hide(): void {
    render(null, this.root);
  }
}

function Embedded({ store }: { readonly store: SessionStore }): JSX.Element {
  useStore(store);
  useEffect(() => {
    void store.follow();
    return () => store.close();
  }, [store]);
  const { transcript, connection } = store;
  const numbers = transcript.entryNumbers();
  const open = useMemo(() => transcript.permissions().filter(({ state }) => state === "open"), [store.touched]);
  return (
    <div class="embedded">
      {(connection.state === "failed" || connection.state === "reconnecting") && (
        <p class={`banner ${connection.state === "failed" ? "bad" : ""}`} role="status">
          {connection.state === "failed" ? plain(connection.error.message) : "The runner does not answer; trying again. What is shown may be old."}
        </p>
      )}
      <div class="stage">
        <List
          class="thread"
          label="Transcript"
          count={numbers.length}
          estimate={56}
          follows
          rowKey={(index) => numbers[index]!}
          row={(index) => (
            <article class="e embedded-entry">
              <div class="body">
                <EntryView entry={transcript.entry(numbers[index]!)!} transcript={transcript} depth={0} />
              </div>
            </article>
          )}
        />
      </div>
      <div class="asks" aria-live="polite">
        {open.map((request) => (
          <PermissionCard key={request.request_id} request={request} session={store.id} client={store.client} transcript={transcript} onAnswer={() => {}} />
        ))}
      </div>
    </div>
  );
}

customElements.define("bowline-transcript", TranscriptElement);
