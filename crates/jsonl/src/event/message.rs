//! `assistant` and `user` lines (PROTOCOL.md, Assistant lines and User lines).

use crate::event::block::{Block, Blocks};
use crate::grammar::{Cursor, Field, Known, ParsedAt, index, null_or_skip, record, skip, string};
use crate::raw::RawJson;
use crate::text::Str;

record! {
    /// `assistant`: usually one finished block of an API message.
    ///
    /// Several lines share one `message.id`; `usage` and `stop_reason` are not final here.
    pub Assistant<'a> {
        /// The API message.
        message: Message<'a> = "message",
        /// RFC 3339; for display, not for ordering.
        timestamp: Option<Str<'a>> = "timestamp",
        /// The API's own id of the call.
        request_id: Option<Str<'a>> = "request_id",
        /// Kind of the API failure that the message reports.
        error: Option<Str<'a>> = "error",
        /// HTTP status of the failed call.
        api_error_status: Option<u32> = "api_error_status",
        /// Whether an interrupt cut the message; its text may end inside a word.
        aborted: bool = "aborted",
        /// Uuids of earlier lines that this one replaces.
        supersedes: Option<RawJson<'a>> = "supersedes",
        /// The prompt that the message answers.
        user_message_uuid: Option<Str<'a>> = "user_message_uuid",
        /// All prompts that the message answers.
        user_message_uuids: Option<RawJson<'a>> = "user_message_uuids",
        /// The sub-agent that wrote the message.
        agent_id: Option<Str<'a>> = "agent_id",
        /// The kind of that sub-agent.
        subagent_type: Option<Str<'a>> = "subagent_type",
        /// Short description of that sub-agent's task.
        task_description: Option<Str<'a>> = "task_description",
    }
    common(line, value) {
        r#""message":"# => line.message.parse(value),
        r#""agent_id":"# => line.agent_id.parse(value),
        r#""timestamp":"# => line.timestamp.parse(value),
        r#""request_id":"# => line.request_id.parse(value),
        r#""subagent_type":"# => line.subagent_type.parse(value),
        r#""task_description":"# => line.task_description.parse(value),
    }
}

record! {
    /// `user`: tool results, prompts that the agent composed, echoes of the host's prompts.
    pub User<'a> {
        /// The message.
        message: Message<'a> = "message",
        /// RFC 3339; for display, not for ordering.
        timestamp: Option<Str<'a>> = "timestamp",
        /// The tool's structured output: an object on success, a string on failure.
        tool_use_result: Option<RawJson<'a>> = "tool_use_result",
        /// Why a tool did not run, per call.
        tool_result_meta: Option<RawJson<'a>> = "tool_result_meta",
        /// Whether the line is an echo instead of new content.
        is_replay: bool = "isReplay",
        /// Whether the agent composed the message.
        is_synthetic: bool = "isSynthetic",
        /// The origin of the prompt.
        origin: Option<Box<Origin<'a>>> = "origin",
        /// `now`, `next` or `later`.
        priority: Option<Str<'a>> = "priority",
        /// The message that was refused.
        refused_message_id: Option<Str<'a>> = "refused_message_id",
        /// The sub-agent that received the message.
        agent_id: Option<Str<'a>> = "agent_id",
        /// The kind of that sub-agent.
        subagent_type: Option<Str<'a>> = "subagent_type",
        /// Short description of that sub-agent's task.
        task_description: Option<Str<'a>> = "task_description",
    }
    common(line, value) {
        r#""message":"# => line.message.parse(value),
        r#""agent_id":"# => line.agent_id.parse(value),
        r#""timestamp":"# => line.timestamp.parse(value),
        r#""tool_use_result":"# => line.tool_use_result.parse(value),
        r#""tool_result_meta":"# => line.tool_result_meta.parse(value),
        r#""subagent_type":"# => line.subagent_type.parse(value),
        r#""task_description":"# => line.task_description.parse(value),
    }
}

