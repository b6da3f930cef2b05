//! `assistant` and `user` lines (protocol, sections A.5 and A.6).

use crate::event::{Block, Blocks};
use crate::grammar::{Index, Read, byte, nothing, record, skip, string_at};
use crate::raw::RawJson;
use crate::text::Str;

record! {
    /// `assistant`: one finished block (usually) of an API message.
    ///
    /// Several lines share one `message.id`; `usage` and `stop_reason` are not final here.
    pub Assistant<'a> {
        /// The API message.
        message: Message<'a> = "message",
        /// ISO 8601; for display, not for order.
        timestamp: Option<Str<'a>> = "timestamp",
        /// The API's own id of the call.
        request_id: Option<Str<'a>> = "request_id",
        /// Why the message stands for an error of the API.
        error: Option<Str<'a>> = "error",
        /// HTTP status of the failed call.
        api_error_status: Option<u32> = "api_error_status",
        /// Cut by an interrupt; the text may end inside a word.
        aborted: bool = "aborted",
        /// Uuids of earlier lines that this one replaces.
        supersedes: Option<RawJson<'a>> = "supersedes",
        /// The prompt that this answers.
        user_message_uuid: Option<Str<'a>> = "user_message_uuid",
        /// All the prompts that this answers.
        user_message_uuids: Option<RawJson<'a>> = "user_message_uuids",
        /// The sub-agent that speaks.
        agent_id: Option<Str<'a>> = "agent_id",
        /// The kind of that sub-agent.
        subagent_type: Option<Str<'a>> = "subagent_type",
        /// What that sub-agent was asked to do, in a few words.
        task_description: Option<Str<'a>> = "task_description",
    }
    spelt(line, text, at) {
        r#""message":"# => line.message.read(text, at),
        r#""agent_id":"# => line.agent_id.read(text, at),
        r#""timestamp":"# => line.timestamp.read(text, at),
        r#""request_id":"# => line.request_id.read(text, at),
        r#""subagent_type":"# => line.subagent_type.read(text, at),
        r#""task_description":"# => line.task_description.read(text, at),
    }
}

record! {
    /// `user`: tool results, prompts that the agent wrote itself, echoes of the host's prompts.
    pub User<'a> {
        /// The message.
        message: Message<'a> = "message",
        /// ISO 8601; for display, not for order.
        timestamp: Option<Str<'a>> = "timestamp",
        /// The tool's structured output: an object on success, a string on failure.
        tool_use_result: Option<RawJson<'a>> = "tool_use_result",
        /// Why a tool did not run, per call.
        tool_result_meta: Option<RawJson<'a>> = "tool_result_meta",
        /// An echo of something already said, not new content.
        is_replay: bool = "isReplay",
        /// Written by the agent itself.
        is_synthetic: bool = "isSynthetic",
        /// Where the prompt came from.
        origin: Option<Box<Origin<'a>>> = "origin",
        /// `now`, `next` or `later`.
        priority: Option<Str<'a>> = "priority",
        /// The message that was refused.
        refused_message_id: Option<Str<'a>> = "refused_message_id",
        /// The sub-agent that was spoken to.
        agent_id: Option<Str<'a>> = "agent_id",
        /// The kind of that sub-agent.
        subagent_type: Option<Str<'a>> = "subagent_type",
        /// What that sub-agent was asked to do, in a few words.
        task_description: Option<Str<'a>> = "task_description",
    }
    spelt(line, text, at) {
        r#""message":"# => line.message.read(text, at),
        r#""agent_id":"# => line.agent_id.read(text, at),
        r#""timestamp":"# => line.timestamp.read(text, at),
        r#""tool_use_result":"# => line.tool_use_result.read(text, at),
        r#""tool_result_meta":"# => line.tool_result_meta.read(text, at),
        r#""subagent_type":"# => line.subagent_type.read(text, at),
        r#""task_description":"# => line.task_description.read(text, at),
    }
}

