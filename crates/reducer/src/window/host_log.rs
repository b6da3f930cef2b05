//! Host events, recorded for reloading: they are in no log.

use crate::host::{End, HostDecision, HostEvent, Meta};
use crate::state::ErrorKind;
use crate::transcript::Transcript;
use crate::window::LogPosition;

/// A host event and its position in the log.
#[derive(Clone, Debug)]
pub(crate) struct HostLogEntry {
    pub(super) position: LogPosition,
    pub(super) at: Meta,
    pub(super) event: LoggedHostEvent,
}

/// An owned host event.
#[derive(Clone, Debug)]
pub(crate) enum LoggedHostEvent {
    Started,
    Prompt {
        uuid: Option<Box<str>>,
        text: Box<str>,
    },
    Dropped {
        uuid: Box<str>,
    },
    Allowed {
        request: Box<str>,
        input: Option<Box<str>>,
    },
    Denied {
        request: Box<str>,
    },
    Interrupted,
    Gap {
        from: u64,
        to: u64,
    },
    Error {
        kind: ErrorKind,
        reason: Box<str>,
    },
    /// The input ended within a line.
    PartialLine {
        kind: ErrorKind,
        text: Box<str>,
        bytes: u64,
    },
    RecordingEnded,
    ProcessEnded {
        exit: Box<str>,
        expected: bool,
    },
}

impl LoggedHostEvent {
    pub(crate) fn of(event: &HostEvent<'_>) -> Option<Self> {
        Some(match *event {
            HostEvent::ProcessStarted => Self::Started,
            HostEvent::PromptSent { uuid, text } => Self::Prompt {
                uuid: uuid.map(Into::into),
                text: text.into(),
            },
            HostEvent::PromptDropped { uuid } => Self::Dropped { uuid: uuid.into() },
            HostEvent::PermissionAnswered {
                request_id: request,
                decision,
            } => match decision {
                HostDecision::Deny => Self::Denied {
                    request: request.into(),
                },
                HostDecision::Allow { updated_input } => Self::Allowed {
                    request: request.into(),
                    input: updated_input.map(Into::into),
                },
            },
            HostEvent::InterruptRequested => Self::Interrupted,
            HostEvent::Gap { from, to } => Self::Gap { from, to },
            HostEvent::ReconnectFailed { reason } => Self::Error {
                kind: ErrorKind::ReconnectFailed,
                reason: reason.into(),
            },
            HostEvent::SessionTimeout { reason } => Self::Error {
                kind: ErrorKind::SessionTimeout,
                reason: reason.into(),
            },
            HostEvent::ProcessEnded { .. } => return None,
        })
    }

    pub(crate) fn of_end(end: End<'_>) -> Self {
        match end {
            End::Recording => Self::RecordingEnded,
            End::Process { exit, expected } => Self::ProcessEnded {
                exit: exit.into(),
                expected,
            },
        }
    }
}

impl Transcript {
    /// Applies a recorded host event again.
    pub(super) fn replay_host_event(&mut self, entry: &HostLogEntry) {
        let event = match &entry.event {
            LoggedHostEvent::Started => HostEvent::ProcessStarted,
            LoggedHostEvent::Prompt { uuid, text } => HostEvent::PromptSent {
                uuid: uuid.as_deref(),
                text,
            },
            LoggedHostEvent::Dropped { uuid } => HostEvent::PromptDropped { uuid },
            LoggedHostEvent::Allowed { request, input } => HostEvent::PermissionAnswered {
                request_id: request,
                decision: HostDecision::Allow {
                    updated_input: input.as_deref(),
                },
            },
            LoggedHostEvent::Denied { request } => HostEvent::PermissionAnswered {
                request_id: request,
                decision: HostDecision::Deny,
            },
            LoggedHostEvent::Interrupted => HostEvent::InterruptRequested,
            &LoggedHostEvent::Gap { from, to } => HostEvent::Gap { from, to },
            LoggedHostEvent::Error { kind, reason } => match kind {
                ErrorKind::ReconnectFailed => HostEvent::ReconnectFailed { reason },
                _ => HostEvent::SessionTimeout { reason },
            },
            LoggedHostEvent::PartialLine { kind, text, bytes } => {
                return self.replay_partial_line(*kind, text, *bytes, entry.at);
            }
            LoggedHostEvent::RecordingEnded => return self.end(End::Recording, entry.at),
            &LoggedHostEvent::ProcessEnded { ref exit, expected } => {
                return self.end(End::Process { exit, expected }, entry.at);
            }
        };
        self.apply_host(event, entry.at);
    }
}
