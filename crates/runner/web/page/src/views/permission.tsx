import type { Answer, Client, PermissionOption, PermissionQuestion, PermissionValue, Transcript } from "@bowline/client";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { writesText } from "../state/commands.js";
import { duration, line } from "../text/format.js";
import { safeTarget } from "../text/markdown.js";
import { CallTitle } from "./call.js";
import { Diff } from "./diff.js";
import { Icon } from "./icon.js";
import { Long } from "./output.js";

/** Time for which a new card ignores clicks and keys, in milliseconds: it may have moved under the pointer. */
export const ARM_MS = 500;

interface Props {
  readonly request: PermissionValue;
  readonly session: string;
  readonly client: Client;
  readonly transcript: Transcript;
  /** Called when the request is answered here. */
  readonly onAnswer: () => void;
  /** Called when the answer is refused: the card may be gone, since another client was first. */
  readonly onRefused?: (error: unknown) => void;
}

type Sent = { readonly state: "open" } | { readonly state: "sending" } | { readonly state: "failed"; readonly text: string };

/** An open permission request with its answers. */
export function PermissionCard({ request, session, client, transcript, onAnswer, onRefused }: Props): JSX.Element {
  const isArmed = useArmed(request.request_id);
  const [sent, setSent] = useState<Sent>({ state: "open" });
  const call = request.tool_use_id === null ? undefined : transcript.call(request.tool_use_id);
  const isBusy = !isArmed || sent.state === "sending";
  const attempt = useRef({ text: "", id: "" });
  const answer = async (value: Answer) => {
    if (isBusy) return;
    setSent({ state: "sending" });
    onAnswer();
    // The same answer again is the same attempt: the response to the first one may have been lost.
    const text = JSON.stringify(value);
    if (attempt.current.text !== text) attempt.current = { text, id: crypto.randomUUID() };
    try {
      await client.answer(session, request.request_id, value, attempt.current.id);
    } catch (error) {
      setSent({ state: "failed", text: error instanceof Error ? error.message : String(error) });
      onRefused?.(error);
    }
  };
  const title = `ask-${request.request_id}`;
  const keys = useAnswerKeys(request, (option) => void answer({ option: option.id }));
  return (
    <section class="card" tabIndex={0} aria-labelledby={title} data-armed={isArmed} onKeyDown={keys.onKeyDown}>
      <header>
        <Icon name="ask" label="waits for you" />
        <h2 id={title}>
          {request.kind === "question" ? "A question" : line(request.tool_name)} {call && <CallTitle value={call.value} />}
        </h2>
        {call?.value.started_ms != null && <Asked since={call.value.started_ms} />}
      </header>
      <What request={request} transcript={transcript} />
      {request.questions.length > 0 ? (
        <Questions questions={request.questions} isBusy={isBusy} answer={answer} />
      ) : (
        <Options request={request} isBusy={isBusy} answer={answer} />
      )}
      {keys.chosen && (
        <p class="confirm" role="status">
          Press <kbd>{keys.chosen.key}</kbd> again: {line(keys.chosen.option.name)}
        </p>
      )}
      {sent.state === "failed" && (
        <p class="bad" role="alert">
          {line(sent.text)}
        </p>
      )}
    </section>
  );
}

/** Time in which a key has to be pressed again, in milliseconds. */
const CONFIRM_MS = 4_000;

const ANSWER_KEYS: Readonly<Record<string, PermissionOption["kind"]>> = { a: "allow_once", d: "reject_once" };

interface Chosen {
  readonly key: string;
  readonly option: PermissionOption;
}

/** Keys that answer a card which has the focus: the first press chooses, the second one confirms. */
function useAnswerKeys(request: PermissionValue, answer: (option: PermissionOption) => void): { readonly chosen: Chosen | null; readonly onKeyDown: (event: KeyboardEvent) => void } {
  const [chosen, choose] = useState<Chosen | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => choose(null), CONFIRM_MS);
    return () => clearTimeout(timer);
  }, [chosen]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || writesText(event.target)) return;
    const option = request.options.find(({ kind }) => kind === ANSWER_KEYS[event.key]);
    if (!option) return;
    event.preventDefault();
    if (chosen?.key !== event.key) return choose({ key: event.key, option });
    choose(null);
    answer(option);
  };
  return { chosen, onKeyDown };
}

