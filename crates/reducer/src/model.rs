//! Neutral values of a transcript: what every agent's tools, requests and session have in common.
//!
//! They are modelled on ACP's draft of version 2 and on the items of Codex. A value is replaced as a
//! whole; its JSON is described in `SCHEMA.md`. An unknown value is `None` or empty, never 0.

mod call;
mod request;
mod session;

pub use call::{Content, Location, ToolKind};
pub use request::{
    AnswerKind, AnsweredBy, Question, QuestionKind, QuestionOption, RequestKind, RequestOption,
};
pub use session::{
    Choice, Command, Limit, PlanItem, PlanPriority, PlanState, QueuedPrompt, QueuedState,
    SessionOption, ThreadState,
};
