//! Tokens of one model call.

use bowline_jsonl::{ApiEvent, Body, Event, Usage};
use serde::Serialize;
use utoipa::ToSchema;

/// Tokens of a model call, as far as the agent reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CallTokens)]
pub(crate) struct CallTokens {
    pub(super) input_tokens: u64,
    /// `null` if the agent does not report the final count, as without partial messages.
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_tokens: u64,
    pub(super) cache_creation_tokens: u64,
}

impl CallTokens {
    /// The counts of a line that is not the last one of its message.
    fn of(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens.unwrap_or(0),
            output_tokens: None,
            cache_read_tokens: usage.cache_read_input_tokens.unwrap_or(0),
            cache_creation_tokens: usage.cache_creation_input_tokens.unwrap_or(0),
        }
    }

    /// Combines what several lines of one call report: the counts only grow.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.max(other.cache_read_tokens),
            cache_creation_tokens: self.cache_creation_tokens.max(other.cache_creation_tokens),
        }
    }

    /// The tokens that the model read: how full its context was.
    pub(super) const fn context(self) -> u64 {
        self.input_tokens + self.cache_read_tokens + self.cache_creation_tokens
    }
}

/// Returns the tokens that a line reports of a model call, and the id of its message if the line has it.
pub(super) fn usage_of(event: &Event<'_>) -> Option<(Option<String>, CallTokens)> {
    match &event.body {
        Body::Stream(stream) => {
            let id = stream.api_message_id.map(|id| id.decode().into_owned());
            match &stream.event {
                ApiEvent::MessageStart(message) => {
                    let own = message.id.map(|id| id.decode().into_owned());
                    Some((own.or(id), CallTokens::of(message.usage.as_ref()?)))
                }
                ApiEvent::MessageDelta(delta) => Some((id, CallTokens::of(delta.usage.as_ref()?))),
                _ => None,
            }
        }
        Body::Assistant(line) => {
            let id = line.message.id.map(|id| id.decode().into_owned());
            Some((id, CallTokens::of(line.message.usage.as_ref()?)))
        }
        _ => None,
    }
}
