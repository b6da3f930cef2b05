//! The host's answers to the agent's requests (protocol, sections B.3 and B.5).

use crate::encode::Object;
use crate::raw::RawJson;

/// Whether a tool may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allow {
        /// Other arguments than the model's, a JSON object; the model's own when absent.
        updated_input: Option<String>,
        /// Rules to remember, a JSON array.
        updated_permissions: Option<String>,
    },
    /// It may not.
    Deny {
        /// What the model is told.
        message: String,
        /// End the turn as well.
        interrupt: bool,
    },
}

impl Decision {
    /// The tool may run with the model's own arguments.
    #[must_use]
    pub const fn allow() -> Self {
        Self::Allow {
            updated_input: None,
            updated_permissions: None,
        }
    }

    /// The tool may not run, and the turn goes on.
    #[must_use]
    pub fn deny(message: impl Into<String>) -> Self {
        Self::Deny {
            message: message.into(),
            interrupt: false,
        }
    }
}

/// Answers a `can_use_tool` request.
///
/// The agent wants an input with every allow, so `input`, the request's own, goes back when the
/// decision brings no other.
#[must_use]
pub fn permission(request_id: &str, decision: &Decision, input: Option<RawJson<'_>>) -> Vec<u8> {
    let body = match decision {
        Decision::Allow {
            updated_input,
            updated_permissions,
        } => {
            let input = updated_input
                .as_deref()
                .or_else(|| input.map(RawJson::text));
            let allow = Object::new()
                .str("behavior", "allow")
                .raw("updatedInput", input.unwrap_or("{}"));
            match updated_permissions {
                Some(rules) => allow.raw("updatedPermissions", rules),
                None => allow,
            }
        }
        Decision::Deny { message, interrupt } => {
            let deny = Object::new()
                .str("behavior", "deny")
                .str("message", message);
            if *interrupt {
                deny.bool("interrupt", true)
            } else {
                deny
            }
        }
    };
    control_success(request_id, &body.json())
}

/// Answers a `hook_callback` request with the hook's output, a JSON object; `{}` is no opinion.
#[must_use]
pub fn hook_output(request_id: &str, output: &str) -> Vec<u8> {
    control_success(request_id, output)
}

/// Answers an `mcp_message` request with a JSON-RPC message.
#[must_use]
pub fn mcp_response(request_id: &str, reply: &str) -> Vec<u8> {
    control_success(request_id, &Object::new().raw("mcp_response", reply).json())
}

/// Answers any request of the agent; `response` is a JSON object.
#[must_use]
pub fn control_success(request_id: &str, response: &str) -> Vec<u8> {
    let answer = Object::new()
        .str("subtype", "success")
        .str("request_id", request_id)
        .raw("response", response);
    envelope(&answer.json())
}

/// Refuses a request of the agent.
#[must_use]
pub fn control_error(request_id: &str, error: &str) -> Vec<u8> {
    let answer = Object::new()
        .str("subtype", "error")
        .str("request_id", request_id)
        .str("error", error);
    envelope(&answer.json())
}

fn envelope(answer: &str) -> Vec<u8> {
    Object::new()
        .str("type", "control_response")
        .raw("response", answer)
        .line()
}
