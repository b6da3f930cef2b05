//! What the host writes: one line a message (protocol, section B).

mod object;
mod prompt;
mod request;
mod response;

pub use prompt::{Priority, Prompt, PromptPart, Source};
pub use request::{HostRequest, cancel_request, control_request};
pub use response::{
    Decision, control_error, control_success, hook_output, mcp_response, permission,
};

pub(crate) use object::Object;

/// The heartbeat that either side may send; the other ignores it.
#[must_use]
pub fn keep_alive() -> Vec<u8> {
    Object::new().str("type", "keep_alive").line()
}

#[cfg(test)]
mod tests;
