/**
 * Sessions at a Bowline runner.
 *
 * `Client` calls the runner's API, `Transcript` is kept up to date by the changes that `Client.changes` yields.
 *
 * @packageDocumentation
 */
export { Backoff } from "./backoff.js";
export { Client } from "./client.js";
export type {
  AgentOnMachine,
  Answer,
  Attachment,
  ClientOptions,
  InterruptScope,
  LogSlice,
  NewSession,
  PastConversation,
  PastScreen,
  PermissionRequest,
  PromptOptions,
  QueueChange,
  Scrollback,
  ScrollbackPage,
  SearchHit,
  SearchQuery,
  SessionEvent,
  SessionSummary,
  StreamArrival,
} from "./client.js";
export { RunnerError } from "./error.js";
export { follow } from "./events.js";
export type { ConnectionState, Followed, FollowOptions, Send, Timer } from "./events.js";
export type * from "./inspection.js";
export { EventParser } from "./sse.js";
export type { ServerEvent } from "./sse.js";
export { TerminalConnection } from "./terminal.js";
export type { TerminalExit, TerminalMode, TerminalOptions, TerminalReader, TerminalSize, TerminalState } from "./terminal.js";
export { Transcript, entryBytes } from "./transcript.js";
export type { Block, Call, Entry, Touched } from "./transcript.js";
export type * from "./types.js";
/** The bodies of the API, generated from its OpenAPI document. */
export type * as Api from "./api.js";
