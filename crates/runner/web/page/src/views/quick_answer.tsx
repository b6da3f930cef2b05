import type { PermissionOption, PermissionRequest } from "@bowline/client";
import type { JSX } from "preact";
import { useContext, useState } from "preact/hooks";
import { plain } from "../text/format.js";
import { ActionsContext } from "./actions.js";
import { useArmed } from "./permission.js";

/** Longest input that is shown whole in the list. One that is longer is answered where it can be read. */
const MAX_INPUT = 400;

/** Answers a request from the list of sessions, with its whole input. */
export function QuickAnswer({ request }: { readonly request: PermissionRequest }): JSX.Element | null {
  const actions = useContext(ActionsContext)!;
  const isArmed = useArmed(request.request_id);
  const [isSending, setSending] = useState(false);
  const text = inputText(request.input);
  const options = ["allow_once", "reject_once"].flatMap((kind) => request.options.find((it) => it.kind === kind) ?? []);
  if (request.kind !== "permission" || text.length > MAX_INPUT || options.length === 0) return null;
  const answer = async ({ id }: PermissionOption) => {
    if (!isArmed || isSending) return;
    setSending(true);
    await actions.run(() => actions.client.answer(request.session, request.request_id, { option: id }));
    setSending(false);
  };
  return (
    <div class="quick" role="group" aria-label={`Answer ${plain(request.tool_name)}`}>
      <pre tabIndex={0} role="region" aria-label={`Input of ${plain(request.tool_name)}`}>
        {plain(request.tool_name)} {plain(text)}
      </pre>
      {options.map((option) => (
        <button key={option.id} aria-disabled={!isArmed || isSending} onClick={() => void answer(option)}>
          {plain(option.name)}
        </button>
      ))}
    </div>
  );
}

/** The input as text: that of its only member, or all of it as JSON. */
function inputText(input: unknown): string {
  const values = typeof input === "object" && input !== null ? Object.values(input) : [];
  return values.length === 1 && typeof values[0] === "string" ? values[0] : JSON.stringify(input, null, 1);
}
