//! User messages (PROTOCOL.md, Prompts).

use crate::encode::object::Object;

/// A user message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The content, in order.
    pub parts: Vec<PromptPart>,
    /// A fresh uuid. With it the agent reports the progress of the prompt; a uuid that the conversation
    /// has already seen is echoed and not answered.
    pub uuid: Option<String>,
    /// Its place in the agent's queue; the agent decides when absent.
    pub priority: Option<Priority>,
    /// Whether the text is delivered verbatim: without slash commands and `@path`.
    pub verbatim: bool,
    /// Whether the message only joins the conversation, without a call of the model.
    pub append_only: bool,
}

/// One part of a user message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptPart {
    /// Text.
    Text(String),
    /// An image.
    Image(Source),
    /// A document.
    Document {
        /// Where its content is.
        source: Source,
        /// Its title.
        title: Option<String>,
    },
}

/// The content of an image or a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// Encoded in the message.
    Base64 {
        /// Such as `image/png` or `application/pdf`.
        media_type: String,
        /// The bytes in base64 (RFC 4648, section 4).
        data: String,
    },
    /// Plain text in the message; for documents only.
    Text(String),
    /// A URL that the API fetches.
    Url(String),
}

/// The place of a prompt in the agent's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Priority {
    /// At once: the running turn is preempted.
    Now,
    /// Before other waiting prompts.
    Next,
    /// After all waiting prompts.
    Later,
}

impl Prompt {
    /// Creates a prompt of one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![PromptPart::Text(text.into())],
            ..Self::default()
        }
    }

    /// Encodes the prompt as a line.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let message = Object::new()
            .str("role", "user")
            .raw("content", &self.content())
            .json();
        let mut line = Object::new()
            .str("type", "user")
            .raw("message", &message)
            .raw("parent_tool_use_id", "null")
            .str("session_id", "")
            .optional(self.uuid.as_deref(), "uuid")
            .optional(self.priority.map(Priority::name), "priority");
        if self.verbatim {
            line = line.bool("client_composed", true);
        }
        if self.append_only {
            line = line.bool("shouldQuery", false);
        }
        line.line()
    }

    /// A string for one text, an array of blocks for anything else.
    fn content(&self) -> String {
        if let [PromptPart::Text(text)] = self.parts.as_slice() {
            return serde_json::to_string(text).expect("a string is always JSON");
        }
        let blocks: Vec<_> = self.parts.iter().map(PromptPart::block).collect();
        format!("[{}]", blocks.join(","))
    }
}

impl PromptPart {
    fn block(&self) -> String {
        match self {
            Self::Text(text) => Object::new().str("type", "text").str("text", text).json(),
            Self::Image(source) => Object::new()
                .str("type", "image")
                .raw("source", &source.json())
                .json(),
            Self::Document { source, title } => Object::new()
                .str("type", "document")
                .raw("source", &source.json())
                .optional(title.as_deref(), "title")
                .json(),
        }
    }
}

impl Source {
    fn json(&self) -> String {
        let object = Object::new();
        match self {
            Self::Base64 { media_type, data } => object
                .str("type", "base64")
                .str("media_type", media_type)
                .str("data", data),
            Self::Text(text) => object
                .str("type", "text")
                .str("media_type", "text/plain")
                .str("data", text),
            Self::Url(url) => object.str("type", "url").str("url", url),
        }
        .json()
    }
}

impl Priority {
    const fn name(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Next => "next",
            Self::Later => "later",
        }
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}
