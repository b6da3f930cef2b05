//! The formats of the models' APIs.

mod chat_completions;
mod generate_content;
mod responses;

use serde_json::Value;

use super::{Call, Reply};

/// The API of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiFormat {
    /// OpenAI's Responses.
    Responses,
    /// Gemini's `streamGenerateContent`.
    GenerateContent,
    /// OpenAI's chat completions, as many other providers have them.
    ChatCompletions,
}

/// A streamed response: what comes until its first text, and what comes afterwards.
pub(super) struct Streamed {
    pub(super) first: String,
    pub(super) rest: String,
}

/// What a message contains.
pub(super) enum Content<'a> {
    Text(&'a str),
    Call(&'a Call),
}

impl ApiFormat {
    /// Whether the path is that of a streamed message.
    pub(super) fn is_message(self, path: &str) -> bool {
        path.ends_with(match self {
            Self::Responses => "/responses",
            Self::GenerateContent => ":streamGenerateContent",
            Self::ChatCompletions => "/chat/completions",
        })
    }

    /// Whether a user's message of the request contains `text`.
    pub(super) fn was_prompted(self, request: &Value, text: &str) -> bool {
        let messages = match self {
            Self::Responses => &request["input"],
            Self::GenerateContent => &request["contents"],
            Self::ChatCompletions => &request["messages"],
        };
        let mut messages = messages.as_array().into_iter().flatten();
        messages.any(|it| {
            let parts = it.get("content").or_else(|| it.get("parts"));
            it["role"] == "user" && parts.is_some_and(|parts| has_text(parts, text))
        })
    }

    /// Encodes a message with a name.
    pub(super) fn encode(self, name: &str, content: Content<'_>) -> Streamed {
        match self {
            Self::Responses => responses::encode(name, content),
            Self::GenerateContent => generate_content::encode(content),
            Self::ChatCompletions => chat_completions::encode(name, content),
        }
    }
}

/// Whether a content has this text in one of its text parts.
fn has_text(content: &Value, text: &str) -> bool {
    let contains = |it: &Value| it.as_str().is_some_and(|it| it.contains(text));
    let mut parts = content.as_array().into_iter().flatten();
    contains(content) || parts.any(|part| contains(&part["text"]))
}

/// Encodes events without names.
fn data(events: impl IntoIterator<Item = Value>) -> String {
    let lines = events.into_iter().map(|it| format!("data: {it}\n\n"));
    lines.collect()
}

impl Reply {
    /// Replaces the call that waits for sub-agents by that of a tool, whose arguments depend on the request.
    pub(super) fn resolved(self, request: &Value) -> Self {
        match self {
            Self::WaitForAgents(id) => responses::wait(id, request).into(),
            reply => reply,
        }
    }

    /// Returns the content of the message; none for an error.
    pub(super) const fn content(&self) -> Option<Content<'_>> {
        match self {
            Self::Text(text) | Self::Held(text) => Some(Content::Text(text)),
            Self::Call(call) => Some(Content::Call(call)),
            Self::WaitForAgents(_) | Self::Error(_) => None,
        }
    }
}
