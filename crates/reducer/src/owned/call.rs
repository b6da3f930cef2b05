//! Tool calls, and the tasks and permission requests that belong to them.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::model::{
    AnsweredBy, Content, Location, Question, RequestKind, RequestOption, ThreadState, ToolKind,
};
use crate::state::{CallState, PermissionState, TaskState};
use crate::view::ModelUsage;

/// A tool call, without the entries of its sub-agent.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ToolCallValue {
    /// The `tool_use` id.
    pub id: String,
    /// Name of the tool; empty until its message is seen.
    pub name: String,
    /// The arguments, a JSON object; absent while the model writes them.
    pub input: Option<Box<RawValue>>,
    /// The state.
    pub state: CallState,
    /// The result.
    pub result: Option<ToolResultValue>,
    /// A line that says what it does.
    pub title: Option<String>,
    /// What the tool does.
    pub kind: Option<ToolKind>,
    /// The files that it works on.
    pub locations: Vec<Location>,
    /// Texts, changes of files, commands.
    pub content: Vec<Content>,
    /// What its command has printed so far.
    pub output: Option<String>,
    /// The exit code of its command.
    pub exit_code: Option<i64>,
    /// When it was first seen, in milliseconds by the host's clock.
    pub started_ms: Option<u64>,
    /// When it ended, in milliseconds by the host's clock.
    pub ended_ms: Option<u64>,
    /// Byte range of its lines in the output stream.
    pub bytes: [u64; 2],
    /// What it has used.
    pub usage: Option<ModelUsage>,
    /// The sub-agent that it started.
    pub subagent: Option<SubagentValue>,
}

/// The result of a tool call.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ToolResultValue {
    /// Whether the tool failed.
    pub is_error: bool,
    /// Its text, with placeholders for other parts.
    pub text: String,
}

/// A sub-agent, without its entries.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SubagentValue {
    /// Its id.
    pub agent_id: Option<String>,
    /// Its type, such as `general-purpose`.
    #[serde(rename = "type")]
    pub agent_type: Option<String>,
    /// What it works on.
    pub title: Option<String>,
    /// Its progress.
    pub state: Option<ThreadState>,
    /// What it has used.
    pub usage: Option<ModelUsage>,
}

/// A background task.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TaskValue {
    /// Its type, such as `local_bash`.
    pub kind: Option<String>,
    /// The state.
    pub state: TaskState,
    /// A description.
    pub description: String,
    /// The call that started it.
    pub tool_use_id: Option<String>,
}

/// A permission request as the transcript shows it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PermissionValue {
    /// The agent's id of the request.
    pub request_id: String,
    /// The call.
    pub tool_use_id: Option<String>,
    /// Name of the tool.
    pub tool_name: String,
    /// The state.
    pub state: PermissionState,
    /// What it asks for.
    pub kind: RequestKind,
    /// The answers to choose from.
    pub options: Vec<RequestOption>,
    /// The questions to answer.
    pub questions: Vec<Question>,
    /// The URL to open.
    pub url: Option<String>,
    /// The thread that asks; absent on the main thread.
    pub thread: Option<String>,
    /// The rule that a lasting answer would add.
    pub rule: Option<String>,
    /// The answer's author, kind and time.
    pub decided_by: Option<AnsweredBy>,
    /// Byte range of its line in the output stream.
    pub bytes: [u64; 2],
}
