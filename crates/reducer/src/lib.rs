//! Folds the events of a coding agent's stream into a typed transcript; pure.
//!
//! Events go in; a [`Transcript`] and coalesced [`Changes`] come out. The crate reads no clock, file
//! or socket, starts no thread and is not `async`: lines, host events and their arrival times are
//! arguments.
//!
//! # Terms
//!
//! | term | meaning |
//! |---|---|
//! | transcript, entry | the reduced record; one row of it |
//! | block | one part of a message: text, thinking, tool use |
//! | tool call | a tool use and its result; it holds the thread of its sub-agent |
//! | thread | a sequence of entries: the main one, or that of a sub-agent |
//! | task | background work that the agent announces; may outlive its tool call |
//! | change | the current value of one record, for a reader that has not seen it |
//! | offset | byte position in the stream |
//!
//! # Example
//!
//! ```
//! use bowline_jsonl::Framer;
//! use bowline_reducer::{Cursor, End, Meta, Mirror, Phase, Transcript};
//!
//! let stream = br#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Ahoy"}]},"uuid":"1","session_id":"s"}
//! {"is_error":false,"result":"Ahoy","type":"result","subtype":"success","uuid":"2","session_id":"s"}
//! "#;
//! let mut framer = Framer::default();
//! framer.push(bytes::Bytes::from_static(stream));
//! framer.finish();
//!
//! let mut transcript = Transcript::new();
//! let (mut mirror, mut cursor) = (Mirror::new(), Cursor::default());
//! while let Some(frame) = framer.next_frame() {
//!     for item in frame.items() {
//!         transcript.apply(&item, Meta { at_ms: 0 });
//!         // A reader may read at any time; what changed in between is one change.
//!         let changes = transcript.changes_since(cursor);
//!         for change in changes.iter() {
//!             mirror.apply(&serde_json::to_value(&change).unwrap());
//!         }
//!         cursor = changes.cursor();
//!     }
//! }
//! assert_eq!(transcript.status().phase, Phase::Idle);
//! assert_eq!(mirror.transcript(), serde_json::to_value(&transcript).unwrap());
//!
//! transcript.end(End::Recording, Meta { at_ms: 0 });
//! assert_eq!(transcript.status().phase, Phase::Ended);
//! ```
//!
//! # Examples
//!
//! | example | types |
//! |---|---|
//! | [Example](#example) | [`Transcript`], [`Meta`], [`Changes`], [`Change`], [`ChangeParts`], [`Cursor`], [`Mirror`], [`End`], [`Phase`] |
//! | [Reading a transcript](#reading-a-transcript) | [`Entry`], [`EntryId`], [`EntryKind`], [`MessageState`], [`Outcome`], [`ErrorKind`], [`Block`], [`BlockId`], [`BlockKind`], [`Blocks`], [`TextRef`], [`Pieces`], [`Raw`], [`Session`], [`Status`], [`OpenWork`], [`Stats`], [`Usage`], [`ModelUsage`] |
//! | [Tool calls and sub-agents](#tool-calls-and-sub-agents) | [`ToolCall`], [`CallId`], [`CallState`], [`ToolCalls`], [`ToolResult`], [`Shown`], [`Thread`], [`ThreadId`], [`Task`], [`TaskId`], [`TaskState`] |
//! | [Permissions](#permissions) | [`HostEvent`], [`HostDecision`], [`Permission`], [`PermissionId`], [`PermissionState`], [`Asked`] |
//! | [Values and JSON](#values-and-json) | [`TranscriptChange`], [`Revision`], [`TranscriptJson`], [`EntryDetail`], [`BlockDetail`], [`Subagent`], [`Snapshot`], [`JsonChunks`], [`Schema`], [`SCHEMA`] |
//! | [`Page`] | [`Page`], [`Window`], [`Evicted`], [`LogPosition`] |
//!
//! ## Reading a transcript
//!
//! ```
//! use bowline_reducer::{BlockKind, EntryKind, MessageState, Outcome, Transcript};
//!
//! fn print(transcript: &Transcript) {
//!     println!("{:?} ({})", transcript.status().phase, transcript.status().reason);
//!     println!("model {:?}, {} USD", transcript.session().model(), transcript.usage().cost_usd());
//!     for entry in transcript.entries() {
//!         match entry.kind() {
//!             EntryKind::User { text, .. } => println!("> {text}"),
//!             EntryKind::Assistant { state, blocks, .. } => {
//!                 for block in blocks.iter() {
//!                     match block.kind() {
//!                         // A text that streamed while others did has several pieces.
//!                         BlockKind::Text { text } => text.pieces().for_each(|it| print!("{it}")),
//!                         BlockKind::ToolCall { id } => println!("calls {id}"),
//!                         BlockKind::Other { raw } => println!("{}", raw.text()),
//!                         _ => {}
//!                     }
//!                 }
//!                 if state == MessageState::Aborted {
//!                     println!("(aborted)");
//!                 }
//!             }
//!             EntryKind::Result { outcome: Outcome::Cancelled, .. } => println!("cancelled"),
//!             EntryKind::Error { error, text } => println!("{error:?}: {text}"),
//!             _ => {}
//!         }
//!     }
//!     for (model, usage) in transcript.usage().models() {
//!         println!("{model}: {} tokens written", usage.output_tokens);
//!     }
//!     println!("{} lines, {} open calls", transcript.stats().lines(), transcript.open_work().calls);
//! }
//! # print(&Transcript::new());
//! ```
//!
//! ## Tool calls and sub-agents
//!
//! ```
//! use bowline_reducer::{CallState, TaskState, Thread, Transcript};
//!
//! /// Prints a thread, and below each call the thread of its sub-agent.
//! fn print(thread: Thread<'_>, depth: usize) {
//!     for call in thread.tool_calls().iter() {
//!         let title = call.shown().title.unwrap_or_default();
//!         println!("{:depth$}{} {title}: {:?}", "", call.name(), call.state());
//!         if let (CallState::Failed, Some(result)) = (call.state(), call.result()) {
//!             println!("{:depth$}{}", "", result.text());
//!         }
//!         if let Some(subagent) = call.subagent() {
//!             print(subagent, depth + 2);
//!         }
//!     }
//! }
//!
//! let transcript = Transcript::new();
//! print(transcript.main(), 0);
//! let running = transcript.tasks().filter(|task| task.state() == TaskState::Running);
//! assert_eq!(running.count(), 0);
//! ```
//!
//! ## Permissions
//!
//! ```
//! use bowline_jsonl::Framer;
//! use bowline_reducer::{HostDecision, HostEvent, Meta, PermissionState, Transcript};
//!
//! let request = r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t","input":{"command":"ls"}}}"#;
//! let mut framer = Framer::default();
//! framer.push(format!("{request}\n").into());
//! let (mut transcript, at) = (Transcript::new(), Meta { at_ms: 0 });
//! while let Some(frame) = framer.next_frame() {
//!     frame.items().for_each(|item| transcript.apply(&item, at));
//! }
//! let asked = transcript.permission("r").unwrap().asked();
//! assert_eq!(transcript.pending_permissions().len(), 1);
//! # drop(asked);
//!
//! // The answer that the host wrote to the agent.
//! let decision = HostDecision::Allow { updated_input: None };
//! transcript.apply_host(HostEvent::PermissionAnswered { request_id: "r", decision }, at);
//! assert_ne!(transcript.permission("r").unwrap().state(), PermissionState::Open);
//! ```
//!
//! ## Values and JSON
//!
//! ```
//! use bowline_reducer::{Cursor, SCHEMA, Schema, Subagent, Transcript, TranscriptChange};
//!
//! let mut transcript = Transcript::new();
//! // Owned values may be kept and sent to other threads.
//! let changes = transcript.changes_since(Cursor::default());
//! for change in changes.iter().map(TranscriptChange::from) {
//!     match change {
//!         TranscriptChange::Entry { value, detail, .. } => println!("{value:?} at {:?}", detail.at_ms),
//!         TranscriptChange::Block { value, detail, .. } => println!("{value:?} in {:?}", detail.bytes),
//!         _ => {}
//!     }
//! }
//! let cursor = changes.cursor();
//! assert_eq!(cursor, Cursor::at(transcript.revision()));
//! // The thread of a sub-agent, or the main one, alone.
//! println!("{}", serde_json::to_string(&Subagent(transcript.main())).unwrap());
//!
//! let json = transcript.json(Schema::default()).to_string();
//! assert!(json.contains(&format!("\"schema\":{SCHEMA}")));
//! // A snapshot shares memory with the transcript, and its JSON comes in chunks.
//! let chunks = transcript.snapshot().json_chunks(Schema::default());
//! assert_eq!(chunks.collect::<Vec<_>>().concat(), json.into_bytes());
//! ```
//!
//! # Duplicates
//!
//! First the offset: a line that begins before [`Transcript::applied`] is ignored, so that a replay
//! may begin anywhere. Then the beginning of the stream: when its first line with a uuid comes again,
//! the stream is repeated, and every line up to the end of what is known is dropped, whether it has
//! a uuid or not. Then the `uuid`: a line that is repeated at another offset is counted in
//! `duplicates` and dropped; an echo is compared with the prompt that it repeats. Otherwise a line
//! without a uuid is never a duplicate. Last the `message.id`: the lines of one message form one
//! entry.
//!
//! # Notices
//!
//! Lines with information outside of the conversation become `notice` entries:
//!
//! | line | text |
//! |---|---|
//! | `system/informational`, `notification`, `local_command_output` | its own |
//! | `system/compact_boundary` | trigger, and tokens before and after |
//! | `system/status` with `compact_error` | the error |
//! | `system/api_retry` | attempt, delay, error |
//! | `system/permission_denied` | tool and reason |
//! | `system/model_refusal_fallback`, `model_refusal_no_fallback` | its own, or the model |
//! | `system/session_writes_lost`, `mirror_error`, `plugin_install` (failed), `worker_shutting_down` | the error or reason |
//! | `conversation_reset` | its trigger |
//! | `tool_use_summary` | the summary |
//! | `rate_limit_event` with status `rejected` | the limit |
//! | `auth_status` with an error, a `stream_event` of type `error` | the error |
//! | an unknown type or `system` subtype with a string in `content`, `text`, `message` or `summary` | that string |
//!
//! Other lines are no entries. They change the status, tasks, permissions or session (`init`,
//! `status`, `task_*`, `background_tasks_changed`, `control_*`), or are not relevant to a reader
//! (`hook_*`, `thinking_tokens`, `command_lifecycle`, `tool_progress`, `keep_alive`,
//! `commands_changed`, `memory_recall`, `files_persisted`, `prompt_suggestion`, `active_goal`,
//! `session_state_changed`, `session_title_changed`, `transcript_mirror`). A `user` line without a
//! session is the host's own input, echoed by a terminal, and is ignored.
//!
//! # Dialects
//!
//! The stream is Claude Code's unless [`Transcript::with_dialect`] says otherwise; see [`dialect`].
//!
//! # Changes as JSON
//!
//! `SCHEMA.md`, beside the sources, describes the transcript as JSON. Each [`Change`] is one object with its kind under `change`: `reset`, `session`, `status`,
//! `entry`, `entry_removed`, `block`, `append`, `block_removed`, `tool_call`, `tool_call_removed`,
//! `task`, `permission`, `usage`, `stats`. Values have the shape of the transcript's JSON, except
//! that blocks and the content of sub-agents are changes of their own, which name their parent, and what schema 2 adds to them is beside the value.
//! [`Mirror`] reconstructs the transcript from them.
//!
//! # Storage
//!
//! Records are in shared vectors (`Arc`) of 64, and texts in shared chunks. A [`Snapshot`] shares both,
//! and a record that changes afterwards copies its page. On the benchmark corpora a transcript takes
//! 1.01 to 1.29 bytes of heap for each byte of content.

