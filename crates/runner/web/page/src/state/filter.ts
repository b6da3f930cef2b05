import type { Block, Entry, Touched, Transcript } from "@bowline/client";

/** Which entries are shown. */
export type Kind = "all" | "text" | "thinking" | "tools" | "running" | "problems";

export const KINDS: readonly (readonly [Kind, string])[] = [
  ["all", "All"],
  ["text", "Text"],
  ["thinking", "Thinking"],
  ["tools", "Tools"],
  ["running", "Running"],
  ["problems", "Problems"],
];

/** Returns whether a block is of a kind. */
export function isOfKind({ value }: Block, kind: Kind, transcript: Transcript): boolean {
  if (kind === "all") return true;
  if (value.type === "text") return kind === "text";
  if (value.type === "thinking" || value.type === "redacted_thinking") return kind === "thinking";
  if (value.type !== "tool_call") return false;
  if (kind === "tools") return true;
  const state = transcript.call(value.id)?.value.state;
  if (kind === "running") return state === "pending" || state === "running" || state === "awaiting_permission";
  return kind === "problems" && (state === "failed" || state === "lost" || state === "interrupted");
}

function isShown(entry: Entry, kind: Kind, transcript: Transcript): boolean {
  const { value } = entry;
  switch (value.kind) {
    case "assistant":
      return entry.blocks.some((block) => isOfKind(block, kind, transcript)) || (kind === "problems" && value.state === "aborted");
    case "user":
      return kind === "text";
    case "result":
      return kind === "problems" && (value.is_error || value.outcome !== "completed");
    case "error":
      return kind === "problems";
    default:
      // A retry, a gap or a line that is not understood.
      return kind === "problems" && /retry|gap|unknown|error|limit/.test(value.notice);
  }
}

/** The numbers of the entries of a thread that a filter shows, in order, kept up to date with the transcript. */
export class FilteredEntries {
  #thread: string | null = null;
  #kind: Kind = "all";
  #shown: number[] = [];

  /** Returns the entries. `touched` is what has changed since the last call. */
  read(transcript: Transcript, thread: string | null, kind: Kind, touched: Touched): readonly number[] {
    const all = transcript.entryNumbers(thread);
    if (kind === "all") {
      this.#kind = kind;
      return all;
    }
    const isOther = thread !== this.#thread || kind !== this.#kind;
    this.#thread = thread;
    this.#kind = kind;
    // A call may be of another kind in any entry.
    if (isOther || touched.reset || touched.calls.size > 0) {
      this.#shown = all.filter((number) => isShown(transcript.entry(number)!, kind, transcript));
    } else if (touched.entries.size > 0 || touched.threads.size > 0) this.#update(transcript, touched);
    return this.#shown;
  }

  #update(transcript: Transcript, touched: Touched): void {
    const shown = new Set(this.#shown);
    for (const number of touched.entries) {
      const entry = transcript.entry(number);
      if (entry && entry.thread === this.#thread && isShown(entry, this.#kind, transcript)) shown.add(number);
      else shown.delete(number);
    }
    this.#shown = [...shown].filter((number) => transcript.entry(number)).sort((a, b) => a - b);
  }
}
