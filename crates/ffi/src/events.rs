//! Events of a dialogue session.

use std::sync::Arc;

use crate::agent::AgentCapabilities;
use crate::change::TurnOutcome;
use crate::core;
use crate::event_stream::{EventSource, event_stream};
use crate::limits::size;
use crate::mirror::mirror;
use crate::outcome::millis;
use crate::permission::PermissionRecord;
use crate::prompt::ReceiptState;

event_stream! {
    /// A stream of a session's events.
    ///
    /// Use events to react to what happens; use the transcript to show it.
    DialogueEventStream;
    /// Consecutive events of a session.
    DialogueEventBatch { /// The events in order.
        DialogueEventItem };
    DialogueEventSource
}

pub(crate) struct DialogueEventSource(core::DialogueEvents);

impl From<core::DialogueEvents> for DialogueEventSource {
    fn from(events: core::DialogueEvents) -> Self {
        Self(events)
    }
}

impl EventSource for DialogueEventSource {
    type Event = DialogueEventItem;

    async fn next(&mut self) -> Option<DialogueEventItem> {
        self.0.next().await.map(Into::into)
    }
}

/// How many unread events are kept for a slow reader. The oldest are dropped first.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct EventLimits {
    /// The maximum number of events.
    #[uniffi(default = 1024)]
    pub events: u64,
    /// The maximum size of their texts, in bytes.
    #[uniffi(default = 4194304)]
    pub bytes: u64,
}

impl From<EventLimits> for core::EventLimits {
    fn from(limits: EventLimits) -> Self {
        Self {
            events: size(limits.events),
            bytes: size(limits.bytes),
        }
    }
}

/// An element of an event stream.
#[derive(Clone, Debug, uniffi::Enum)]
#[expect(clippy::large_enum_variant, reason = "values cross the FFI at once")]
pub enum DialogueEventItem {
    /// An event.
    Event {
        /// The event.
        event: DialogueEvent,
    },
    /// Events were dropped here because the reader was too slow.
    Lagged {
        /// The number of dropped events.
        missed: u64,
    },
}

/// An event of a dialogue session.
#[derive(Clone, Debug, uniffi::Record)]
pub struct DialogueEvent {
    /// The session's id.
    pub session: String,
    /// The ids of the enclosing tool calls, outermost first; empty on the main thread.
    pub path: Vec<String>,
    /// The byte offset of the event's line in the agent's output; absent for events without a line.
    pub offset: Option<u64>,
    /// The phase that the session is in.
    pub phase: WorkPhase,
    /// What happened.
    pub kind: DialogueEventKind,
}

mirror! {
    /// The phase of a session, as the watchdog distinguishes them.
    WorkPhase = core::WorkPhase, else Idle {
        /// No prompt is open.
        Idle,
        /// A prompt was sent, and the agent has not written anything yet.
        Starting,
        /// The model works.
        Model,
        /// A tool of the main thread or a sub-agent runs.
        Tool,
        /// Only background tasks run.
        Background,
        /// A permission request is open.
        Permission,
        /// The last turn has ended, and the agent was asked to exit.
        PostResult,
        /// The agent has closed its output and is still running.
        Draining,
    }
}

mirror! {
    /// The kind of a session's last activity.
    ActivitySource = core::ActivitySource, else Event {
        /// The session was started.
        Start,
        /// The host sent a prompt, an answer or a request.
        Host,
        /// The agent wrote a valid line.
        Event,
        /// The watchdog's probe found active processes or received an answer.
        Inquiry,
    }
}

/// The last activity of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct LastActivity {
    /// The kind of activity.
    pub source: ActivitySource,
    /// The current phase.
    pub phase: WorkPhase,
    /// The time since the activity, in milliseconds.
    pub age_ms: u64,
}

impl From<core::LastActivity> for LastActivity {
    fn from(it: core::LastActivity) -> Self {
        Self {
            source: it.source.into(),
            phase: it.phase.into(),
            age_ms: millis(it.age),
        }
    }
}

