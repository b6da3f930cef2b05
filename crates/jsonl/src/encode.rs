//! Lines that a host writes to the agent (PROTOCOL.md, Input framing).

mod object;
mod prompt;
mod request;
mod response;
mod unknown;

pub use prompt::{Priority, Prompt, PromptPart, Source};
pub use request::{HostRequest, cancel_request, control_request};
pub use response::{
    Decision, control_error, control_success, hook_output, mcp_response, permission,
};
pub use unknown::unknown_input_members;

pub(crate) use object::{Object, list};

/// Encodes a heartbeat, which the agent ignores.
#[must_use]
pub fn keep_alive() -> Vec<u8> {
    Object::new().str("type", "keep_alive").line()
}

/// Encodes a change of environment variables for the tools that the agent runs from now on.
#[must_use]
pub fn update_environment(variables: &serde_json::Map<String, serde_json::Value>) -> Vec<u8> {
    let variables = Object::new().members(variables).json();
    Object::new()
        .str("type", "update_environment_variables")
        .raw("variables", &variables)
        .line()
}

#[cfg(test)]
mod tests;
