//! Tool calls, their results and sub-agents.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::core::reducer::owned::ToolCallValue;
use crate::core::reducer::{self, model};
use crate::mirror::mirror;

mirror! {
    /// The progress of a sub-agent.
    ThreadState = model::ThreadState, else Running {
        /// The sub-agent is working.
        Running,
        /// The sub-agent waits for the answer to a request.
        RequiresAction,
        /// The sub-agent waits for a message.
        Idle,
        /// The sub-agent is done.
        Completed,
        /// The sub-agent failed.
        Failed,
        /// The sub-agent was interrupted.
        Interrupted,
        /// The process ended before the sub-agent did.
        Lost,
    }
}

mirror! {
    /// The state of a tool call.
    CallState = reducer::CallState, else Running {
        /// The model is writing the input.
        Pending,
        /// The agent waits for permission to run the tool.
        AwaitingPermission,
        /// The tool is running.
        Running,
        /// The tool returned a result.
        Succeeded,
        /// The tool returned an error.
        Failed,
        /// An interrupt ended the call.
        Interrupted,
        /// The stream ended before the result.
        Lost,
    }
}

/// A tool call and its result. Absent values are unknown.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ToolCallView {
    /// The `tool_use` id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as a JSON value; absent while the model writes them.
    pub input: Option<String>,
    /// The state of the call.
    pub state: CallState,
    /// The result, once there is one.
    pub result: Option<ToolResultView>,
    /// A line that says what the call does.
    pub title: Option<String>,
    /// What the tool does; absent before the tool is known.
    pub kind: Option<ToolKind>,
    /// The files that the call works on.
    pub locations: Vec<FileLocation>,
    /// Texts, changes of files, commands.
    pub content: Vec<CallContent>,
    /// What the call's command has printed so far. `result` has the final text.
    pub output: Option<String>,
    /// The exit code of the call's command.
    pub exit_code: Option<i64>,
    /// When the call was first seen, in milliseconds since 1970.
    pub started_ms: Option<u64>,
    /// When the call ended, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// The call's lines in the agent's output, up to that of the result.
    pub bytes: ByteRange,
    /// The tokens that the call has used.
    pub usage: Option<TokenUsage>,
    /// The sub-agent that the call started.
    pub subagent: Option<SubagentView>,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ToolResultView {
    /// Whether the tool failed.
    pub is_error: bool,
    /// The text, with placeholders for content that is not text.
    pub text: String,
}

mirror! {
    /// What a tool does.
    ToolKind = model::ToolKind, else Other {
        /// Reads files or data.
        Read,
        /// Changes files.
        Edit,
        /// Deletes files.
        Delete,
        /// Moves files.
        Move,
        /// Searches files or the web.
        Search,
        /// Runs a command.
        Execute,
        /// Reasons or plans.
        Think,
        /// Fetches from the network.
        Fetch,
        /// Changes the session's mode.
        SwitchMode,
        /// Anything else.
        Other,
    }
}

/// A file that a tool call works on.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct FileLocation {
    /// The path as the agent gave it.
    pub path: String,
    /// The line, from 1.
    pub line: Option<u64>,
}

/// A part of what a tool call shows.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum CallContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A change of a file: its old and new text, or a patch.
    Diff {
        /// The file's path.
        path: String,
        /// The replaced text; absent for a new file, or if only a patch is known.
        old: Option<String>,
        /// The new text; absent for a deleted file, or if only a patch is known.
        new: Option<String>,
        /// A unified diff.
        patch: Option<String>,
    },
    /// A command, whose output is `ToolCallView.output`.
    Terminal {
        /// The command line.
        command: String,
        /// The command's working directory.
        cwd: Option<String>,
    },
}

/// A half-open range of byte offsets in the agent's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ByteRange {
    /// The offset of the first byte.
    pub start: u64,
    /// The offset past the last byte, without its line end.
    pub end: u64,
}

/// Counts of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TokenUsage {
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Tokens read from the prompt cache.
    pub cache_read_tokens: u64,
    /// Tokens written to the prompt cache.
    pub cache_creation_tokens: u64,
}

/// A sub-agent. Its messages are entries of its own thread.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct SubagentView {
    /// The sub-agent's id, which is the `task_id` of its task.
    pub agent_id: Option<String>,
    /// The sub-agent's type, such as `general-purpose`.
    pub agent_type: Option<String>,
    /// What the sub-agent works on.
    pub title: Option<String>,
    /// The progress of the sub-agent.
    pub state: Option<ThreadState>,
    /// The tokens that the sub-agent has used.
    pub usage: Option<TokenUsage>,
}

impl From<reducer::ToolCall<'_>> for ToolCallView {
    fn from(call: reducer::ToolCall<'_>) -> Self {
        let it = ToolCallValue::from(call);
        Self {
            id: it.id,
            name: it.name,
            input: it.input.map(json),
            state: it.state.into(),
            result: it.result.map(|result| ToolResultView {
                is_error: result.is_error,
                text: result.text,
            }),
            title: it.title,
            kind: it.kind.map(Into::into),
            locations: it.locations.into_iter().map(Into::into).collect(),
            content: it.content.into_iter().filter_map(content).collect(),
            output: it.output,
            exit_code: it.exit_code,
            started_ms: it.started_ms,
            ended_ms: it.ended_ms,
            bytes: call.bytes().into(),
            usage: it.usage.map(Into::into),
            subagent: it.subagent.map(|subagent| SubagentView {
                agent_id: subagent.agent_id,
                agent_type: subagent.agent_type,
                title: subagent.title,
                state: subagent.state.map(Into::into),
                usage: subagent.usage.map(Into::into),
            }),
        }
    }
}

/// `None` for a form that this version does not know.
fn content(content: model::Content) -> Option<CallContent> {
    Some(match content {
        model::Content::Text { text } => CallContent::Text { text },
        model::Content::Diff {
            path,
            old,
            new,
            patch,
        } => CallContent::Diff {
            path,
            old,
            new,
            patch,
        },
        model::Content::Terminal { command, cwd } => CallContent::Terminal { command, cwd },
        _ => return None,
    })
}

impl From<model::Location> for FileLocation {
    fn from(it: model::Location) -> Self {
        Self {
            path: it.path,
            line: it.line,
        }
    }
}

impl From<Range<u64>> for ByteRange {
    fn from(range: Range<u64>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

impl From<reducer::ModelUsage> for TokenUsage {
    fn from(it: reducer::ModelUsage) -> Self {
        Self {
            input_tokens: it.input_tokens,
            output_tokens: it.output_tokens,
            cache_read_tokens: it.cache_read_tokens,
            cache_creation_tokens: it.cache_creation_tokens,
        }
    }
}

/// Returns the value as in the transcript's JSON.
pub(super) fn json(raw: Box<RawValue>) -> String {
    Box::<str>::from(raw).into()
}
