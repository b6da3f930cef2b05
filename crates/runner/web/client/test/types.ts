// The types of the client have the members that the OpenAPI document has. The compiler is the test: `npm run check`.
import type {
  Api,
  CallValue,
  Limit,
  PermissionOption,
  PermissionQuestion,
  PermissionValue,
  PlanStep,
  QueuedPrompt,
  SessionFields,
  SessionOption,
  Stats,
  Status,
  TaskValue,
  TokenUsage,
  Usage,
} from "@bowline/client";

type HaveSameMembers<A, B> = [keyof A] extends [keyof B] ? ([keyof B] extends [keyof A] ? true : false) : false;

/** Members of a transcript that changes have apart from the session's fields. */
type Apart = "schema" | "status" | "entries" | "tool_calls" | "tasks" | "permissions" | "usage" | "stats";

/** A member that only one side has makes a type `false`, which `true` is not. */
export const SAME: [
  HaveSameMembers<SessionFields, Omit<Api.Transcript, Apart>>,
  HaveSameMembers<CallValue, Api.ToolCall>,
  HaveSameMembers<PermissionValue, Api.TranscriptPermission>,
  HaveSameMembers<PermissionOption, Api.RequestOption>,
  HaveSameMembers<PermissionQuestion, Api.Question>,
  HaveSameMembers<PlanStep, Api.PlanItem>,
  HaveSameMembers<QueuedPrompt, Api.QueuedPrompt>,
  HaveSameMembers<SessionOption, Api.SessionOption>,
  HaveSameMembers<Limit, Api.Limit>,
  HaveSameMembers<Stats, Api.Stats>,
  HaveSameMembers<Status, Api.Status>,
  HaveSameMembers<TaskValue, Api.Task>,
  HaveSameMembers<TokenUsage, Api.Tokens>,
  HaveSameMembers<Usage, Api.Usage>,
] = [true, true, true, true, true, true, true, true, true, true, true, true, true, true];
