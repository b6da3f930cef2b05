//! Responses of the scripted model.

use std::time::Duration;

use serde_json::Value;

use super::Request;

/// The answer to a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A complete message.
    Reply(Reply),
    /// An error response instead of a message.
    ApiError(ApiError),
    /// The connection breaks after this many server-sent events of the message.
    ///
    /// 1 is `message_start`, 2 the first `content_block_start`, then its deltas follow. A request
    /// without streaming receives no byte.
    CutAfter(usize, Reply),
    /// No response, not even headers, until the agent gives up or the server is dropped.
    Hang,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl From<ApiError> for Answer {
    fn from(error: ApiError) -> Self {
        Self::ApiError(error)
    }
}

/// An assistant message and how it is sent.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The content blocks, in order.
    pub blocks: Vec<Block>,
    /// Maximum length of a delta, in characters.
    pub chunk: usize,
    /// Pause before each delta.
    pub pace: Duration,
    /// `stop_reason`; if `None`, derived from the blocks: `tool_use` or `end_turn`.
    pub stop_reason: Option<String>,
    /// Token counts in the message.
    pub usage: Usage,
    /// Number of server-sent events after which the stream stops, and the gate. Ignored without
    /// streaming.
    pub hold: Option<(usize, String)>,
}

impl Reply {
    /// Creates a message of these blocks, in deltas of up to 24 characters, without pauses.
    #[must_use]
    pub fn new(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self {
            blocks: blocks.into_iter().collect(),
            chunk: 24,
            pace: Duration::ZERO,
            stop_reason: None,
            usage: Usage::default(),
            hold: None,
        }
    }

    /// Creates a message of one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([Block::text(text)])
    }

    /// Creates a message of one tool call.
    #[must_use]
    pub fn tool(id: &str, name: &str, input: Value) -> Self {
        Self::new([Block::tool(id, name, input)])
    }

    /// Sets the length of deltas in characters, and the pause before each.
    #[must_use]
    pub fn in_chunks(mut self, chars: usize, pace: Duration) -> Self {
        self.chunk = chars.max(1);
        self.pace = pace;
        self
    }

    /// Stops at the named gate after `events` server-sent events, counted as in
    /// [`Answer::CutAfter`]; 0 stops after the response headers.
    #[must_use]
    pub fn hold_after(mut self, events: usize, gate: &str) -> Self {
        self.hold = Some((events, gate.to_owned()));
        self
    }

    /// Calls the tool of sub-agents by the name that the agent offers: `Task` before 2.1.100.
    pub(super) fn adapt_to(&mut self, request: &Request) {
        if !request.tools().any(|tool| tool == "Task") {
            return;
        }
        for block in &mut self.blocks {
            if let Block::ToolUse { name, .. } = block
                && name == "Agent"
            {
                "Task".clone_into(name);
            }
        }
    }

    pub(super) fn gate_after(&self, events: usize) -> Option<&str> {
        let hold = self.hold.as_ref().filter(|(after, _)| *after == events);
        hold.map(|(_, gate)| gate.as_str())
    }

    pub(super) fn stop_reason(&self) -> &str {
        let calls_tool = self
            .blocks
            .iter()
            .any(|block| matches!(block, Block::ToolUse { .. }));
        let derived = if calls_tool { "tool_use" } else { "end_turn" };
        self.stop_reason.as_deref().unwrap_or(derived)
    }
}

/// A content block of a scripted message.
#[derive(Clone, Debug)]
pub enum Block {
    /// Text.
    Text(String),
    /// Thinking, with a placeholder signature.
    Thinking(String),
    /// A call of a tool of the agent.
    ToolUse {
        /// `tool_use` id, which the result refers to.
        id: String,
        /// The tool's name for the model, such as `Bash` or `Agent`.
        name: String,
        /// The arguments, an object.
        input: Value,
    },
}

impl Block {
    /// Creates a text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a tool call.
    #[must_use]
    pub fn tool(id: &str, name: &str, input: Value) -> Self {
        Self::ToolUse {
            id: id.to_owned(),
            name: name.to_owned(),
            input,
        }
    }
}

/// Token counts of a scripted message.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// `input_tokens`.
    pub input: u64,
    /// `output_tokens` of the complete message.
    pub output: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            input: 1000,
            output: 50,
        }
    }
}

/// An error response of the API.
#[derive(Clone, Debug)]
pub struct ApiError {
    /// HTTP status. The agent reports and delays retries of 429 and 5xx. It does not retry 403 and 404,
    /// and after 400 it tries a few variants of the request.
    pub status: u16,
    /// `error.type`, for example `invalid_request_error`.
    pub kind: String,
    /// `error.message`.
    pub message: String,
    /// `retry-after` header, in seconds.
    pub retry_after: Option<u64>,
}

impl ApiError {
    /// Creates an error without a `retry-after` header.
    #[must_use]
    pub fn new(status: u16, kind: &str, message: &str) -> Self {
        let (kind, message) = (kind.to_owned(), message.to_owned());
        Self {
            status,
            kind,
            message,
            retry_after: None,
        }
    }
}
