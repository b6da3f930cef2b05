//! The event types.

use std::sync::Arc;

use bowline_reducer::Outcome;
use bowline_transport::{ConnectionState, SessionId};

use crate::agent::AgentCapabilities;
use crate::machine::ReceiptState;
use crate::permission::PermissionRecord;
use crate::watchdog::{Silence, WorkPhase};

/// An event of a dialogue session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DialogueEvent {
    /// Id of the session.
    pub session: SessionId,
    /// The tool calls around it, by `tool_use` id, the outermost first; empty on the main thread.
    pub path: Vec<String>,
    /// Offset of its line in the agent's output, in bytes; absent for events without a line.
    pub offset: Option<u64>,
    /// What the session was busy with.
    pub phase: WorkPhase,
    /// What happened.
    pub kind: DialogueEventKind,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DialogueEventKind {
    /// A piece of a message that is being streamed. The complete block follows as
    /// [`Text`](Self::Text) or [`Thinking`](Self::Thinking).
    Delta {
        /// The piece.
        text: String,
        /// Whether it is part of the reasoning.
        is_thinking: bool,
    },
    /// A complete text block of the agent.
    Text {
        /// The text.
        text: String,
    },
    /// A complete reasoning block; empty when the agent does not show its reasoning.
    Thinking {
        /// The reasoning.
        text: String,
    },
    /// The agent calls a tool.
    ToolUse {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// The arguments, a JSON object.
        input: String,
    },
    /// A tool returned a result.
    ToolResult {
        /// Id of the call.
        id: String,
        /// Whether the tool failed.
        is_error: bool,
        /// Its text, with placeholders for other parts.
        text: String,
    },
    /// The agent requests a permission.
    PermissionRequest(Arc<PermissionRecord>),
    /// A permission request was closed; its state shows why.
    PermissionEnded(Arc<PermissionRecord>),
    /// The delivery state of a prompt changed.
    Receipt {
        /// The prompt.
        uuid: String,
        /// Its new state.
        state: ReceiptState,
    },
    /// A turn ended. More turns may follow.
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
    /// A host has asked for something, in a session that a daemon drives. Requests other than prompts are reported
    /// as they come, not those before this host attached.
    Requested {
        /// The name of the host.
        client: String,
        /// What it asked for: `prompt`, `interrupt`, `set model to opus`, `cancel a queued prompt`, or `end`.
        what: String,
        /// The uuid of the prompt that was sent, or changed in the queue.
        prompt: Option<String>,
    },
    /// A line is not a valid event. Parsing continues with the next line.
    ParseError {
        /// What is wrong with it.
        text: String,
    },
    /// A part of the output is missing.
    Gap {
        /// Offset of the first missing byte.
        from: u64,
        /// Offset after the last missing byte.
        to: u64,
    },
    /// A line of the agent's standard error, without its line end; cut at 8 KiB.
    StderrLine {
        /// The line.
        text: String,
    },
    /// The agent is of an older version, and lacks features that the session continues without. Once per
    /// session, with the agent's first turn; an agent older than 2.0.77 does not name its version.
    OlderAgent(AgentCapabilities),
    /// The agent has been silent for too long; the watchdog checks whether it is alive.
    Inquiry(Silence),
    /// The watchdog's check found the agent alive.
    StillAlive(Silence),
    /// The agent was silent for too long and is terminated after this event.
    SessionTimeout(Silence),
    /// The connection to the agent's machine changed.
    Connection(ConnectionState),
    /// Events were dropped at this point, because this subscriber did not take them in time.
    Lagged {
        /// Number of dropped events.
        missed: u64,
    },
    /// The session is over. This is the last event.
    SessionEnd {
        /// Whether the host requested it.
        expected: bool,
        /// A description of the end.
        reason: String,
    },
}

/// An event without its session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingEvent {
    pub(crate) path: Vec<String>,
    pub(crate) offset: Option<u64>,
    pub(crate) phase: WorkPhase,
    pub(crate) kind: DialogueEventKind,
}

impl PendingEvent {
    pub(super) fn of_session(self, session: SessionId) -> DialogueEvent {
        DialogueEvent {
            session,
            path: self.path,
            offset: self.offset,
            phase: self.phase,
            kind: self.kind,
        }
    }
}

impl DialogueEventKind {
    /// Returns the length of its texts in bytes, for the bound of a queue.
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
            Self::Requested { client, what, .. } => client.len() + what.len(),
            _ => 0,
        }
    }
}