/// What happened in a dialogue session.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum DialogueEventKind {
    /// The model wrote a piece of a message.
    Delta {
        /// The piece.
        text: String,
        /// Whether the piece belongs to the reasoning.
        is_thinking: bool,
    },
    /// The model completed a text block.
    Text {
        /// The text.
        text: String,
    },
    /// The model completed a reasoning block. Empty if the agent does not include reasoning.
    Thinking {
        /// The reasoning.
        text: String,
    },
    /// The model called a tool.
    ToolUse {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments as a JSON object.
        input: String,
    },
    /// A tool call returned.
    ToolResult {
        /// The call's id.
        id: String,
        /// Whether the tool failed.
        is_error: bool,
        /// The text, with placeholders for content that is not text.
        text: String,
    },
    /// The agent requested a permission.
    PermissionRequest {
        /// The request.
        record: PermissionRecord,
    },
    /// A permission request was closed. Its state is the reason.
    PermissionEnded {
        /// The request.
        record: PermissionRecord,
    },
    /// The state of a prompt changed.
    Receipt {
        /// The prompt's uuid.
        uuid: String,
        /// The new state.
        state: ReceiptState,
    },
    /// A turn ended.
    TurnEnd {
        /// The agent's result subtype, such as `success` or `error_during_execution`.
        subtype: String,
        /// How the turn ended.
        outcome: TurnOutcome,
        /// Whether the turn failed.
        is_error: bool,
        /// The final text.
        text: Option<String>,
        /// The cost of the session so far, in US dollars.
        cost_usd: f64,
    },
    /// A line could not be parsed. Later lines are not affected.
    ParseError {
        /// What is wrong with the line.
        text: String,
    },
    /// A part of the agent's output is missing.
    Gap {
        /// The offset of the first missing byte.
        from: u64,
        /// The offset after the last missing byte.
        to: u64,
    },
    /// The agent wrote a line to standard error.
    StderrLine {
        /// The line.
        text: String,
    },
    /// The agent is of an older version and lacks features that the session continues without. Once per
    /// session, with the agent's first turn; an agent older than 2.0.77 does not name its version.
    OlderAgent {
        /// What the agent lacks.
        agent: AgentCapabilities,
    },
    /// The agent was silent for too long, and the watchdog probes it.
    Inquiry {
        /// The evidence.
        silence: SilenceView,
    },
    /// The watchdog's probe found activity.
    StillAlive {
        /// The evidence.
        silence: SilenceView,
    },
    /// The watchdog terminates the agent.
    SessionTimeout {
        /// The evidence.
        silence: SilenceView,
    },
    /// The connection to the agent's machine changed.
    Connection {
        /// The new state.
        state: ConnectionView,
    },
    /// The session ended. This is the last event.
    SessionEnd {
        /// Whether the host ended the session.
        is_expected: bool,
        /// A description of the end.
        reason: String,
    },
    /// An event of a kind that this version does not know.
    Other {
        /// A description of the event.
        text: String,
    },
}

/// A silence of the agent, with the evidence that the watchdog collected.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct SilenceView {
    /// The phase that the session is in.
    pub phase: WorkPhase,
    /// The duration of the silence, in milliseconds.
    pub silent_ms: u64,
    /// The number of running processes; absent if unknown.
    pub processes: Option<u64>,
    /// The CPU time used during the probe, in milliseconds; absent if unknown.
    pub cpu_ms: Option<u64>,
    /// The names of the open tools.
    pub open_tools: Vec<String>,
    /// A description of the above.
    pub text: String,
}

/// The connection to the machine that the agent runs on. A local agent is always connected.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ConnectionView {
    /// The connection is up.
    Connected,
    /// The connection was lost and is being restored.
    Reconnecting {
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// The connection was restored, and the streams continue where they stopped.
    Reconnected {
        /// The output offset at which the streams continue.
        from: u64,
        /// The number of output bytes that were lost.
        gap: u64,
    },
    /// The connection could not be restored.
    Failed {
        /// What failed and what to do next.
        reason: String,
        /// Whether `retry` can succeed.
        can_retry: bool,
    },
}

event_stream! {
    /// A stream of the states of the connection to the machine of a session, apart from its other events.
    ///
    /// It begins with the current state and ends with the session. No outage is left out; attempts that
    /// were not read are one, the newest. A reader that falls 64 states behind skips the oldest.
    ConnectionStream;
    /// Consecutive states of a connection.
    ConnectionBatch { /// The states in order.
        ConnectionView };
    ConnectionSource
}

