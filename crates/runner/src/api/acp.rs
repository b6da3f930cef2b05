//! Bowline as an agent of the Agent Client Protocol (ACP), version 1: editors drive the runner's sessions.
//!
//! [`Server`] is the protocol of one editor's connection: lines of JSON-RPC and what happens in the sessions
//! go in, lines for the editor and intents for the sessions come out. It has no clock and no I/O. `connection`
//! carries it over a WebSocket and works for it at the daemon's conversations.
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
mod tool_call;

pub(super) use connection::{AgentChoice, serve};
pub use intent::{
    Answer, Attachment, Failure, FailureKind, Input, Intent, ListedSession, Output, PromptEnd,
    SessionPage, StartRequest, Ticket,
};
pub use server::Server;
