//! `stream_event` lines (protocol, section A.8).

use crate::event::{Block, Message, Usage};
use crate::grammar::{Index, Read, Record as _, byte, nothing, record};
use crate::raw::RawJson;
use crate::text::Str;

/// `stream_event`: one streaming event of the API, on the main thread only.
#[derive(Clone, Debug)]
pub struct StreamEvent<'a> {
    /// The id of the message that streams.
    pub api_message_id: Option<Str<'a>>,
    /// What happened.
    pub event: ApiEvent<'a>,
    /// Blocks that will never be finished.
    pub abandoned: Option<Box<Abandoned<'a>>>,
}

/// What happened in the stream of one API message.
#[derive(Clone, Debug)]
pub enum ApiEvent<'a> {
    /// `message_start`: a draft opens.
    MessageStart(Box<Message<'a>>),
    /// `content_block_start`: a block opens.
    BlockStart {
        /// Place of the block in the message.
        index: u32,
        /// The block, empty yet.
        block: Option<Box<Block<'a>>>,
    },
    /// `content_block_delta`: a block grows.
    BlockDelta {
        /// Place of the block in the message.
        index: u32,
        /// What is added.
        delta: Delta<'a>,
    },
    /// `content_block_stop`: a block closes.
    BlockStop {
        /// Place of the block in the message.
        index: u32,
    },
    /// `message_delta`: final usage and stop reason.
    MessageDelta(Box<MessageDelta<'a>>),
    /// `message_stop`: the draft closes.
    MessageStop,
    /// `ping`
    Ping,
    /// `error`
    Error(Box<ApiError<'a>>),
    /// A streaming event that this crate does not know; it is kept raw in the line.
    Unknown {
        /// The `type`, when it is a string.
        kind: Option<Str<'a>>,
    },
}

/// What is added to a block.
#[derive(Clone, Copy, Debug)]
pub enum Delta<'a> {
    /// `text_delta`
    Text(Str<'a>),
    /// `input_json_delta`: a piece of JSON text; whole only at the end of the block.
    InputJson(Str<'a>),
    /// `thinking_delta`
    Thinking(Str<'a>),
    /// `signature_delta`
    Signature(Str<'a>),
    /// `citations_delta`, or a delta that this crate does not know; it is kept raw in the line.
    Other {
        /// The `type`, when it is a string.
        kind: Option<Str<'a>>,
    },
}

record! {
    /// Blocks of a message that will never be finished.
    pub Abandoned<'a> {
        /// The message.
        api_message_id: Option<Str<'a>> = "api_message_id",
        /// The first abandoned block; every later one is abandoned too.
        from_block_index: Option<u32> = "from_block_index",
    }
}

record! {
    /// `message_delta`: what is final about a message.
    pub MessageDelta<'a> {
        /// Why the model stopped.
        delta: StopDelta<'a> = "delta",
        /// Final token counts.
        usage: Option<Usage> = "usage",
    }
}

record! {
    /// Why the model stopped.
    pub StopDelta<'a> {
        /// `end_turn`, `tool_use`, `max_tokens`, …
        stop_reason: Option<Str<'a>> = "stop_reason" then "stop_sequence",
    }
}

record! {
    /// An error inside the stream.
    pub ApiError<'a> {
        /// `overloaded_error`, …
        kind: Option<Str<'a>> = "type",
        /// What the API says.
        message: Option<Str<'a>> = "message",
    }
}

record! {
    /// The members of a `stream_event` line.
    pub(crate) StreamLine<'a> {
        /// `event`
        event: ApiEvent<'a> = "event" then "ttft_ms" then "thinking_display",
        /// `api_message_id`
        api_message_id: Option<Str<'a>> = "api_message_id",
        /// `abandoned_blocks`
        abandoned: Option<Box<Abandoned<'a>>> = "abandoned_blocks",
    }
}