pub(crate) struct ConnectionSource(core::ConnectionStates);

impl From<core::ConnectionStates> for ConnectionSource {
    fn from(states: core::ConnectionStates) -> Self {
        Self(states)
    }
}

impl EventSource for ConnectionSource {
    type Event = ConnectionView;

    async fn next(&mut self) -> Option<ConnectionView> {
        self.0.next().await.map(Into::into)
    }
}

impl From<core::ConnectionState> for ConnectionView {
    fn from(state: core::ConnectionState) -> Self {
        use core::ConnectionState as Core;
        match state {
            Core::Connected => Self::Connected,
            Core::Reconnecting { attempt } => Self::Reconnecting { attempt },
            Core::Reconnected { from, gap } => Self::Reconnected { from, gap },
            Core::Failed(failed) => Self::Failed {
                reason: failed.to_string(),
                can_retry: failed.failure.can_retry(),
            },
            // A state of a later version, in which no bytes are known to arrive.
            _ => Self::Reconnecting { attempt: 0 },
        }
    }
}

impl From<&core::Silence> for SilenceView {
    fn from(it: &core::Silence) -> Self {
        Self {
            phase: it.phase.into(),
            silent_ms: millis(it.silent_for),
            processes: it.processes.map(|it| it as u64),
            cpu_ms: it.cpu.map(millis),
            open_tools: it.open_tools.clone(),
            text: it.to_string(),
        }
    }
}

impl From<Arc<core::DialogueEvent>> for DialogueEventItem {
    fn from(event: Arc<core::DialogueEvent>) -> Self {
        match event.kind {
            core::DialogueEventKind::Lagged { missed } => Self::Lagged { missed },
            _ => {
                // Subscribers share events; the last one to take it avoids a copy.
                let event = Arc::unwrap_or_clone(event);
                Self::Event {
                    event: DialogueEvent {
                        session: event.session.to_string(),
                        path: event.path,
                        offset: event.offset,
                        phase: event.phase.into(),
                        kind: event.kind.into(),
                    },
                }
            }
        }
    }
}

impl From<core::DialogueEventKind> for DialogueEventKind {
    fn from(kind: core::DialogueEventKind) -> Self {
        use core::DialogueEventKind as Core;
        match kind {
            Core::Delta { text, is_thinking } => Self::Delta { text, is_thinking },
            Core::Text { text } => Self::Text { text },
            Core::Thinking { text } => Self::Thinking { text },
            Core::ToolUse { id, name, input } => Self::ToolUse { id, name, input },
            Core::ToolResult { id, is_error, text } => Self::ToolResult { id, is_error, text },
            Core::PermissionRequest(record) => Self::PermissionRequest {
                record: (&*record).into(),
            },
            Core::PermissionEnded(record) => Self::PermissionEnded {
                record: (&*record).into(),
            },
            Core::Receipt { uuid, state } => Self::Receipt {
                uuid,
                state: state.into(),
            },
            Core::TurnEnd {
                subtype,
                outcome,
                is_error,
                text,
                cost_usd,
            } => Self::TurnEnd {
                subtype,
                outcome: outcome.into(),
                is_error,
                text,
                cost_usd,
            },
            Core::ParseError { text } => Self::ParseError { text },
            Core::Gap { from, to } => Self::Gap { from, to },
            Core::StderrLine { text } => Self::StderrLine { text },
            Core::OlderAgent(agent) => Self::OlderAgent {
                agent: agent.into(),
            },
            Core::Inquiry(silence) => Self::Inquiry {
                silence: (&silence).into(),
            },
            Core::StillAlive(silence) => Self::StillAlive {
                silence: (&silence).into(),
            },
            Core::SessionTimeout(silence) => Self::SessionTimeout {
                silence: (&silence).into(),
            },
            Core::Connection(state) => Self::Connection {
                state: state.into(),
            },
            Core::SessionEnd { expected, reason } => Self::SessionEnd {
                is_expected: expected,
                reason,
            },
            other => Self::Other {
                text: format!("{other:?}"),
            },
        }
    }
}
