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
//!
//! # Examples
//!
//! | example | types and functions |
//! |---|---|
//! | [Example](#example) | [`Framer`], [`DEFAULT_MAX_LINE`], [`Frame`], [`Items`], [`Item`], [`Event`], [`Body`], [`Assistant`], [`Message`], [`MessageContent`], [`Blocks`], [`Block`] |
//! | [Lines of an agent](#lines-of-an-agent) | [`Abandoned`], [`ApiError`], [`ApiEvent`], [`ApiRetry`], [`AuthStatus`], [`BackgroundTasksChanged`], [`BlockBody`], [`CanUseTool`], [`CommandLifecycle`], [`CommandsChanged`], [`CompactBoundary`], [`CompactMetadata`], [`ControlAnswer`], [`ControlRequest`], [`ControlRequestProgress`], [`ControlResponse`], [`ConversationReset`], [`Delta`], [`ElicitationComplete`], [`FilesPersisted`], [`HookCallback`], [`HookProgress`], [`HookResponse`], [`HookStarted`], [`Informational`], [`Init`], [`LocalCommandOutput`], [`McpMessage`], [`MemoryRecall`], [`MessageDelta`], [`MirrorError`], [`ModelRefusal`], [`ModelUsage`], [`Notification`], [`Origin`], [`PermissionCheckStatus`], [`PermissionDenied`], [`PluginInstall`], [`RequestBody`], [`ResultContent`], [`SessionStateChanged`], [`SessionTitleChanged`], [`SessionWritesLost`], [`Status`], [`StopDelta`], [`StreamEvent`], [`System`], [`SystemBody`], [`TaskNotification`], [`TaskPatch`], [`TaskProgress`], [`TaskStarted`], [`TaskUpdated`], [`TaskUsage`], [`ThinkingTokens`], [`ToolProgress`], [`ToolResult`], [`ToolUse`], [`ToolUseSummary`], [`TranscriptMirror`], [`TurnResult`], [`Usage`], [`User`], [`WorkerShuttingDown`] |
//! | [Errors and positions](#errors-and-positions) | [`ParseError`], [`ParseErrorKind`], [`Expected`], [`Position`], [`Window`], [`Oversize`] |
//! | [Lines of a host](#lines-of-a-host) | [`Prompt`], [`PromptPart`], [`Source`], [`Priority`], [`HostRequest`], [`Decision`], [`control_request`], [`cancel_request`], [`control_success`], [`control_error`], [`permission`](fn@permission), [`hook_output`], [`mcp_response`], [`keep_alive`], [`update_environment`], [`unknown_input_members`] |
//! | [Values](#values) | [`RawJson`], [`JsonKind`], [`Members`], [`Elements`], [`Str`], [`AgentVersion`] |
//!
//! ## Lines of an agent
//!
//! The body of an event is the family of its line. The structs of its variants have the members of the line
//! as fields; members that are large or rarely read are [`RawJson`].
//!
//! ```
//! use bowline_jsonl::{ApiEvent, BlockBody, Body, Delta, Event, RequestBody, Str, SystemBody};
//!
//! /// Returns what a line says.
//! fn describe(event: &Event<'_>) -> String {
//!     let text = |it: Option<Str<'_>>| it.map(|it| it.decode().into_owned()).unwrap_or_default();
//!     match &event.body {
//!         Body::System(system) => match &system.body {
//!             SystemBody::Init(init) => format!("session in {}", text(init.cwd)),
//!             SystemBody::Informational(notice) => text(notice.content),
//!             _ => String::new(),
//!         },
//!         Body::Stream(stream) => match &stream.event {
//!             ApiEvent::BlockDelta { delta: Delta::Text(delta), .. } => delta.decode().into_owned(),
//!             _ => String::new(),
//!         },
//!         Body::Assistant(line) => {
//!             let names = line.message.blocks().iter().filter_map(|block| match &block.body {
//!                 BlockBody::ToolUse(call) => Some(call.name.decode().into_owned()),
//!                 _ => None,
//!             });
//!             names.collect::<Vec<_>>().join(", ")
//!         }
//!         Body::ControlRequest(request) => match request.body() {
//!             RequestBody::CanUseTool(asked) => format!("may {} run?", text(asked.tool_name)),
//!             other => format!("{other:?}"),
//!         },
//!         Body::Result(result) => format!("{} USD", result.total_cost_usd.unwrap_or_default()),
//!         _ => String::new(),
//!     }
//! }
//! # let mut framer = bowline_jsonl::Framer::default();
//! # framer.push("{\"type\":\"result\",\"subtype\":\"success\",\"total_cost_usd\":0.5}\n".into());
//! # let frame = framer.next_frame().unwrap();
//! # let item = frame.items().next().unwrap();
//! # assert_eq!(describe(&item.event.unwrap()), "0.5 USD");
//! ```
//!
//! ## Errors and positions
//!
//! ```
//! use bowline_jsonl::{Expected, Frame, Framer, ParseErrorKind};
//!
//! // Lines of more than 32 bytes are skipped and reported.
//! let mut framer = Framer::new(32);
//! framer.push(format!("{{\"type\":}}\n{}\n", "x".repeat(64)).into());
//! let mut errors = Vec::new();
//! while let Some(frame) = framer.next_frame() {
//!     if let Frame::Oversize(line) = &frame {
//!         assert_eq!((line.length, line.limit), (64, 32));
//!     }
//!     for item in frame.items() {
//!         errors.push((item.at.offset, item.event.unwrap_err().kind()));
//!     }
//! }
//! assert_eq!(errors[0], (0, ParseErrorKind::Syntax(Expected::Value)));
//! assert_eq!(errors[1], (10, ParseErrorKind::TooLong { length: 64, limit: 32 }));
//! ```
//!
//! ## Lines of a host
//!
//! ```
//! use bowline_jsonl::{Decision, HostRequest, Priority, Prompt, PromptPart, Source, control_request, permission};
//!
//! let mut prompt = Prompt::text("What is in this picture?");
//! let picture = Source::Base64 { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
//! prompt.parts.push(PromptPart::Image(picture));
//! prompt.priority = Some(Priority::Next);
//! let lines = [
//!     prompt.encode(),
//!     control_request("host-1", &HostRequest::SetModel { model: None }),
//!     permission("agent-7", &Decision::deny("not now"), None),
//! ];
//! // Each is one line with its LF.
//! assert!(lines.iter().all(|line| line.iter().filter(|it| **it == b'\n').count() == 1));
//! ```
//!
//! The other functions encode the lines of their names in the same way, and [`unknown_input_members`] finds what a
//! line has beside them.
//!
//! ## Values
//!
//! ```
//! use bowline_jsonl::{AgentVersion, JsonKind, RawJson};
//!
//! let input = RawJson::parse(r#"{"path":"caf\u00e9","lines":[1,2]}"#).unwrap();
//! assert_eq!(input.kind(), JsonKind::Object);
//! assert_eq!(input.members().count(), 2);
//! let path = input.get("path").and_then(RawJson::as_str).unwrap();
//! assert_eq!((path.raw(), &*path.decode()), (r"caf\u00e9", "café"));
//! let lines = input.get("lines").unwrap().elements().filter_map(RawJson::as_u64);
//! assert_eq!(lines.sum::<u64>(), 3);
//! assert!(AgentVersion::parse("2.1.330 (Claude Code)").unwrap() > AgentVersion::OLDEST);
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
mod unknown_members;
mod version;

pub use encode::{
    Decision, HostRequest, Priority, Prompt, PromptPart, Source, cancel_request, control_error,
    control_request, control_success, hook_output, keep_alive, mcp_response, permission,
    unknown_input_members, update_environment,
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
