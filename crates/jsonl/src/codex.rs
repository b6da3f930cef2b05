//! `codex app-server` (PROTOCOL-codex.md): what Codex writes, and what a host writes.
//!
//! Codex' lines are [`ServerMessage`]s, a host's lines [`ClientMessage`]s. Both borrow from a
//! [`Message`](crate::rpc::Message). A method, an item or a member that this module does not name is kept
//! as text. The functions of [`write`](mod@write) encode a host's lines.
//!
//! ```
//! use bowline_jsonl::{RawJson, codex::ServerMessage, rpc::Message};
//!
//! let line = r#"{"method":"item/agentMessage/delta","params":{"threadId":"t","itemId":"i","delta":"Ahoy"}}"#;
//! let message = Message::parse(RawJson::parse(line).unwrap()).unwrap();
//! let ServerMessage::TextDelta(delta) = ServerMessage::of(message) else { panic!() };
//! assert_eq!(delta.delta.unwrap(), "Ahoy");
//! ```

mod client;
mod item;
mod server;
pub mod write;

pub use client::{
    ApprovalAnswer, ClientMessage, ThreadRequest, TurnRequest, UserInput, UserInputAnswer,
};
pub use item::{AgentState, CommandAction, FileChange, FileChangeKind, Item};
pub use server::{
    Approval, ItemDelta, ItemLine, LimitWindow, PlanStep, Question, QuestionOption, Questions,
    RateLimits, ServerMessage, ServerNotice, Thread, ThreadOpened, ThreadStatus, TokenCounts,
    TokenUsage, Tokens, Turn, TurnError, TurnLine, TurnPlan,
};
