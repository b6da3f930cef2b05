import type { PermissionValue } from "@bowline/client";
import { line } from "../text/format.js";

/** Tells a reader what became of requests that were shown and answered elsewhere. */
export class AnswersElsewhere {
  readonly #say: (text: string) => void;
  readonly #open = new Set<string>();
  readonly #own = new Set<string>();

  constructor(say: (text: string) => void) {
    this.#say = say;
  }

  /** The request is answered here. */
  own(requestId: string): void {
    this.#own.add(requestId);
  }

  read(permissions: readonly PermissionValue[]): void {
    for (const { request_id, state, tool_name, decided_by } of permissions) {
      if (state === "open") this.#open.add(request_id);
      else if (this.#open.has(request_id) && (decided_by !== null || state === "withdrawn" || state === "orphaned")) {
        // The author's name may arrive after the answer.
        this.#open.delete(request_id);
        if (!this.#own.delete(request_id)) this.#say(`${line(tool_name)}: ${state} ${by(decided_by)}`.trim());
      }
    }
  }
}

function by(decided: PermissionValue["decided_by"]): string {
  if (!decided) return "";
  return decided.who === null ? `(${line(decided.how)})` : `by ${line(decided.who)}`;
}
