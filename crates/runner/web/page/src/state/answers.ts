import { RunnerError, type PermissionValue } from "@bowline/client";
import { line } from "../text/format.js";

/** The name of pages as clients of the runner. */
export const PAGE = "page";

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

  /** An answer of this page came too late. */
  refused({ tool_name }: PermissionValue, error: unknown): void {
    const decided = error instanceof RunnerError && (error.problem["decided_by"] as PermissionValue["decided_by"] | undefined);
    if (decided) this.#say(`${line(tool_name)}: answered first ${by(decided)}${decided.who === null ? "" : ` (${line(decided.how)})`}`);
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
  if (decided.who === null) return `(${line(decided.how)})`;
  // What this page answers itself is not said.
  return decided.who === PAGE ? "by another page" : `by ${line(decided.who)}`;
}
