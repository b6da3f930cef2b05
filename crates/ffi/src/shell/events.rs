//! Events of shells, and of all sessions of a manager.

use crate::core;
use crate::event_stream::{EventSource, event_stream};
use crate::mirror::mirror;

mirror! {
    /// The state of a session. It is derived from its output and input.
    SessionState = core::SessionState, else Active {
        /// The program was started; there was no output or input yet.
        Creating,
        /// The program is busy.
        Active,
        /// The program waits for input.
        Idle,
        /// The program runs at a runner, and the host is not attached to it.
        Detached,
        /// The program has ended.
        Terminated,
    }
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SessionEvent {
    /// A shell session wrote a line.
    Output {
        /// The session's id.
        session: String,
        /// The line without its line ending, with color escape sequences.
        line: String,
    },
    /// Output was lost before it was split into lines.
    Gap {
        /// The session's id.
        session: String,
        /// The number of lost bytes.
        bytes: u64,
    },
    /// Lines were dropped here because the reader was too slow.
    Lagged {
        /// The session's id.
        session: String,
        /// The number of dropped lines.
        lines: u64,
    },
    /// Sessions were created and removed before the reader learned of them.
    Missed {
        /// The number of sessions.
        sessions: u64,
    },
    /// The session's state changed.
    State {
        /// The session's id.
        session: String,
        /// The new state.
        state: SessionState,
    },
    /// The session's program ended. This is the session's last event.
    Exit {
        /// The session's id.
        session: String,
        /// The exit code.
        code: Option<i32>,
        /// The signal that ended the program.
        signal: Option<i32>,
    },
    /// An event of a kind that this version does not know.
    Other {
        /// A description of the event.
        text: String,
    },
}

impl From<core::SessionEvent> for SessionEvent {
    fn from(event: core::SessionEvent) -> Self {
        use core::SessionEvent as Core;
        match event {
            Core::Output { session, line, .. } => Self::Output {
                session: session.to_string(),
                line,
            },
            Core::Gap { session, bytes } => Self::Gap {
                session: session.to_string(),
                bytes,
            },
            Core::Lagged { session, lines } => Self::Lagged {
                session: session.to_string(),
                lines,
            },
            Core::Missed { sessions } => Self::Missed { sessions },
            Core::State { session, state } => Self::State {
                session: session.to_string(),
                state: state.into(),
            },
            Core::Exit { session, exit } => Self::Exit {
                session: session.to_string(),
                code: exit.code,
                signal: exit.signal,
            },
            other => Self::Other {
                text: format!("{other:?}"),
            },
        }
    }
}

event_stream! {
    /// A stream of the events of a shell, or of all sessions of a manager.
    SessionEventStream;
    /// Consecutive session events.
    SessionEventBatch { /// The events in order.
        SessionEvent };
    SessionEventSource
}

pub(crate) enum SessionEventSource {
    Shell(core::SessionEvents),
    Manager(core::ManagerEvents),
}

impl From<core::SessionEvents> for SessionEventSource {
    fn from(events: core::SessionEvents) -> Self {
        Self::Shell(events)
    }
}

impl From<core::ManagerEvents> for SessionEventSource {
    fn from(events: core::ManagerEvents) -> Self {
        Self::Manager(events)
    }
}

impl EventSource for SessionEventSource {
    type Event = SessionEvent;

    async fn next(&mut self) -> Option<SessionEvent> {
        let event = match self {
            Self::Shell(events) => events.next().await,
            Self::Manager(events) => events.next().await,
        };
        event.map(Into::into)
    }
}
