//! The Agent Client Protocol, version 1 (PROTOCOL-acp.md): what an agent writes, and what a host writes.
//!
//! An agent's lines are [`AgentMessage`]s, a host's lines [`HostMessage`]s. Both borrow from a
//! [`Message`](crate::rpc::Message). A method, an update or a member that this module does not name is
//! kept as text. The functions of [`write`](mod@write) encode a host's lines.
//!
//! ```
//! use bowline_jsonl::{RawJson, acp::{AgentMessage, Update}, rpc::Message};
//!
//! let line = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":
//!     {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Ahoy"}}}}"#;
//! let line = line.replace('\n', " ");
//! let message = Message::parse(RawJson::parse(&line).unwrap()).unwrap();
//! let AgentMessage::Update(update) = AgentMessage::of(message) else { panic!() };
//! let Update::AgentMessage(chunk) = update.update() else { panic!() };
//! assert_eq!(chunk.content.text.unwrap(), "Ahoy");
//! ```

mod message;
mod result;
mod update;
pub mod write;

pub use message::{
    AgentMessage, Elicitation, ElicitationAnswer, HostMessage, PermissionAnswer, PermissionOption,
    PermissionOutcome, PermissionRequest, SessionRequest, SettingRequest,
};
pub use result::{
    AgentCapabilities, AgentInfo, ConfigChoice, ConfigOption, Initialized, ListedSession, Mode,
    Modes, Opened, PromptCapabilities, PromptResult, PromptUsage, SessionCapabilities, SessionList,
};
pub use update::{
    Chunk, ClaudeMeta, Command, Compaction, ContentBlock, Cost, Location, Meta, Notice, Patch,
    PlanEntry, Resource, SessionInfo, SessionMessage, SessionUpdate, Subagent, SubagentState,
    TerminalExit, TerminalOutput, ToolCall, ToolContent, Update, UsageUpdate,
};
