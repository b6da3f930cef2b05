//! Zero-copy parser for the stream-json of coding agents: bytes in, borrowed events out.
//!
//! The crate reads no clock, file or socket, starts no thread and is not `async`: bytes are an argument
//! and events are the result. Every input byte ends up in an event or in an error. The protocol is
//! described in `PROTOCOL.md` beside the sources. The crate also encodes the lines that a host writes
//! ([`Prompt`], [`control_request`], [`permission`]).
//!
//! Agents that speak JSON-RPC instead are read and written by [`codex`] (`PROTOCOL-codex.md`) and [`acp`]
//! (`PROTOCOL-acp.md`), over [`rpc`]. To the framer their lines are events of an unknown type, whose
//! [`raw`](Event::raw) text is the message.
//!
//! The grammar is written in nom and has no `unsafe`. The feature `simd` (default) adds vector code for
//! x86-64 as leaves of the grammar; without it the crate forbids `unsafe`.
//!
//! # Words
//!
//! | word | for |
//! |---|---|
//! | line | one JSONL line, which ends at LF |
//! | window | whole lines that are contiguous in memory and parsed in place |
//! | event | one parsed line, borrowed from its window |
//! | block | one part of a message: text, thinking, tool use, tool result |
//!
//! # Example
//!
//! ```
//! use bowline_jsonl::{Body, Framer};
//! use bytes::Bytes;
//!
//! let mut framer = Framer::default();
//! // Chunks may end anywhere: inside a line, an escape or a character.
//! framer.push(Bytes::from_static(b"{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"ty"));
//! framer.push(Bytes::from_static(b"pe\":\"text\",\"text\":\"Ahoy\"}]}}\nnot json\n"));
//! framer.finish();
//!
//! let mut text = String::new();
//! let mut errors = 0;
//! while let Some(frame) = framer.next_frame() {
//!     for item in frame.items() {
//!         match item.event {
//!             Ok(event) => {
//!                 if let Body::Assistant(assistant) = &event.body {
//!                     for block in assistant.message.blocks() {
//!                         block.text().decode_into(&mut text);
//!                     }
//!                 }
//!             }
//!             Err(error) => {
//!                 errors += 1;
//!                 assert_eq!(error.line(), 2);
//!             }
//!         }
//!     }
//! }
//! assert_eq!((text.as_str(), errors), ("Ahoy", 1));
//! ```

#![cfg_attr(not(feature = "simd"), forbid(unsafe_code))]

pub mod acp;
pub mod codex;
mod cut;
mod encode;
mod error;
mod escape;
mod event;
mod frame;
mod framer;
mod grammar;
mod items;
mod raw;
mod reader;
pub mod rpc;
mod scan;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
mod simd;
mod text;
mod version;

pub use encode::{
    Decision, HostRequest, Priority, Prompt, PromptPart, Source, cancel_request, control_error,
    control_request, control_success, hook_output, keep_alive, mcp_response, permission,
    update_environment,
};
pub use error::{Expected, ParseError, ParseErrorKind};
pub use event::{
    Abandoned, ApiError, ApiEvent, ApiRetry, Assistant, AuthStatus, BackgroundTasksChanged, Block,
    BlockBody, Blocks, Body, CanUseTool, CommandLifecycle, CommandsChanged, CompactBoundary,
    CompactMetadata, ControlAnswer, ControlRequest, ControlRequestProgress, ControlResponse,
    ConversationReset, Delta, ElicitationComplete, Event, FilesPersisted, HookCallback,
    HookProgress, HookResponse, HookStarted, Informational, Init, LocalCommandOutput, McpMessage,
    MemoryRecall, Message, MessageContent, MessageDelta, MirrorError, ModelRefusal, ModelUsage,
    Notification, Origin, PermissionCheckStatus, PermissionDenied, PluginInstall, RequestBody,
    ResultContent, SessionStateChanged, SessionTitleChanged, SessionWritesLost, Status, StopDelta,
    StreamEvent, System, SystemBody, TaskNotification, TaskPatch, TaskProgress, TaskStarted,
    TaskUpdated, TaskUsage, ThinkingTokens, ToolProgress, ToolResult, ToolUse, ToolUseSummary,
    TranscriptMirror, TurnResult, Usage, User, WorkerShuttingDown,
};
pub use frame::{Frame, Oversize, Window};
pub use framer::{DEFAULT_MAX_LINE, Framer};
pub use items::{Item, Items, Position};
pub use raw::{Elements, JsonKind, Members, RawJson};
pub use text::Str;
pub use version::AgentVersion;
