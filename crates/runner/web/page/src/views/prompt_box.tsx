import type { Client, QueuedPrompt, Status } from "@bowline/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { plain } from "../text/format.js";

interface Props {
  readonly session: string;
  readonly client: Client;
  readonly status: Status | null;
  readonly queue: readonly QueuedPrompt[];
}

/** A box to write a prompt in. What is written is kept until it is sent. */
export function PromptBox({ session, client, status, queue }: Props): JSX.Element {
  const key = `draft ${session}`;
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? "");
  const [id, setId] = useState(() => crypto.randomUUID() as string);
  const [error, setError] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  // At once, since the page may be reloaded before it is rendered again.
  const write = (draft: string) => {
    sessionStorage.setItem(key, draft);
    setText(draft);
  };
  const isOver = status?.phase === "ended" || status?.phase === "lost";
  const send = async () => {
    if (text.trim() === "" || isSending || isOver) return;
    setSending(true);
    setError(null);
    try {
      // A repeated attempt has the same id, so that the prompt is sent once.
      await client.prompt(session, text, id);
      write("");
      setId(crypto.randomUUID());
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    } finally {
      setSending(false);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void send();
    }
  };
  const isBusy = status?.phase === "running" || status?.phase === "awaiting_permission";
  const hint = isOver ? "The session has ended." : isBusy ? "Say something. It waits until the turn ends." : "Say something.";
  return (
    <form
      class="say"
      aria-label="Prompt"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {queue.length > 0 && (
        <ol class="queue" aria-label="Prompts that wait">
          {queue.map((prompt) => (
            <li>
              <span class="why">{prompt.state === "sent" ? "sent" : "waits"}</span> {plain(prompt.text)}
            </li>
          ))}
        </ol>
      )}
      <textarea
        rows={Math.min(10, text.split("\n").length)}
        aria-label="Say something to the agent"
        placeholder={hint}
        value={text}
        disabled={isOver}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div>
        {error && (
          <span class="bad" role="alert">
            {error}
          </span>
        )}
        <button class="primary" disabled={isOver || isSending || text.trim() === ""}>
          Send
        </button>
      </div>
    </form>
  );
}
