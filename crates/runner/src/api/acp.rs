//! Bowline as an agent of the Agent Client Protocol (ACP): editors drive the runner's sessions. Version 1, and where
//! it is asked for the draft of version 2.
//!
//! [`Server`] is the protocol of one editor's connection. Its inputs are lines of JSON-RPC and changes of
//! sessions; its outputs are lines for the editor and intents for the sessions. It has no clock and no I/O.
//! `connection` carries it over a WebSocket and executes its intents at the daemon's conversations. What an editor
//! receives is an `update`, which `v1` or `v2` writes.
//!
//! # Rules
//!
//! * A session's id is the runner's. The end of a connection detaches from its sessions and ends none of them;
//!   `session/close`, which would, is not offered.
//! * `session/load` replays the conversation before it is answered, `session/resume` does not. Both ask open
//!   permission requests again.
//! * A session that has ended is listed, loaded and resumed as one that runs. A prompt to it is refused with the
//!   data `{"code": "SESSION_ENDED"}`.
//! * MCP servers reach the agent of a new session. That of a session that is loaded has those of its start.
//! * A permission request is asked on every connection. When it is answered elsewhere, `$/cancel_request`
//!   takes it back.
//! * A turn that another client began is shown with its prompt. Only the connection that sent a prompt gets
//!   the response of it.
//! * The content of a sub-agent is a child session for an editor that declares `subagents`. Others see its tool
//!   calls on the session itself, with the id of the call that started it in `_meta`.
//! * Version 1 can only append to a message. Text that an agent takes back stays shown.
//!
//! # Version 2
//!
//! * A prompt is answered once it is part of the conversation; `state_update` says when work begins and ends. A prompt
//!   that is dropped before is answered with an error.
//! * `session/resume` with `replayFrom` takes the place of `session/load`. The state comes before its response.
//! * A message is replaced as a whole where the agent corrects it, and empty when the agent takes it back.
//! * All that is known of a call is one kind of update. A change of a file is a patch of Git.
//! * Sub-agents, notices and switches are not declared in this version; they are shown to each editor.
//!
//! The protocol is described in `crates/jsonl/PROTOCOL-acp.md`.

mod connection;
mod elicitation;
mod feed;
mod incoming;
mod intent;
mod permissions;
mod prompt;
mod server;
mod session;
mod settings;
mod shared;
mod tool_call;
mod update;
mod v1;
mod v2;

pub(super) use connection::{AgentChoice, serve};
pub use intent::{
    Answer, Attachment, Failure, FailureKind, Input, Intent, ListedSession, Output, PromptEnd,
    SessionPage, StartRequest, Ticket,
};
pub use server::Server;
