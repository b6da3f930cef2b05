//! The events.

use std::sync::Arc;

use bowline_reducer::Outcome;
use bowline_transport::{ConnectionState, SessionId};

use crate::machine::ReceiptState;
use crate::permission::PermissionRecord;
use crate::watchdog::{Silence, WorkPhase};

/// Something that happened in a dialogue.
#[derive(Clone, Debug, PartialEq)]
pub struct DialogueEvent {
    /// The session's terminal.
    pub session: SessionId,
    /// The tool calls around it, by `tool_use` id, the outermost first; empty on the main thread.
    pub path: Vec<String>,
    /// Where its line begins in the agent's output, in bytes; absent for what no line says.
    pub offset: Option<u64>,
    /// What the session is busy with.
    pub phase: WorkPhase,
    /// What happened.
    pub kind: DialogueEventKind,
}

/// What happened in a dialogue.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DialogueEventKind {
    /// A piece of a message that is being written. The whole block follows as
    /// [`Text`](Self::Text) or [`Thinking`](Self::Thinking).
    Delta {
        /// The piece.
        text: String,
        /// Whether it is of the reasoning.
        is_thinking: bool,
    },
    /// The agent said something.
    Text {
        /// What.
        text: String,
    },
    /// The agent reasoned; empty when it does not show it.
    Thinking {
        /// The reasoning.
        text: String,
    },
    /// The agent calls a tool.
    ToolUse {
        /// Names the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments, a JSON object.
        input: String,
    },
    /// A tool gave something back.
    ToolResult {
        /// The call.
        id: String,
        /// Whether the tool failed.
        is_error: bool,
        /// Its text, with placeholders for everything else.
        text: String,
    },
    /// The agent asks for a permission.
    PermissionRequest(Arc<PermissionRecord>),
    /// A permission request is open no more; its state says why.
    PermissionEnded(Arc<PermissionRecord>),
    /// A prompt came one step further.
    Receipt {
        /// The prompt.
        uuid: String,
        /// How far it is.
        state: ReceiptState,
    },
    /// A turn has ended. More turns may come.
    TurnEnd {
        /// `success`, `error_during_execution`, …
        subtype: String,
        /// How it ended.
        outcome: Outcome,
        /// Whether it failed.
        is_error: bool,
        /// The final text.
        text: Option<String>,
        /// Cost of the session so far, in US dollars.
        cost_usd: f64,
    },
    /// A line is no event. The lines behind it are read all the same.
    ParseError {
        /// What is wrong with it.
        text: String,
    },
    /// A part of the output is missing, in bytes.
    Gap {
        /// First missing byte.
        from: u64,
        /// First byte behind the gap.
        to: u64,
    },
    /// A line of the agent's standard error, without its end; cut at 8 KiB.
    StderrLine {
        /// The line.
        text: String,
    },
    /// The agent is silent for too long, so that its life is looked for.
    Inquiry(Silence),
    /// The inquiry found life: the agent goes on.
    StillAlive(Silence),
    /// The agent is ended for its silence, right after this event.
    SessionTimeout(Silence),
    /// The link to the agent's machine changed.
    Connection(ConnectionState),
    /// The session is over, and nothing follows.
    SessionEnd {
        /// Whether the host asked for it.
        expected: bool,
        /// How it ended, in words.
        reason: String,
    },
}

/// An event before it is known whose it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) path: Vec<String>,
    pub(crate) offset: Option<u64>,
    pub(crate) phase: WorkPhase,
    pub(crate) kind: DialogueEventKind,
}

impl DialogueEventKind {
    /// Bytes of text that it holds, for the bound of a queue.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Delta { text, .. }
            | Self::Text { text }
            | Self::Thinking { text }
            | Self::ParseError { text }
            | Self::StderrLine { text } => text.len(),
            Self::ToolUse { id, name, input } => id.len() + name.len() + input.len(),
            Self::ToolResult { id, text, .. } => id.len() + text.len(),
            Self::PermissionRequest(record) | Self::PermissionEnded(record) => record.input.len(),
            Self::TurnEnd { text, .. } => text.as_ref().map_or(0, String::len),
            Self::SessionEnd { reason, .. } => reason.len(),
            _ => 0,
        }
    }
}
