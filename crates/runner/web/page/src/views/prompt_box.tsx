import type { Client, SessionFields, SessionOption, Status } from "@bowline/client";
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { Draft } from "../state/draft.js";
import { useStore } from "../state/store.js";
import { line } from "../text/format.js";
import { Queue } from "./queue.js";

/** Commands that are offered at once. */
const MAX_COMMANDS = 8;

interface Props {
  readonly session: string;
  readonly client: Client;
  readonly status: Status | null;
  readonly fields: SessionFields | null;
  /** Continues the conversation in another session; `null` if it cannot be continued. */
  readonly onResume: (() => void) | null;
}

/** A box to write a prompt in, with files, commands and the options of the session. */
export function PromptBox({ session, client, status, fields, onResume }: Props): JSX.Element {
  const draft = useMemo(() => new Draft(session), [session]);
  useStore(draft);
  const [error, setError] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const [isDropping, setDropping] = useState(false);
  const [command, setCommand] = useState(0);
  const input = useRef<HTMLTextAreaElement>(null);
  const { text, files } = draft;
  const isOver = status?.phase === "ended" || status?.phase === "lost";
  const isBusy = status?.phase === "running" || status?.phase === "awaiting_permission";
  const fail = (cause: unknown) => setError(cause instanceof Error ? cause.message : String(cause));
  const attach = (added: Iterable<File>) => {
    setError(null);
    draft.attach(added).catch(fail);
  };
  const send = async () => {
    if (draft.isEmpty || isSending || isOver) return;
    setSending(true);
    setError(null);
    const attempt = draft.attempt();
    try {
      const attachments = attempt.files.map(({ media_type, data, title }) => ({ media_type, data, ...(title === undefined ? {} : { title }) }));
      // What is sent to a busy agent can be changed until its turn.
      await client.prompt(session, attempt.text, attempt.id, { ...(isBusy ? { queue: true } : {}), ...(attachments.length > 0 ? { attachments } : {}) });
      draft.sent(attempt);
    } catch (cause) {
      fail(cause);
    } finally {
      setSending(false);
    }
  };
  const commands = useMemo(() => matchingCommands(fields, text), [fields?.commands, text]);
  const complete = (name: string) => {
    draft.write(`/${name} `);
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const count = commands.length;
    const chosen = commands[Math.min(command, count - 1)];
    if (chosen && event.key === "ArrowDown") setCommand((command + 1) % count);
    else if (chosen && event.key === "ArrowUp") setCommand((command + count - 1) % count);
    else if (chosen && (event.key === "Tab" || (event.key === "Enter" && text !== `/${chosen.name}`))) complete(chosen.name);
    else if (event.key === "Enter" && !event.shiftKey) void send();
    else return;
    event.preventDefault();
  };
  const hint = isOver ? "The session has ended." : isBusy ? "Say something for the next turn." : "Say something.";
  const options = (fields?.options ?? []).filter(({ choices }) => choices.length > 1);
  return (
    <form
      class={`say ${isDropping ? "dropping" : ""}`}
      aria-label="Prompt"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={(event) => {
        event.preventDefault();
        setDropping(false);
        attach([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      {fields && fields.queue.length > 0 && <Queue session={session} client={client} queue={fields.queue} onError={fail} />}
      {commands.length > 0 && (
        <ul class="commands" id="slash" role="listbox" aria-label="Commands of the agent">
          {commands.map(({ name, description }, at) => (
            <li key={name} id={`slash-${at}`} role="option" aria-selected={at === Math.min(command, commands.length - 1)} onPointerDown={(event) => (event.preventDefault(), complete(name))}>
              <b>/{line(name)}</b>
              <span class="why">{line(description ?? "")}</span>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={input}
        rows={Math.min(10, text.split("\n").length)}
        aria-label="Say something to the agent"
        aria-controls={commands.length > 0 ? "slash" : undefined}
        aria-activedescendant={commands.length > 0 ? `slash-${Math.min(command, commands.length - 1)}` : undefined}
        placeholder={hint}
        value={text}
        disabled={isOver}
        onInput={(event) => {
          setCommand(0);
          draft.write(event.currentTarget.value);
        }}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const pasted = [...(event.clipboardData?.files ?? [])];
          if (pasted.length === 0) return;
          event.preventDefault();
          attach(pasted);
        }}
      />
      {files.length > 0 && (
        <ul class="files" aria-label="Attached files">
          {files.map((file) => (
            <li>
              {line(file.name)}
              <button type="button" class="ghost" aria-label={`Remove ${line(file.name)}`} onClick={() => draft.detach(file)}>
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <div>
        {!isOver && (
          <label class="ghost attach">
            Attach
            <input
              type="file"
              multiple
              class="vh"
              onChange={(event) => {
                attach([...(event.currentTarget.files ?? [])]);
                event.currentTarget.value = "";
              }}
            />
          </label>
        )}
        {!isOver && options.map((option) => <Option key={option.id} option={option} onChange={(value) => void client.setOption(session, option.id, value).catch(fail)} />)}
        {error && (
          <span class="bad" role="alert">
            {line(error)}
          </span>
        )}
        {isOver && onResume ? (
          <button type="button" class="primary" onClick={onResume}>
            Resume
          </button>
        ) : (
          <button class="primary" disabled={isOver || isSending || draft.isEmpty}>
            {isBusy ? "Queue" : "Send"}
          </button>
        )}
      </div>
    </form>
  );
}

function Option({ option, onChange }: { readonly option: SessionOption; readonly onChange: (value: string) => void }): JSX.Element {
  return (
    <select class="option" aria-label={line(option.name ?? option.id)} value={option.value ?? ""} onChange={(event) => onChange(event.currentTarget.value)}>
      {option.choices.map(({ id, name }) => (
        <option key={id} value={id}>
          {line(name ?? id)}
        </option>
      ))}
    </select>
  );
}

/** Returns the commands whose name begins as the text does, which is nothing else. */
function matchingCommands(fields: SessionFields | null, text: string): SessionFields["commands"] {
  const begun = /^\/([\w:.-]*)$/.exec(text)?.[1];
  if (begun === undefined || !fields) return [];
  return fields.commands.filter(({ name }) => name.startsWith(begun)).slice(0, MAX_COMMANDS);
}
