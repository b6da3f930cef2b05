/** The transcript as JSON, schema 2, and its changes: `crates/reducer/SCHEMA.md`. */

export type Phase = "starting" | "idle" | "running" | "awaiting_permission" | "ended" | "lost";

/** Offsets in the agent's output: from the first byte to the end of the last line. */
export type Range = readonly [from: number, to: number];

export interface Status {
  readonly phase: Phase;
  readonly reason: string;
}

export interface Usage {
  readonly cost_usd: number;
  readonly models: Readonly<Record<string, TokenUsage>>;
}

export interface TokenUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_creation_tokens: number;
}

export interface Stats {
  readonly bytes: number;
  readonly lines: number;
  readonly events: number;
  readonly duplicates: number;
  readonly parse_errors: number;
  readonly unknown: Readonly<Record<string, number>>;
  readonly truncated: boolean;
  /** Bytes that are missing; absent if none are. */
  readonly missing?: number;
  /** Whether a part of unknown length is missing; absent if none is. */
  readonly damaged?: boolean;
}

/** What is known of the session as a whole. */
export interface SessionFields {
  readonly session_id: string | null;
  readonly conversations: readonly string[];
  readonly model: string | null;
  readonly cwd: string | null;
  readonly cli_version: string | null;
  readonly permission_mode: string | null;
  readonly dialect: string;
  readonly agent: { readonly name: string | null; readonly version: string | null };
  readonly title: string | null;
  readonly plan: readonly PlanStep[];
  readonly queue: readonly QueuedPrompt[];
  readonly context: { readonly used: number | null; readonly size: number | null } | null;
  readonly limits: readonly Limit[];
  readonly options: readonly SessionOption[];
  readonly commands: readonly { readonly name: string; readonly description: string | null }[];
  readonly threads: Readonly<Record<string, ThreadHead>>;
}

export interface PlanStep {
  readonly text: string;
  readonly state: "pending" | "in_progress" | "completed";
  readonly priority: "high" | "medium" | "low" | null;
}

export interface QueuedPrompt {
  readonly id: string;
  readonly text: string;
  readonly state: "waiting" | "sent";
}

export interface Limit {
  readonly window: string;
  readonly used_share: number | null;
  readonly resets_at_ms: number | null;
}

export interface SessionOption {
  readonly id: string;
  readonly name: string | null;
  readonly category: string | null;
  readonly value: string | null;
  readonly choices: readonly { readonly id: string; readonly name: string | null; readonly description: string | null }[];
}

export interface ThreadHead {
  readonly call: string | null;
  readonly title: string | null;
  readonly state: string | null;
  readonly usage: TokenUsage | null;
}

interface EntryFields {
  readonly turn: string | null;
  readonly at_ms: number | null;
  readonly bytes: Range | null;
  readonly history: boolean;
}

export type EntryValue =
  | { readonly kind: "user"; readonly uuid: string | null; readonly text: string; readonly replay: boolean; readonly synthetic: boolean }
  | {
      readonly kind: "assistant";
      readonly message_id: string | null;
      readonly model: string | null;
      readonly state: "streaming" | "complete" | "aborted";
      readonly blocks: readonly BlockValue[];
    }
  | {
      readonly kind: "result";
      readonly subtype: string;
      readonly is_error: boolean;
      readonly outcome: "completed" | "cancelled" | "failed" | "suspended";
      readonly text: string | null;
      readonly origin: string | null;
      readonly num_turns: number;
      readonly duration_ms: number;
    }
  | { readonly kind: "notice"; readonly notice: string; readonly text: string }
  | { readonly kind: "error"; readonly error: string; readonly text: string };

export type EntryJson = EntryValue & EntryFields;

export type BlockValue = { readonly bytes?: Range | null } & (
  | { readonly type: "text" | "thinking"; readonly text: string }
  | { readonly type: "redacted_thinking" }
  | { readonly type: "tool_call"; readonly id: string }
  | { readonly type: "other"; readonly raw: unknown }
);

export type CallState =
  | "pending"
  | "awaiting_permission"
  | "running"
  | "succeeded"
  | "failed"
  | "interrupted"
  | "lost";

export type CallContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "diff"; readonly path: string; readonly old: string | null; readonly new: string | null; readonly patch: string | null }
  | { readonly type: "terminal"; readonly command: string | null; readonly cwd: string | null };

export interface CallValue {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly state: CallState;
  readonly result: { readonly is_error: boolean; readonly text: string } | null;
  readonly title: string | null;
  readonly kind: string | null;
  readonly locations: readonly { readonly path: string; readonly line: number | null }[];
  readonly content: readonly CallContent[];
  readonly output: string | null;
  readonly exit_code: number | null;
  readonly started_ms: number | null;
  readonly ended_ms: number | null;
  readonly bytes: Range | null;
  readonly usage: TokenUsage | null;
  readonly subagent: {
    readonly agent_id: string | null;
    readonly type: string | null;
    readonly title: string | null;
    readonly state: string | null;
    readonly usage: TokenUsage | null;
  } | null;
}

export interface TaskValue {
  readonly kind: string | null;
  readonly state: string;
  readonly description: string | null;
  readonly tool_use_id: string | null;
}

export interface PermissionOption {
  readonly id: string;
  readonly name: string;
  readonly kind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
}

export interface PermissionQuestion {
  readonly id: string;
  readonly title: string | null;
  readonly text: string;
  readonly kind: "single" | "multiple" | "text";
  readonly options: readonly { readonly value: string; readonly name: string | null; readonly description: string | null }[];
  readonly free_text: boolean;
}

export interface PermissionValue {
  readonly request_id: string;
  readonly tool_use_id: string | null;
  readonly tool_name: string;
  readonly state: "open" | "allowed" | "denied" | "answered" | "withdrawn" | "expired" | "orphaned";
  readonly kind: "permission" | "question" | "url";
  readonly options: readonly PermissionOption[];
  readonly questions: readonly PermissionQuestion[];
  readonly url: string | null;
  readonly thread: string | null;
  readonly rule: string | null;
  readonly decided_by: { readonly who: string | null; readonly how: string; readonly at_ms: number | null } | null;
  readonly bytes: Range | null;
}

/** One change of a transcript. Unknown kinds are ignored, for compatibility with newer runners. */
export type Change =
  | { readonly change: "reset" }
  | { readonly change: "session"; readonly session: SessionFields }
  | { readonly change: "status"; readonly status: Status }
  | { readonly change: "usage"; readonly usage: Usage }
  | { readonly change: "stats"; readonly stats: Stats }
  | ({ readonly change: "entry"; readonly entry: number; readonly thread: string | null; readonly value: EntryValue } & EntryFields)
  | { readonly change: "entry_removed"; readonly entry: number }
  | { readonly change: "block"; readonly block: number; readonly entry: number; readonly value: BlockValue; readonly bytes: Range | null }
  | { readonly change: "append"; readonly block: number; readonly from: number; readonly text: string; readonly end: number }
  | { readonly change: "block_removed"; readonly block: number }
  | { readonly change: "tool_call"; readonly call: number; readonly thread: string | null; readonly value: CallValue }
  | { readonly change: "tool_call_removed"; readonly call: number }
  | { readonly change: "task"; readonly task: string; readonly value: TaskValue }
  | { readonly change: "permission"; readonly permission: number; readonly value: PermissionValue };
