//! What happens in a dialogue, event by event.

use std::sync::Arc;

use crate::core;

use crate::change::Outcome;
use crate::feed::{Events, event_stream};
use crate::mirror::mirror;
use crate::outcome::millis;
use crate::permission::PermissionRecord;
use crate::prompt::ReceiptState;

event_stream! {
    /// What happens in a dialogue, from the moment on that it was asked for. The transcript is the
    /// record; events are for those who act on what happens.
    DialogueEventStream;
    /// Events in their order.
    DialogueEventBatch { /// The events.
        HeardDialogueEvent };
    Source
}

pub(crate) struct Source(core::DialogueEvents);

impl From<core::DialogueEvents> for Source {
    fn from(events: core::DialogueEvents) -> Self {
        Self(events)
    }
}

impl Events for Source {
    type Event = HeardDialogueEvent;

    async fn next(&mut self) -> Option<HeardDialogueEvent> {
        self.0.next().await.map(Into::into)
    }
}

/// How much of what a reader has not taken yet is kept for him.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct EventLimits {
    /// Events.
    #[uniffi(default = 1024)]
    pub events: u64,
    /// Bytes of their texts.
    #[uniffi(default = 4194304)]
    pub bytes: u64,
}

impl From<EventLimits> for core::EventLimits {
    fn from(limits: EventLimits) -> Self {
        Self {
            events: crate::configuration::size(limits.events),
            bytes: crate::configuration::size(limits.bytes),
        }
    }
}

/// What a reader hears.
#[derive(Clone, Debug, uniffi::Enum)]
#[expect(clippy::large_enum_variant, reason = "it is lowered at once")]
pub enum HeardDialogueEvent {
    /// An event.
    Event {
        /// The event.
        event: DialogueEvent,
    },
    /// So many events were dropped here, the oldest ones, because they were not taken in time.
    Lagged {
        /// How many.
        missed: u64,
    },
}

/// Something that happened in a dialogue.
#[derive(Clone, Debug, uniffi::Record)]
pub struct DialogueEvent {
    /// The session's id.
    pub session: String,
    /// The tool calls around it, the outermost first; empty on the main thread.
    pub path: Vec<String>,
    /// Where its line begins in the agent's output, in bytes; absent for what no line says.
    pub offset: Option<u64>,
    /// What the session is busy with.
    pub phase: WorkPhase,
    /// What happened.
    pub kind: DialogueEventKind,
}

mirror! {
    /// What a session is busy with, as far as waiting goes.
    WorkPhase = core::WorkPhase, else Idle {
        /// Nothing was asked.
        Idle,
        /// Something was asked of an agent that has said nothing yet.
        Starting,
        /// The model works.
        Model,
        /// A tool of the main thread runs, or a sub-agent.
        Tool,
        /// Only background tasks run.
        Background,
        /// Somebody is asked for a permission.
        Permission,
        /// The last turn is over and the agent was asked to end.
        PostResult,
        /// The agent has closed its output and lives.
        Draining,
    }
}

mirror! {
    /// What a sign of life was.
    ActivitySource = core::ActivitySource, else Event {
        /// The session was started.
        Start,
        /// The host asked, answered or sent something.
        Host,
        /// The agent wrote a valid line.
        Event,
        /// The processes were at work, or the agent answered the watchdog.
        Inquiry,
    }
}

/// The last sign of life of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct LastActivity {
    /// What it was.
    pub source: ActivitySource,
    /// What the session is busy with now.
    pub phase: WorkPhase,
    /// How long ago it was, in milliseconds.
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

/// What happened in a dialogue.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum DialogueEventKind {
    /// A piece of a message that is being written.
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
    PermissionRequest {
        /// The request.
        record: PermissionRecord,
    },
    /// A permission request is open no more; its state says why.
    PermissionEnded {
        /// The request.
        record: PermissionRecord,
    },
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
    /// A line of the agent's standard error.
    StderrLine {
        /// The line.
        text: String,
    },
    /// The agent is silent for too long, so that its life is looked for.
    Inquiry {
        /// The silence.
        silence: SilenceView,
    },
    /// The inquiry found life.
    StillAlive {
        /// The silence.
        silence: SilenceView,
    },
    /// The agent is ended for its silence.
    SessionTimeout {
        /// The silence.
        silence: SilenceView,
    },
    /// The link to the agent's machine changed.
    Connection {
        /// How it stands.
        state: ConnectionView,
    },
    /// The session is over, and nothing follows.
    SessionEnd {
        /// Whether the host asked for it.
        is_expected: bool,
        /// How it ended, in words.
        reason: String,
    },
    /// Something that this version does not know.
    Other {
        /// In the library's own words.
        text: String,
    },
}

/// A silence that was too long, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct SilenceView {
    /// What the session is busy with.
    pub phase: WorkPhase,
    /// How long nothing was heard, in milliseconds.
    pub silent_ms: u64,
    /// Processes that are alive; absent where it is not known.
    pub processes: Option<u64>,
    /// Time on a processor during the inquiry, in milliseconds; absent where it is not known.
    pub cpu_ms: Option<u64>,
    /// The tools that are open, by name.
    pub open_tools: Vec<String>,
    /// All of it in words.
    pub text: String,
}

/// How the link to the agent's machine stands.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ConnectionView {
    /// The link is up.
    Connected,
    /// The link is down and being made again.
    Reconnecting {
        /// 1 for the first try.
        attempt: u32,
    },
    /// The link is up again; the streams go on where they stopped.
    Reconnected {
        /// Output offset from which the streams went on.
        from: u64,
        /// Bytes of output that were lost in between.
        gap: u64,
    },
    /// The link is given up.
    Failed {
        /// Why, and what to do next.
        reason: String,
        /// Whether another try can succeed.
        can_retry: bool,
    },
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

impl From<core::Heard> for HeardDialogueEvent {
    fn from(heard: core::Heard) -> Self {
        match heard {
            core::Heard::Lagged(missed) => Self::Lagged { missed },
            core::Heard::Event(event) => {
                // Subscribers share an event; one that is alone need not copy it.
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
