//! What a host wants of a session, as a value that can be kept and carried out later.

use bowline_jsonl::Prompt;
use serde_json::{Map, Value};

use crate::budget::LimitRequest;
use crate::permission::PermissionAnswer;
use crate::queue::QueueEdit;

/// What a host wants of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Intent {
    /// Sends a prompt, which has a uuid.
    Prompt(Prompt),
    /// Answers a permission request.
    Answer {
        /// Id of the request.
        request_id: String,
        /// The answer.
        answer: PermissionAnswer,
        /// The client that answers, if it has a name.
        by: Option<String>,
        /// What it decided by, such as a rule of a policy, if that is more than the answer.
        how: Option<String>,
    },
    /// Stops the running turn.
    Interrupt {
        /// Whether the agent drops the prompts that it has queued.
        cancel_queued: bool,
        /// The end offset of the output that the host had seen when it asked. A turn that ended past it is not
        /// followed by an interrupt of the next one.
        seen: Option<u64>,
    },
    /// Changes an option of the session, such as `model`, `mode` or `effort`.
    SetOption {
        /// Its id.
        option: String,
        /// The new value.
        value: String,
    },
    /// Changes a prompt that waits in the queue.
    EditQueue(QueueEdit),
    /// Sends a prompt of the queue: a decision of the session itself, once the agent is idle.
    Release {
        /// Its uuid.
        uuid: String,
    },
    /// Pauses at a limit and asks: a decision of the session itself.
    Hold(LimitRequest),
    /// Stops a background task. The turn continues.
    StopTask {
        /// Its id.
        task_id: String,
    },
    /// Sends a request of the agent's protocol, whose response is the outcome.
    Request {
        /// The subtype of a control request, or a JSON-RPC method.
        name: String,
        /// Its other members, or its parameters.
        params: Map<String, Value>,
    },
    /// Ends the session when the open prompts are answered.
    End,
}