record! {
    /// A message of the API.
    pub Message<'a> {
        /// The same on every line of one message.
        id: Option<Str<'a>> = "id",
        /// `assistant` or `user`.
        role: Option<Str<'a>> = "role",
        /// `<synthetic>` when the agent composed the message.
        model: Option<Str<'a>> = "model",
        /// A string or blocks.
        content: MessageContent<'a> = "content",
        /// Why the model stopped.
        stop_reason: Option<Str<'a>> = "stop_reason",
        /// Tokens; not final on an `assistant` line.
        usage: Option<Usage> = "usage",
    }
    common(message, value) {
        r#""role":"user","content":"# => {
            message.role = Some(Str::plain("user"));
            message.content.parse(value)
        },
        r#""id":"# => message.id.parse(value),
        r#""type":"message","role":"assistant","model":"# => {
            message.role = Some(Str::plain("assistant"));
            message.model.parse(value)
        },
        r#""content":"# => message.content.parse(value),
        r#""stop_reason":null,"stop_sequence":null,"usage":"# => {
            message.stop_reason = None;
            message.usage.parse(value)
        },
        r#""stop_reason":"# => message.stop_reason.parse(value),
        r#""stop_sequence":null,"usage":"# => message.usage.parse(value),
        r#""context_management":null"# => Ok((value, ())),
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
    common(usage, value) {
        r#""input_tokens":"# => usage.input_tokens.parse(value),
        r#""cache_creation_input_tokens":"# => usage.cache_creation_input_tokens.parse(value),
        r#""cache_read_input_tokens":"# => usage.cache_read_input_tokens.parse(value),
        r#""output_tokens":"# => usage.output_tokens.parse(value),
        r#""output_tokens_details":{"thinking_tokens":0}"# => Ok((value, ())),
        r#""output_tokens_details":"# => skip(value),
        r#""server_tool_use":{"web_search_requests":0,"web_fetch_requests":0}"# => Ok((value, ())),
        r#""server_tool_use":"# => skip(value),
        r#""service_tier":"standard""# => Ok((value, ())),
        r#""cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0}"# => Ok((value, ())),
        r#""cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}"# => Ok((value, ())),
        r#""cache_creation":"# => skip(value),
        r#""service_tier":"standard""# => Ok((value, ())),
        r#""inference_geo":"","iterations":[],"speed":"standard""# => Ok((value, ())),
        r#""inference_geo":"# => skip(value),
        r#""iterations":"# => skip(value),
        r#""speed":"# => skip(value),
        r#""fallback_credit":null"# => Ok((value, ())),
    }
}

record! {
    /// The origin of a prompt.
    pub Origin<'a> {
        /// `human`, `task-notification`, `peer`, …; an open set.
        kind: Option<Str<'a>> = "kind",
    }
}

impl<'a> Field<'a> for Option<Usage> {
    #[inline]
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        *self = None;
        if input.first() != b'{' {
            return index(null_or_skip(input));
        }
        self.insert(Usage::default()).parse_at(text, at)
    }

    fn known() -> Known {
        Usage::known()
    }
}

/// The content of a message.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum MessageContent<'a> {
    /// No content.
    #[default]
    Absent,
    /// A string: output of slash commands, and some echoes.
    Text(Str<'a>),
    /// Blocks.
    Blocks(Blocks<'a>),
}

impl<'a> Message<'a> {
    /// Returns the blocks of the message; none when its content is a string.
    #[must_use]
    pub fn blocks(&self) -> &[Block<'a>] {
        match &self.content {
            MessageContent::Blocks(blocks) => blocks,
            _ => &[],
        }
    }
}

impl<'a> Field<'a> for MessageContent<'a> {
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        match input.first() {
            b'[' => {
                let mut blocks = Blocks::default();
                let parsed = blocks.parse_at(text, at)?;
                *self = Self::Blocks(blocks);
                Ok(parsed)
            }
            b'"' => {
                let (end, value) = string(input)?;
                *self = Self::Text(value);
                Ok((end.at(), ()))
            }
            _ => {
                *self = Self::Absent;
                index(skip(input))
            }
        }
    }

    fn known() -> Known {
        Blocks::known()
    }
}
