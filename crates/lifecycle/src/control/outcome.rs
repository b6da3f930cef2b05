//! The JSON of why an intent was not carried out.

use serde::{Deserialize, Serialize};

use crate::error::DialogueError;
use crate::permission::RequestState;

/// Why an intent was not carried out.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub(super) enum ErrorRecord {
    Ended,
    EmptyPrompt,
    DuplicateUuid {
        uuid: String,
    },
    NoSuchRequest {
        request_id: String,
    },
    TooLate {
        request_id: String,
        state: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    Refused {
        request: String,
        reason: String,
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            rename = "agent_code"
        )]
        code: Option<String>,
    },
    NoAnswer {
        request: String,
        seconds: u64,
    },
    #[serde(untagged)]
    Rejected {
        reason: String,
    },
}

impl ErrorRecord {
    pub(super) fn of(error: &DialogueError) -> Self {
        match error.clone() {
            DialogueError::Ended => Self::Ended,
            DialogueError::EmptyPrompt => Self::EmptyPrompt,
            DialogueError::DuplicateUuid { uuid } => Self::DuplicateUuid { uuid },
            DialogueError::NoSuchRequest { request_id } => Self::NoSuchRequest { request_id },
            DialogueError::TooLate {
                request_id,
                state,
                by,
            } => Self::TooLate {
                request_id,
                state: state.to_owned(),
                by,
            },
            DialogueError::Refused {
                request,
                reason,
                code,
            } => Self::Refused {
                request,
                reason,
                code,
            },
            DialogueError::NoAnswer { request, seconds } => Self::NoAnswer { request, seconds },
            DialogueError::Rejected { reason } => Self::Rejected { reason },
            error => Self::Rejected {
                reason: crate::error::error_chain(&error),
            },
        }
    }

    pub(super) fn error(self) -> DialogueError {
        match self {
            Self::Ended => DialogueError::Ended,
            Self::EmptyPrompt => DialogueError::EmptyPrompt,
            Self::DuplicateUuid { uuid } => DialogueError::DuplicateUuid { uuid },
            Self::NoSuchRequest { request_id } => DialogueError::NoSuchRequest { request_id },
            Self::TooLate {
                request_id,
                state,
                by,
            } => DialogueError::TooLate {
                request_id,
                state: RequestState::described(&state),
                by,
            },
            Self::Refused {
                request,
                reason,
                code,
            } => DialogueError::Refused {
                request,
                reason,
                code,
            },
            Self::NoAnswer { request, seconds } => DialogueError::NoAnswer { request, seconds },
            Self::Rejected { reason } => DialogueError::Rejected { reason },
        }
    }
}