/** A time that goes on, without a new rendering of the card. */
function Asked({ since }: { readonly since: number }): JSX.Element {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const id = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(id);
  }, []);
  return <time>asked {duration(now - since)} ago</time>;
}

/** Returns whether a request was shown for long enough to be answered. */
export function useArmed(id: string): boolean {
  const [armed, setArmed] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setArmed(id), ARM_MS);
    return () => clearTimeout(timer);
  }, [id]);
  return armed === id;
}

/** What would be done: the diff, the command, or the whole input. */
function What({ request, transcript }: { readonly request: PermissionValue; readonly transcript: Transcript }): JSX.Element | null {
  const call = request.tool_use_id === null ? undefined : transcript.call(request.tool_use_id);
  if (request.url !== null) {
    const target = safeTarget(request.url);
    return (
      <p class="what">
        {target ? (
          <a href={target} target="_blank" rel="noopener noreferrer">
            {line(target)}
          </a>
        ) : (
          line(request.url)
        )}
      </p>
    );
  }
  if (!call || request.questions.length > 0) return null;
  const { content, input, name } = call.value;
  const diffs = content.filter((it) => it.type === "diff");
  if (diffs.length > 0) return <>{diffs.map((diff) => <Diff {...diff} label={`What would change in ${line(diff.path)}`} />)}</>;
  const terminal = content.find((it) => it.type === "terminal");
  const text = terminal?.command ?? JSON.stringify(input, null, 2);
  return (
    <pre class="what" tabIndex={0} role="region" aria-label={`Input of ${line(name)}`}>
      <Long text={text ?? ""} />
    </pre>
  );
}

interface AnswerProps {
  readonly isBusy: boolean;
  readonly answer: (value: Answer) => Promise<void>;
}

const ORDER: Record<PermissionOption["kind"], number> = { allow_once: 0, allow_always: 1, reject_once: 2, reject_always: 3 };

function Options({ request, isBusy, answer }: AnswerProps & { readonly request: PermissionValue }): JSX.Element {
  const [reason, setReason] = useState("");
  const options = [...request.options].sort((a, b) => ORDER[a.kind] - ORDER[b.kind]);
  const choose = (option: PermissionOption) => {
    const isDenial = option.kind.startsWith("reject");
    return answer({ option: option.id, ...(isDenial && reason !== "" ? { message: reason } : {}) });
  };
  return (
    <>
      {request.rule !== null && options.some(({ kind }) => kind === "allow_always") && (
        <p class="rule">
          “{line(options.find(({ kind }) => kind === "allow_always")!.name)}” adds the rule <code>{line(request.rule)}</code>
        </p>
      )}
      <footer>
        {options.map((option) => (
          <button class={option.kind === "allow_once" ? "primary" : ""} aria-disabled={isBusy} onClick={() => void choose(option)}>
            {line(option.name)}
          </button>
        ))}
        {options.some(({ kind }) => kind === "reject_once") && (
          <input
            aria-label="Reason of a denial, for the agent"
            placeholder="or say why not"
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        )}
      </footer>
    </>
  );
}

function Questions({ questions, isBusy, answer }: AnswerProps & { readonly questions: readonly PermissionQuestion[] }): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    const data = new FormData(form.current!);
    const answers: Record<string, string> = {};
    for (const question of questions) {
      const chosen = data.getAll(question.id).map(String);
      const text = String(data.get(`${question.id} text`) ?? "");
      answers[question.id] = [...chosen, ...(text === "" ? [] : [text])].join(", ");
    }
    void answer({ answers });
  };
  return (
    <form ref={form} onSubmit={submit}>
      {questions.map((question) => (
        <fieldset>
          <legend>
            <Long text={question.text} />
          </legend>
          {question.options.map((option) => (
            <label>
              <input type={question.kind === "multiple" ? "checkbox" : "radio"} name={question.id} value={option.value} />
              <span>{line(option.name ?? option.value)}</span>
              {option.description && <span class="why">{line(option.description)}</span>}
            </label>
          ))}
          {(question.free_text || question.kind === "text") && (
            <input name={`${question.id} text`} aria-label={`Answer to: ${line(question.text)}`} placeholder="your own answer" />
          )}
        </fieldset>
      ))}
      <footer>
        <button class="primary" aria-disabled={isBusy}>
          Answer
        </button>
        <button type="button" aria-disabled={isBusy} onClick={() => void answer({ decision: "deny" })}>
          Do not answer
        </button>
      </footer>
    </form>
  );
}
