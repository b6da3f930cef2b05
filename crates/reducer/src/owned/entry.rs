//! Entries and their blocks.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::state::{ErrorKind, MessageState, Outcome};

/// An entry without its blocks.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryValue {
    /// A prompt of the user, of the agent itself, or of a sub-agent's parent.
    User {
        /// Uuid of the line or of the host's prompt.
        uuid: Option<String>,
        /// The text.
        text: String,
        /// Whether the agent echoed it.
        replay: bool,
        /// Whether the agent wrote it.
        synthetic: bool,
    },
    /// A message of the model.
    Assistant {
        /// The API's `message.id`.
        message_id: String,
        /// The model; `<synthetic>` for a message of the agent itself.
        model: Option<String>,
        /// Whether it is complete.
        state: MessageState,
    },
    /// The end of a turn.
    Result {
        /// `success`, `error_during_execution`, …
        subtype: String,
        /// Whether the turn failed; independent of `subtype`.
        is_error: bool,
        /// How it ended.
        outcome: Outcome,
        /// The final text, or the error.
        text: Option<String>,
        /// What started the turn, if not the host.
        origin: Option<String>,
        /// Number of round trips to the model.
        num_turns: u64,
        /// Wall time in milliseconds.
        duration_ms: u64,
    },
    /// Information beside the conversation.
    Notice {
        /// Type or system subtype of its line.
        notice: String,
        /// The text.
        text: String,
    },
    /// An error of the stream.
    Error {
        /// The kind.
        error: ErrorKind,
        /// A description.
        text: String,
    },
}

/// One part of a message.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockValue {
    /// Text.
    Text {
        /// The text so far.
        text: String,
    },
    /// Reasoning.
    Thinking {
        /// The text so far; empty when the agent does not show it.
        text: String,
    },
    /// Encrypted reasoning.
    RedactedThinking,
    /// A tool call; see [`TranscriptChange::ToolCall`](crate::TranscriptChange::ToolCall).
    ToolCall {
        /// The `tool_use` id.
        id: String,
    },
    /// A block of another type.
    Other {
        /// The block as the agent wrote it.
        raw: Box<RawValue>,
    },
}