mod arena;
mod change;
pub mod dialect;
mod dialect_name;
mod fold;
mod host;
mod host_log;
mod index;
mod json;
mod json_chunks;
mod list;
mod log;
mod mirror;
pub mod model;
mod names;
pub mod owned;
mod page;
mod position;
mod record;
mod repetition;
mod schema;
mod segment;
mod snapshot;
mod state;
mod store;
#[cfg(test)]
mod test_util;
mod time;
mod transcript;
mod uuids;
mod view;
mod window;

pub use arena::{Pieces, TextRef};
pub use change::{Change, ChangeParts, Changes};
pub use host::{End, HostDecision, HostEvent, Meta};
pub use json::{BlockDetail, EntryDetail, TranscriptJson};
pub use json_chunks::JsonChunks;
pub use log::{Cursor, Revision};
pub use mirror::Mirror;
pub use owned::TranscriptChange;
pub use page::{Evicted, Page};
pub use position::LogPosition;
pub use record::{BlockId, CallId, EntryId, PermissionId, TaskId, ThreadId};
pub use schema::{SCHEMA, Schema};
pub use segment::Window;
pub use snapshot::Snapshot;
pub use state::{CallState, ErrorKind, MessageState, Outcome, PermissionState, Phase, TaskState};
pub use transcript::Transcript;
pub use view::{
    Asked, Block, BlockKind, Blocks, Entry, EntryKind, ModelUsage, OpenWork, Permission, Raw,
    Session, Shown, Stats, Status, Subagent, Task, Thread, ToolCall, ToolCalls, ToolResult, Usage,
};