impl<'a> From<StreamLine<'a>> for StreamEvent<'a> {
    fn from(line: StreamLine<'a>) -> Self {
        Self {
            api_message_id: line.api_message_id,
            event: line.event,
            abandoned: line.abandoned,
        }
    }
}

impl Default for ApiEvent<'_> {
    fn default() -> Self {
        Self::Unknown { kind: None }
    }
}

impl Default for Delta<'_> {
    fn default() -> Self {
        Self::Other { kind: None }
    }
}

record! {
    /// Every member that some streaming event has, since `type` may stand anywhere among them.
    pub(crate) Slots<'a> {
        /// `type`
        kind: Option<Str<'a>> = "type" then "context_management",
        /// `index`
        index: Option<u32> = "index",
        /// `delta`
        delta: Option<RawJson<'a>> = "delta",
        /// `message`
        message: Option<Box<Message<'a>>> = "message",
        /// `content_block`
        block: Option<Block<'a>> = "content_block",
        /// `usage`
        usage: Option<Usage> = "usage",
        /// `error`
        error: Option<Box<ApiError<'a>>> = "error",
    }
}

impl<'a> Read<'a> for ApiEvent<'a> {
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        *self = Self::default();
        if byte(text.as_bytes(), at) != b'{' {
            return nothing(text.as_bytes(), at);
        }
        let mut slots = Slots::default();
        let end = slots.members(text, at)?;
        *self = slots.event();
        Ok(end)
    }
}

impl<'a> Slots<'a> {
    fn event(self) -> ApiEvent<'a> {
        let index = self.index.unwrap_or_default();
        match &*self.kind.unwrap_or_default().decode() {
            "content_block_delta" => ApiEvent::BlockDelta {
                index,
                delta: self.block_delta(),
            },
            "content_block_start" => ApiEvent::BlockStart {
                index,
                block: self.block.map(Box::new),
            },
            "content_block_stop" => ApiEvent::BlockStop { index },
            "message_start" => ApiEvent::MessageStart(self.message.unwrap_or_default()),
            "message_delta" => ApiEvent::MessageDelta(Box::new(MessageDelta {
                delta: self.delta.map(read_raw).unwrap_or_default(),
                usage: self.usage,
            })),
            "message_stop" => ApiEvent::MessageStop,
            "ping" => ApiEvent::Ping,
            "error" => ApiEvent::Error(self.error.unwrap_or_default()),
            _ => ApiEvent::Unknown { kind: self.kind },
        }
    }

    fn block_delta(&self) -> Delta<'a> {
        self.delta
            .map(read_raw::<DeltaSlots<'_>>)
            .unwrap_or_default()
            .delta()
    }
}

/// Reads a value that the walk kept raw until its meaning was known.
fn read_raw<'a, T: Read<'a> + Default>(raw: RawJson<'a>) -> T {
    let mut value = T::default();
    // The text is validated, so the walk cannot stop.
    let _ = value.read(raw.text(), 0);
    value
}

record! {
    /// Every member that some delta has.
    pub(crate) DeltaSlots<'a> {
        /// `type`
        kind: Option<Str<'a>> = "type",
        /// `text`
        text: Option<Str<'a>> = "text",
        /// `partial_json`
        partial_json: Option<Str<'a>> = "partial_json",
        /// `thinking`
        thinking: Option<Str<'a>> = "thinking",
        /// `signature`
        signature: Option<Str<'a>> = "signature",
    }
}

impl<'a> DeltaSlots<'a> {
    fn delta(&self) -> Delta<'a> {
        match &*self.kind.unwrap_or_default().decode() {
            "text_delta" => Delta::Text(self.text.unwrap_or_default()),
            "input_json_delta" => Delta::InputJson(self.partial_json.unwrap_or_default()),
            "thinking_delta" => Delta::Thinking(self.thinking.unwrap_or_default()),
            "signature_delta" => Delta::Signature(self.signature.unwrap_or_default()),
            _ => Delta::Other { kind: self.kind },
        }
    }
}
