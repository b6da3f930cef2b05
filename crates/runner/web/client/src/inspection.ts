/** What the runner answers about a session that is inspected. */
import type { CallState, Change, PermissionValue, Range, TokenUsage } from "./types.js";

/** A moment of a session: an offset of the output (with one of the input, for what was written there), a line, or a time. */
export type Moment =
  | { readonly at: number; readonly input?: number }
  | { readonly line: number }
  | { readonly at_ms: number };

/** Which entries of the main thread are read. Default: the last ones. */
export type WindowStart = { readonly from?: number } | { readonly entry: number };

/** A part of a transcript. */
export interface TranscriptPart {
  /** Offsets in the output and the input up to which it was folded. */
  readonly at: number;
  readonly input: number;
  /** When the last output up to there arrived; `null` if unknown. */
  readonly at_ms: number | null;
  /** Lines of output up to there. */
  readonly line: number;
  /** Number of entries of the main thread in all. */
  readonly entries: number;
  /** Index of the first entry of this part, and their number. */
  readonly from: number;
  readonly count: number;
  /** A reset, and the changes that make up this part. */
  readonly changes: readonly Change[];
}

/** Where a page of lines begins. */
export type LineStart = { readonly from: number } | { readonly offset: number } | { readonly line: number } | { readonly entry: number };

/** Lines of a session, of all its streams in one order. */
export interface LinePage {
  /** Number of rows, and of lines, in all. */
  readonly rows: number;
  readonly lines: number;
  /** Index of the first item, and of the one that was asked for. */
  readonly from: number;
  readonly at: number;
  readonly items: readonly LineItem[];
}

/** A line; or several of one type that became a part of the same. */
export interface LineItem {
  /** Index of its first line among those of every stream. */
  readonly index: number;
  readonly lines: number;
  readonly stream: "output" | "input" | "stderr" | "gap";
  /** Number of its first line in its stream, from 1; 0 of a gap. */
  readonly number: number;
  readonly bytes: Range;
  readonly kind: string;
  readonly about: string | null;
  readonly at_ms: number | null;
  readonly became: readonly LineTarget[];
  readonly note: "duplicate" | "unknown" | "invalid" | null;
  readonly error: string | null;
}

export interface LineTarget {
  readonly type: "entry" | "tool_call" | "permission" | "task" | "session" | "status" | "usage";
  /** The number of the entry, the call, the permission request or the task, as in changes. */
  readonly number: number | null;
  /** The entry of the main thread that it is a part of. */
  readonly main_entry: number | null;
}

/** A line with members that the runner does not read. */
export interface UnknownMembers {
  readonly offset: number;
  /** JSON pointers (RFC 6901). */
  readonly members: readonly string[];
}

/** Lines whose members were looked at. */
export interface CheckedMembers {
  /** Whether the runner lists the members of the protocol; if not, no line is checked. */
  readonly is_checked: boolean;
  /** Lines whose members are not checked, since the runner keeps them as a whole. */
  readonly kept_whole: number;
  /** The lines that have members which the runner does not read. */
  readonly lines: readonly UnknownMembers[];
}

/** A part of a session. Times are in milliseconds since the Unix epoch; `null` if unknown. */
export interface Span {
  readonly from_ms: number | null;
  readonly to_ms: number | null;
  readonly bytes: Range;
}

export interface Timeline {
  readonly from_ms: number | null;
  readonly to_ms: number | null;
  /** Whether the lines of output are in the order of their times. If not, a time does not tell a moment, and an offset does. */
  readonly is_ordered: boolean;
  readonly end: number;
  readonly lines: number;
  readonly turns: readonly (Span & { readonly turn: string; readonly entry: number; readonly outcome: string | null; readonly cost_usd: number | null })[];
  readonly model_calls: readonly (Span & {
    readonly entry: number;
    readonly thread: string | null;
    readonly model: string | null;
    /** `output_tokens` is `null` if the agent does not report the final count. */
    readonly usage: (Omit<TokenUsage, "output_tokens"> & { readonly output_tokens: number | null }) | null;
  })[];
  readonly tools: readonly (Span & {
    readonly id: string;
    readonly name: string;
    readonly title: string | null;
    readonly state: CallState;
    readonly thread: string | null;
    readonly subagent: boolean;
    readonly entry: number | null;
  })[];
  readonly permissions: readonly (Span & {
    readonly request_id: string;
    readonly tool_name: string;
    readonly state: PermissionValue["state"];
    readonly tool_use_id: string | null;
  })[];
  readonly context: readonly { readonly at_ms: number | null; readonly offset: number; readonly used: number; readonly size: number | null }[];
  readonly compactions: readonly { readonly at_ms: number | null; readonly offset: number; readonly entry: number }[];
  readonly left_out: number;
}

/** The streams of a session. */
export type LogStream = "tty" | "stdout" | "stderr" | "input" | "control" | "lifecycle";
