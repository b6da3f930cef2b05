import type { PermissionOption, PermissionRequest } from "@bowline/client";
import type { JSX } from "preact";
import { useContext, useState } from "preact/hooks";
import { line, plain } from "../text/format.js";
import { ActionsContext } from "./actions.js";
import { useArmed } from "./permission.js";

/** Longest input that is shown whole in the list. One that is longer is answered where it can be read. */
const MAX_INPUT = 400;

/** Answers a request from the list of sessions, with its whole input. */
export function QuickAnswer({ request }: { readonly request: PermissionRequest }): JSX.Element | null {
  const actions = useContext(ActionsContext)!;
  const isArmed = useArmed(request.request_id);
  const [isSending, setSending] = useState(false);
  const name = line(request.tool_name);
  const isLong = (JSON.stringify(request.input) ?? "").length > MAX_INPUT;
  const options = ["allow_once", "reject_once"].flatMap((kind) => request.options.find((it) => it.kind === kind) ?? []);
  if (request.kind !== "permission" || isLong || options.length === 0) return null;
  const answer = async ({ id }: PermissionOption) => {
    if (!isArmed || isSending) return;
    setSending(true);
    await actions.run(() => actions.client.answer(request.session, request.request_id, { option: id }));
    setSending(false);
  };
  return (
    <div class="quick" role="group" aria-label={`Answer ${name}`}>
      <div class="input" tabIndex={0} role="region" aria-label={`Input of ${name}`}>
        <b>{name}</b>
        <Input value={request.input} />
      </div>
      {options.map((option) => (
        <button key={option.id} aria-disabled={!isArmed || isSending} onClick={() => void answer(option)}>
          {line(option.name)}
        </button>
      ))}
    </div>
  );
}

/** The members of an input, each below its name. */
function Input({ value }: { readonly value: unknown }): JSX.Element {
  if (typeof value !== "object" || value === null) return <pre>{plain(String(value ?? ""))}</pre>;
  const members = Object.entries(value);
  return (
    <>
      {members.map(([name, member]) => (
        <>
          {members.length > 1 && <span class="why">{line(name)}</span>}
          <pre>{plain(typeof member === "string" ? member.replace(/\n$/, "") : JSON.stringify(member, null, 1))}</pre>
        </>
      ))}
    </>
  );
}
