//! Host events, recorded for reloading: they are in no log.

use crate::host::{End, HostDecision, HostEvent, Meta};
use crate::model::{Question, RequestOption};
use crate::position::LogPosition;
use crate::record::EntryId;
use crate::state::ErrorKind;

/// A host event and its position in the log.
#[derive(Clone, Debug)]
pub(crate) struct HostLogEntry {
    pub(crate) position: LogPosition,
    pub(crate) at: Meta,
    pub(crate) event: LoggedHostEvent,
}

/// An owned host event.
#[derive(Clone, Debug)]
pub(crate) enum LoggedHostEvent {
    HistoryStarted,
    HistoryEnded,
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
    Attributed {
        request: Box<str>,
        who: Box<str>,
        how: Option<Box<str>>,
    },
    Asked(Box<HostQuestion>),
    Interrupted,
    Gap {
        from: u64,
        to: u64,
    },
    /// A line that the host wrote.
    Input {
        line: Box<str>,
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
    /// Entries of lines that came before, or come again in full.
    Retracted {
        entries: Box<[EntryId]>,
    },
    RecordingEnded,
    ProcessEnded {
        exit: Box<str>,
        expected: bool,
    },
}

/// An owned [`HostEvent::HostAsked`].
#[derive(Clone, Debug)]
pub(crate) struct HostQuestion {
    pub(crate) request: Box<str>,
    pub(crate) tool_name: Box<str>,
    pub(crate) reason: Box<str>,
    pub(crate) question: Question,
    pub(crate) options: Vec<RequestOption>,
}

impl LoggedHostEvent {
    pub(crate) fn of(event: &HostEvent<'_>) -> Option<Self> {
        Some(match *event {
            HostEvent::HistoryStarted => Self::HistoryStarted,
            HostEvent::HistoryEnded => Self::HistoryEnded,
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
            HostEvent::PermissionAttributed {
                request_id,
                who,
                how,
            } => Self::Attributed {
                request: request_id.into(),
                who: who.into(),
                how: how.map(Into::into),
            },
            HostEvent::HostAsked {
                request_id,
                tool_name,
                reason,
                question,
                options,
            } => Self::Asked(Box::new(HostQuestion {
                request: request_id.into(),
                tool_name: tool_name.into(),
                reason: reason.into(),
                question: question.clone(),
                options: options.to_vec(),
            })),
            HostEvent::InterruptRequested => Self::Interrupted,
            HostEvent::Gap { from, to } => Self::Gap { from, to },
            HostEvent::Damaged { reason } => Self::Error {
                kind: ErrorKind::Gap,
                reason: reason.into(),
            },
            HostEvent::ReconnectFailed { reason } => Self::Error {
                kind: ErrorKind::ReconnectFailed,
                reason: reason.into(),
            },
            HostEvent::SessionTimeout { reason } => Self::Error {
                kind: ErrorKind::SessionTimeout,
                reason: reason.into(),
            },
            HostEvent::AnswerUndelivered { reason } => Self::Error {
                kind: ErrorKind::AnswerUndelivered,
                reason: reason.into(),
            },
            // None of them adds an entry that could be evicted.
            HostEvent::QueueChanged { .. }
            | HostEvent::Reconnecting
            | HostEvent::ProcessEnded { .. } => return None,
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
