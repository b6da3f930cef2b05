//! Updates of a session for an editor, before they are written in a version of the protocol.

use std::sync::Arc;

use bowline_reducer::model::{Command, PlanItem, SessionOption};

use super::tool_call::CallUpdate;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Version {
    #[default]
    V1,
    /// The draft.
    V2,
}

/// An update, and the session in which it is shown.
#[derive(Debug)]
pub(super) struct SessionUpdate {
    pub(super) session: Arc<str>,
    pub(super) update: Update,
}

#[derive(Debug)]
pub(super) enum Update {
    Text(Text),
    ToolCall(Box<CallUpdate>),
    /// Replaces the plan.
    Plan(Vec<PlanItem>),
    /// Replaces the commands.
    Commands(Vec<Command>),
    /// Replaces the settings.
    Options(Vec<SessionOption>),
    /// The permission mode, for editors that do not use settings. Version 2 has settings only.
    Mode(String),
    Title(Option<String>),
    Usage {
        /// Used tokens of the context window.
        used: u64,
        size: u64,
        cost_usd: f64,
    },
    Notice {
        is_error: bool,
        text: String,
    },
    Child {
        session: Arc<str>,
        /// Absent if unchanged.
        title: Option<String>,
        progress: Progress,
    },
    /// Activity of the session, which version 1 cannot express.
    Progress(Progress),
}

/// Text of a message.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) speaker: Speaker,
    pub(super) message: String,
    pub(super) text: String,
    /// Whether it replaces what was sent of the message, or else is appended. Version 1 can only append.
    pub(super) is_whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Agent,
    Thought,
}

/// Activity of a session, or of that of a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Running,
    RequiresAction,
    /// With what ended the work, if some did.
    Idle(Option<Stop>),
}

/// Why work ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    /// With the error, or nothing.
    Failed(String),
}
