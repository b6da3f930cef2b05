//! Control requests of the host (protocol, sections B.3 and B.4).

use serde_json::{Map, Value};

use crate::encode::Object;

/// What the host asks the agent to do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HostRequest {
    /// Register hooks, servers and options; optional, normally the first line.
    Initialize(Map<String, Value>),
    /// Stop the running turn.
    Interrupt {
        /// Drop the prompts that wait, too; they run right after the interrupt otherwise.
        cancel_queued: bool,
    },
    /// Change the permission mode.
    SetPermissionMode {
        /// Such as `acceptEdits` or `plan`.
        mode: String,
    },
    /// Change the model.
    SetModel {
        /// The model, or none for the default.
        model: Option<String>,
    },
    /// Bound the model's thinking.
    SetMaxThinkingTokens {
        /// Tokens, or none for no bound.
        tokens: Option<u64>,
    },
    /// End a task.
    StopTask {
        /// The task.
        task_id: String,
    },
    /// Withdraw a prompt that still waits.
    CancelPrompt {
        /// Its uuid.
        uuid: String,
    },
    /// Exit in order, background tasks first, with stdin still open.
    EndSession,
    /// Any other request.
    Other {
        /// Its `subtype`.
        subtype: String,
        /// Its other members.
        fields: Map<String, Value>,
    },
}

impl HostRequest {
    /// The `subtype` of the request.
    #[must_use]
    pub fn subtype(&self) -> &str {
        match self {
            Self::Initialize(_) => "initialize",
            Self::Interrupt { .. } => "interrupt",
            Self::SetPermissionMode { .. } => "set_permission_mode",
            Self::SetModel { .. } => "set_model",
            Self::SetMaxThinkingTokens { .. } => "set_max_thinking_tokens",
            Self::StopTask { .. } => "stop_task",
            Self::CancelPrompt { .. } => "cancel_async_message",
            Self::EndSession => "end_session",
            Self::Other { subtype, .. } => subtype,
        }
    }

    fn json(&self) -> String {
        let request = Object::new().str("subtype", self.subtype());
        match self {
            Self::Initialize(fields) | Self::Other { fields, .. } => request.members(fields),
            Self::Interrupt {
                cancel_queued: true,
            } => request.bool("cancel_queued", true),
            Self::Interrupt { .. } | Self::EndSession => request,
            Self::SetPermissionMode { mode } => request.str("mode", mode),
            Self::SetModel { model: Some(model) } => request.str("model", model),
            Self::SetModel { model: None } => request.raw("model", "null"),
            Self::SetMaxThinkingTokens { tokens } => {
                let tokens = tokens.map_or_else(|| "null".to_owned(), |tokens| tokens.to_string());
                request.raw("max_thinking_tokens", &tokens)
            }
            Self::StopTask { task_id } => request.str("task_id", task_id),
            Self::CancelPrompt { uuid } => request.str("message_uuid", uuid),
        }
        .json()
    }
}

/// A request as a line. `request_id` is the host's own; the answer names it.
#[must_use]
pub fn control_request(request_id: &str, request: &HostRequest) -> Vec<u8> {
    Object::new()
        .str("type", "control_request")
        .str("request_id", request_id)
        .raw("request", &request.json())
        .line()
}

/// Withdraws a request of the host.
#[must_use]
pub fn cancel_request(request_id: &str) -> Vec<u8> {
    Object::new()
        .str("type", "control_cancel_request")
        .str("request_id", request_id)
        .line()
}
