import type { Client, QueuedPrompt } from "@bowline/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { line } from "../text/format.js";

interface Props {
  readonly session: string;
  readonly client: Client;
  readonly queue: readonly QueuedPrompt[];
  readonly onError: (error: unknown) => void;
}

/** Prompts that wait. Those that the agent has not got yet are changed, moved and cancelled. */
export function Queue({ session, client, queue, onError }: Props): JSX.Element {
  const [edited, edit] = useState<{ readonly id: string; readonly text: string } | null>(null);
  const waiting = queue.filter(({ state }) => state === "waiting");
  const save = (event: Event) => {
    event.preventDefault();
    if (!edited) return;
    client.changeQueued(session, edited.id, { text: edited.text }).then(() => edit(null), onError);
  };
  return (
    <ol class="queue" aria-label="Prompts that wait">
      {queue.map((prompt) => {
        const at = waiting.indexOf(prompt);
        const [before, after] = [waiting[at - 1], waiting[at + 1]];
        const move = (change: { readonly before: string } | { readonly after: string }) => void client.changeQueued(session, prompt.id, change).catch(onError);
        if (edited?.id === prompt.id) {
          return (
            <li key={prompt.id}>
              <form onSubmit={save}>
                <textarea
                  autoFocus
                  aria-label="Text of the prompt that waits"
                  rows={Math.min(6, edited.text.split("\n").length)}
                  value={edited.text}
                  onInput={(event) => edit({ id: prompt.id, text: event.currentTarget.value })}
                  onKeyDown={(event) => event.key === "Escape" && edit(null)}
                />
                <button class="ghost" disabled={edited.text.trim() === ""}>
                  Save
                </button>
                <button type="button" class="ghost" onClick={() => edit(null)}>
                  Cancel
                </button>
              </form>
            </li>
          );
        }
        return (
          <li key={prompt.id}>
            <span class="why">{prompt.state === "sent" ? "sent" : `${at + 1}`}</span>
            <span class="text">{line(prompt.text)}</span>
            {prompt.state === "waiting" && (
              <span class="acts">
                {before && (
                  <button class="ghost" aria-label="Move up" onClick={() => move({ before: before.id })}>
                    ↑
                  </button>
                )}
                {after && (
                  <button class="ghost" aria-label="Move down" onClick={() => move({ after: after.id })}>
                    ↓
                  </button>
                )}
                <button class="ghost" onClick={() => edit({ id: prompt.id, text: prompt.text })}>
                  Edit
                </button>
                <button class="ghost" aria-label="Remove from the queue" onClick={() => void client.cancelQueued(session, prompt.id).catch(onError)}>
                  ✕
                </button>
              </span>
            )}
          </li>
        );
      })}
    </ol>
  );
}
