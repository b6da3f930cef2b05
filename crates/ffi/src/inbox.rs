//! The inbox: permission requests of all sessions, and what else needs attention.

use crate::change::RequestKind;
use crate::core;
use crate::event_stream::{EventSource, event_stream};
use crate::registry::SessionPermission;

event_stream! {
    /// A stream of the permission requests of all sessions of this process, local and at runners, and of
    /// what else needs attention.
    ///
    /// It begins with the requests that are open and covers sessions that start later. A request that is
    /// closed before it was read is left out. It keeps no session alive.
    InboxStream;
    /// Consecutive events of the inbox.
    InboxBatch { /// The events in order.
        InboxEvent };
    InboxSource
}

pub(crate) struct InboxSource(core::Inbox);

impl From<core::Inbox> for InboxSource {
    fn from(inbox: core::Inbox) -> Self {
        Self(inbox)
    }
}

impl EventSource for InboxSource {
    type Event = InboxEvent;

    async fn next(&mut self) -> Option<InboxEvent> {
        loop {
            // Events of a newer core that have no record here are skipped.
            if let Some(event) = InboxEvent::of(self.0.next().await) {
                return Some(event);
            }
        }
    }
}

/// What happened to the sessions of this process.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum InboxEvent {
    /// A permission request is open: answer it with `Engine.respond`.
    Opened {
        /// The request and its session.
        request: SessionPermission,
    },
    /// A permission request is closed. Its record has its state and the name of who answered.
    Closed {
        /// The request and its session.
        request: SessionPermission,
    },
    /// A session needs attention for a reason that it did not have before.
    Attention {
        /// The session's id.
        session: String,
        /// Identifies the cause within the session: the same one has the same id, also after a restart.
        id: String,
        /// The reason.
        reason: AttentionReason,
    },
}

/// Why a session needs attention.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum AttentionReason {
    /// The agent waits for the answer to a request.
    Question {
        /// The id of the oldest open request.
        request_id: String,
        /// What it asks for.
        kind: RequestKind,
        /// The tool that needs permission.
        tool_name: String,
    },
    /// The last turn failed, or the session ended unexpectedly.
    Failure {
        /// The error, shortened to 1 KiB.
        text: String,
    },
    /// The last turn is completed and the agent waits for a prompt.
    Finished {
        /// The final text, shortened to 1 KiB.
        text: Option<String>,
    },
    /// The last turn failed because a usage limit of the agent's account is reached.
    LimitReached {
        /// The name of the limit's window.
        window: String,
        /// When the window begins again, in milliseconds since 1970.
        resets_at_ms: Option<u64>,
    },
}

impl InboxEvent {
    fn of(event: core::InboxEvent) -> Option<Self> {
        Some(match event {
            core::InboxEvent::Opened(request) => Self::Opened {
                request: request.into(),
            },
            core::InboxEvent::Closed(request) => Self::Closed {
                request: request.into(),
            },
            core::InboxEvent::Attention { session, attention } => Self::Attention {
                session: session.to_string(),
                id: attention.id,
                reason: AttentionReason::of(attention.reason)?,
            },
            _ => return None,
        })
    }
}

impl AttentionReason {
    fn of(reason: core::AttentionReason) -> Option<Self> {
        Some(match reason {
            core::AttentionReason::Question {
                request_id,
                kind,
                tool_name,
            } => Self::Question {
                request_id,
                kind: kind.into(),
                tool_name,
            },
            core::AttentionReason::Failure { text } => Self::Failure { text },
            core::AttentionReason::Finished { text } => Self::Finished { text },
            core::AttentionReason::LimitReached {
                window,
                resets_at_ms,
            } => Self::LimitReached {
                window,
                resets_at_ms,
            },
            _ => return None,
        })
    }
}
