//! `stream_event` lines (PROTOCOL.md, Stream events).

use crate::event::block::Block;
use crate::event::message::{Message, Usage};
use crate::grammar::{
    Cursor, Field, Known, KnownMembers, ParsedAt, Record as _, index, null_or_skip, record,
    set_known,
};
use crate::raw::RawJson;
use crate::text::Str;

/// `stream_event`: one streaming event of the API, in the main conversation only.
#[derive(Clone, Debug)]
pub struct StreamEvent<'a> {
    /// The message that streams.
    pub api_message_id: Option<Str<'a>>,
    /// The event.
    pub event: ApiEvent<'a>,
    /// Blocks that will never be completed.
    pub abandoned: Option<Box<Abandoned<'a>>>,
}

/// An event in the stream of one API message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ApiEvent<'a> {
    /// `message_start`: a draft opens.
    MessageStart(Box<Message<'a>>),
    /// `content_block_start`: a block opens.
    BlockStart {
        /// Index of the block in the message.
        index: u32,
        /// The block, still empty.
        block: Option<Box<Block<'a>>>,
    },
    /// `content_block_delta`: a block grows.
    BlockDelta {
        /// Index of the block in the message.
        index: u32,
        /// The addition.
        delta: Delta<'a>,
    },
    /// `content_block_stop`: a block closes.
    BlockStop {
        /// Index of the block in the message.
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
    /// A type that this crate does not know; the raw line has it.
    Unknown {
        /// The `type`, when it is a string.
        kind: Option<Str<'a>>,
    },
}

/// An addition to a block.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// `text_delta`
    Text(Str<'a>),
    /// `input_json_delta`: a piece of JSON text, which is complete at the end of the block.
    InputJson(Str<'a>),
    /// `thinking_delta`
    Thinking(Str<'a>),
    /// `signature_delta`
    Signature(Str<'a>),
    /// `citations_delta`, or a type that this crate does not know; the raw line has it.
    Other {
        /// The `type`, when it is a string.
        kind: Option<Str<'a>>,
    },
}

record! {
    /// Blocks of a message that will never be completed.
    pub Abandoned<'a> {
        /// The message.
        api_message_id: Option<Str<'a>> = "api_message_id",
        /// The first abandoned block; every later one is abandoned too.
        from_block_index: Option<u32> = "from_block_index",
    }
}

record! {
    /// `message_delta`: the final data of a message.
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
        /// Message of the API.
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
    /// Every member that some streaming event has, since `type` may be anywhere among them.
    pub(crate) EventMembers<'a> {
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

impl<'a> Field<'a> for ApiEvent<'a> {
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        *self = Self::default();
        if input.first() != b'{' {
            return index(null_or_skip(input));
        }
        let mut members = EventMembers::default();
        let parsed = members.object(input)?;
        *self = members.event();
        index(Ok(parsed))
    }

    fn known() -> Known {
        Known::Object(event_members)
    }
}

/// The known members of an event. What its `delta` has is read by another record.
fn event_members() -> KnownMembers {
    let mut known = EventMembers::known_members();
    set_known(&mut known, "delta", Known::Object(delta_members));
    known
}

fn delta_members() -> KnownMembers {
    let mut known = DeltaMembers::known_members();
    known.extend(StopDelta::known_members());
    known
}

impl<'a> EventMembers<'a> {
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
                delta: self.delta.map(RawJson::parse_as).unwrap_or_default(),
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
            .map(RawJson::parse_as::<DeltaMembers<'_>>)
            .unwrap_or_default()
            .delta()
    }
}

record! {
    /// Every member that some delta has.
    pub(crate) DeltaMembers<'a> {
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

impl<'a> DeltaMembers<'a> {
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
