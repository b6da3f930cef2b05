//! What the host said, which is in no log.

use crate::host::{End, HostDecision, HostEvent, Meta};
use crate::state::ErrorKind;
use crate::transcript::Transcript;
use crate::window::Place;

/// Something that the host said, and where in the log.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(super) place: Place,
    pub(super) at: Meta,
    pub(super) what: What,
}

/// What the host said.
#[derive(Clone, Debug)]
pub(crate) enum What {
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
    /// The input ended with half a line.
    Cut {
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

impl What {
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
    /// Hears again what the host said.
    pub(super) fn hear_again(&mut self, told: &Told) {
        let event = match &told.what {
            What::Started => HostEvent::ProcessStarted,
            What::Prompt { uuid, text } => HostEvent::PromptSent {
                uuid: uuid.as_deref(),
                text,
            },
            What::Dropped { uuid } => HostEvent::PromptDropped { uuid },
            What::Allowed { request, input } => HostEvent::PermissionAnswered {
                request_id: request,
                decision: HostDecision::Allow {
                    updated_input: input.as_deref(),
                },
            },
            What::Denied { request } => HostEvent::PermissionAnswered {
                request_id: request,
                decision: HostDecision::Deny,
            },
            What::Interrupted => HostEvent::InterruptRequested,
            &What::Gap { from, to } => HostEvent::Gap { from, to },
            What::Error { kind, reason } => match kind {
                ErrorKind::ReconnectFailed => HostEvent::ReconnectFailed { reason },
                _ => HostEvent::SessionTimeout { reason },
            },
            What::Cut { kind, text, bytes } => return self.cut_again(*kind, text, *bytes, told.at),
            What::RecordingEnded => return self.end(End::Recording, told.at),
            &What::ProcessEnded { ref exit, expected } => {
                return self.end(End::Process { exit, expected }, told.at);
            }
        };
        self.apply_host(event, told.at);
    }
}
