//! Control requests of the host (PROTOCOL.md, Control requests of the host).

use serde_json::{Map, Value};

use crate::encode::object::Object;

/// A control request of the host to the agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HostRequest {
    /// Registers hooks, servers and options; optional, normally the first line.
    Initialize(Map<String, Value>),
    /// Stops the running turn.
    Interrupt {
        /// Whether waiting prompts are dropped; otherwise they run right after the interrupt.
        cancel_queued: bool,
    },
    /// Changes the permission mode.
    SetPermissionMode {
        /// Such as `acceptEdits` or `plan`.
        mode: String,
    },
    /// Changes the model.
    SetModel {
        /// The model, or none for the default.
        model: Option<String>,
    },
    /// Limits the model's thinking.
    SetMaxThinkingTokens {
        /// The limit in tokens, or none.
        tokens: Option<u64>,
    },
    /// Stops a background task.
    StopTask {
        /// Id of the task.
        task_id: String,
    },
    /// Withdraws a waiting prompt.
    CancelPrompt {
        /// Uuid of the prompt.
        uuid: String,
    },
    /// Ends background tasks and then the process, while its input is still open.
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
    /// Returns the `subtype` of the request.
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

/// Encodes a request. The agent's response has the same `request_id`, which the host chooses.
#[must_use]
pub fn control_request(request_id: &str, request: &HostRequest) -> Vec<u8> {
    Object::new()
        .str("type", "control_request")
        .str("request_id", request_id)
        .raw("request", &request.json())
        .line()
}

/// Encodes the withdrawal of a request of the host.
#[must_use]
pub fn cancel_request(request_id: &str) -> Vec<u8> {
    Object::new()
        .str("type", "control_cancel_request")
        .str("request_id", request_id)
        .line()
}
