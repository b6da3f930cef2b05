//! What a shell tells, or all sessions of a manager.

use crate::core;

use crate::feed::{Events, event_stream};
use crate::mirror::mirror;

mirror! {
    /// What a session is doing. Nobody sets it: it follows from what is seen.
    SessionState = core::SessionState, else Active {
        /// Its program runs, and neither has said a word nor been sent one.
        Creating,
        /// It works.
        Active,
        /// It waits for somebody to type.
        Idle,
        /// Its program has ended.
        Terminated,
    }
}

/// Something that a session tells.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SessionEvent {
    /// A line of a shell session.
    Output {
        /// The session.
        session: String,
        /// The line without its end, with its colours.
        line: String,
    },
    /// Output was overwritten before lines were made of it.
    Gap {
        /// The session.
        session: String,
        /// How many bytes are missing here.
        bytes: u64,
    },
    /// This reader was too slow.
    Lagged {
        /// The session.
        session: String,
        /// How many lines it has missed here.
        lines: u64,
    },
    /// Sessions came and went before this reader looked.
    Missed {
        /// How many.
        sessions: u64,
    },
    /// The session is in another state.
    State {
        /// The session.
        session: String,
        /// The state now.
        state: SessionState,
    },
    /// The session has ended. The last event.
    Exit {
        /// The session.
        session: String,
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// Something that this version does not know.
    Other {
        /// In the library's own words.
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
    /// What a shell tells, or all sessions of a manager.
    SessionEventStream;
    /// Events in their order.
    SessionEventBatch { /// The events.
        SessionEvent };
    Source
}

pub(crate) enum Source {
    One(core::SessionEvents),
    All(core::ManagerEvents),
}

impl From<core::SessionEvents> for Source {
    fn from(events: core::SessionEvents) -> Self {
        Self::One(events)
    }
}

impl From<core::ManagerEvents> for Source {
    fn from(events: core::ManagerEvents) -> Self {
        Self::All(events)
    }
}

impl Events for Source {
    type Event = SessionEvent;

    async fn next(&mut self) -> Option<SessionEvent> {
        let event = match self {
            Self::One(events) => events.next().await,
            Self::All(events) => events.next().await,
        };
        event.map(Into::into)
    }
}
