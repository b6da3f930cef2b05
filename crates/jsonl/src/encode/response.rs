//! Responses of the host to requests of the agent (PROTOCOL.md, Control requests of the agent).

use crate::encode::object::Object;
use crate::raw::RawJson;

/// The decision on a permission request (PROTOCOL.md, Permissions).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The tool may run.
    Allow {
        /// Replacement for the arguments, a JSON object; the model's own when absent.
        updated_input: Option<String>,
        /// Permission updates to apply, a JSON array.
        updated_permissions: Option<String>,
    },
    /// The tool may not run.
    Deny {
        /// The reason, which the model receives.
        message: String,
        /// Whether the turn ends as well.
        interrupt: bool,
    },
}

impl Decision {
    /// Allows the tool to run with the model's own arguments.
    #[must_use]
    pub const fn allow() -> Self {
        Self::Allow {
            updated_input: None,
            updated_permissions: None,
        }
    }

    /// Denies the tool; the turn continues.
    #[must_use]
    pub fn deny(message: impl Into<String>) -> Self {
        Self::Deny {
            message: message.into(),
            interrupt: false,
        }
    }
}

/// Encodes the response to a `can_use_tool` request.
///
/// Every allow carries an input. `input`, that of the request, is used when the decision has no other.
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

/// Encodes the response to a `hook_callback` request. `output` is a JSON object; `{}` has no effect.
#[must_use]
pub fn hook_output(request_id: &str, output: &str) -> Vec<u8> {
    control_success(request_id, output)
}

/// Encodes the response to an `mcp_message` request. `reply` is a JSON-RPC message.
#[must_use]
pub fn mcp_response(request_id: &str, reply: &str) -> Vec<u8> {
    control_success(request_id, &Object::new().raw("mcp_response", reply).json())
}

/// Encodes a successful response to any request of the agent. `response` is a JSON object.
#[must_use]
pub fn control_success(request_id: &str, response: &str) -> Vec<u8> {
    let answer = Object::new()
        .str("subtype", "success")
        .str("request_id", request_id)
        .raw("response", response);
    envelope(&answer.json())
}

/// Encodes an error response to a request of the agent.
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