record! {
    /// A message of the API.
    pub Message<'a> {
        /// The same on every line of one message.
        id: Option<Str<'a>> = "id",
        /// `assistant` or `user`.
        role: Option<Str<'a>> = "role",
        /// `<synthetic>` when the agent made the message up.
        model: Option<Str<'a>> = "model",
        /// A string or blocks.
        content: MessageContent<'a> = "content",
        /// Why the model stopped.
        stop_reason: Option<Str<'a>> = "stop_reason",
        /// Tokens; not final on an `assistant` line.
        usage: Option<Usage> = "usage",
    }
    spelt(message, text, at) {
        r#""role":"user","content":"# => {
            message.role = Some(Str::plain("user"));
            message.content.read(text, at)
        },
        r#""id":"# => message.id.read(text, at),
        r#""type":"message","role":"assistant","model":"# => {
            message.role = Some(Str::plain("assistant"));
            message.model.read(text, at)
        },
        r#""content":"# => message.content.read(text, at),
        r#""stop_reason":null,"stop_sequence":null,"usage":"# => {
            message.stop_reason = None;
            message.usage.read(text, at)
        },
        r#""stop_reason":"# => message.stop_reason.read(text, at),
        r#""stop_sequence":null,"usage":"# => message.usage.read(text, at),
        r#""context_management":null"# => Ok(at),
    }
}

record! {
    /// Tokens of one API call.
    pub Usage {
        /// Tokens sent.
        input_tokens: Option<u64> = "input_tokens",
        /// Tokens written to the cache.
        cache_creation_input_tokens: Option<u64> = "cache_creation_input_tokens",
        /// Tokens read from the cache.
        cache_read_input_tokens: Option<u64> = "cache_read_input_tokens",
        /// Tokens received.
        output_tokens: Option<u64> = "output_tokens",
    }
    spelt(usage, text, at) {
        r#""input_tokens":"# => usage.input_tokens.read(text, at),
        r#""cache_creation_input_tokens":"# => usage.cache_creation_input_tokens.read(text, at),
        r#""cache_read_input_tokens":"# => usage.cache_read_input_tokens.read(text, at),
        r#""output_tokens":"# => usage.output_tokens.read(text, at),
        r#""output_tokens_details":"# => skip(text.as_bytes(), at),
        r#""server_tool_use":"# => skip(text.as_bytes(), at),
        r#""cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}"# => Ok(at),
        r#""cache_creation":"# => skip(text.as_bytes(), at),
        r#""service_tier":"standard""# => Ok(at),
        r#""inference_geo":"# => skip(text.as_bytes(), at),
        r#""iterations":"# => skip(text.as_bytes(), at),
        r#""speed":"# => skip(text.as_bytes(), at),
    }
}

record! {
    /// Where a prompt came from.
    pub Origin<'a> {
        /// `human`, `task-notification`, `peer`, …; an open set.
        kind: Option<Str<'a>> = "kind",
    }
}

impl<'a> Read<'a> for Option<Usage> {
    #[inline]
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        *self = None;
        if byte(text.as_bytes(), at) != b'{' {
            return nothing(text.as_bytes(), at);
        }
        self.insert(Usage::default()).read(text, at)
    }
}

/// The content of a message.
#[derive(Clone, Debug, Default)]
pub enum MessageContent<'a> {
    /// No content.
    #[default]
    Absent,
    /// A string, as slash commands and some echoes have it.
    Text(Str<'a>),
    /// Blocks.
    Blocks(Blocks<'a>),
}

impl<'a> Message<'a> {
    /// The blocks of the message; none when its content is a string.
    #[must_use]
    pub fn blocks(&self) -> &[Block<'a>] {
        match &self.content {
            MessageContent::Blocks(blocks) => blocks,
            _ => &[],
        }
    }
}

impl<'a> Read<'a> for MessageContent<'a> {
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        match byte(text.as_bytes(), at) {
            b'[' => {
                let mut blocks = Blocks::default();
                let end = blocks.read(text, at)?;
                *self = Self::Blocks(blocks);
                Ok(end)
            }
            b'"' => {
                let (end, value) = string_at(text, at)?;
                *self = Self::Text(value);
                Ok(end)
            }
            _ => {
                *self = Self::Absent;
                skip(text.as_bytes(), at)
            }
        }
    }
}
