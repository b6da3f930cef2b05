//! What the scripted model replies.

use serde_json::Value;

/// The reply to one request of the model.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A message.
    Text(&'static str),
    /// A message whose end waits at [`ModelApi::hold`](super::ModelApi::hold).
    Held(&'static str),
    /// The call of a tool.
    Call(Call),
    /// A call with this id that waits for the sub-agents of the conversation.
    WaitForAgents(&'static str),
    /// An error with this status.
    Error(u16),
}

/// The call of a tool of the agent.
#[derive(Clone, Debug)]
pub struct Call {
    /// The id of the call. Gemini CLI gives its calls ids of its own.
    pub id: &'static str,
    /// The name of the tool.
    pub tool: &'static str,
    /// The group that the tool is in, for an API that has such.
    pub namespace: Option<&'static str>,
    /// The arguments, an object.
    pub arguments: Value,
}

impl From<Call> for Reply {
    fn from(call: Call) -> Self {
        Self::Call(call)
    }
}
