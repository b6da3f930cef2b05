//! A request of the agent.

use serde_json::Value;

/// The purpose of a request, as far as the server can determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A step of the conversation or of a sub-agent, answered by the script.
    Scripted,
    /// A request for the agent itself, such as a title or a quota probe; not part of the script.
    Side,
    /// `POST /v1/messages/count_tokens`.
    CountTokens,
    /// Anything else; answered with 404.
    Unknown,
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its purpose.
    pub kind: Kind,
    /// HTTP method.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// The JSON body; null if there is none.
    pub body: Value,
}

impl Request {
    pub(super) fn new(method: &str, path: &str, body: Value) -> Self {
        let kind = kind_of(method, path, &body);
        Self {
            kind,
            method: method.to_owned(),
            path: path.to_owned(),
            body,
        }
    }

    /// Returns the requested model.
    #[must_use]
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// Returns whether a streamed response is requested.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.body["stream"] == true
    }

    /// Returns the system prompt, with its blocks joined.
    #[must_use]
    pub fn system(&self) -> String {
        text_of(&self.body["system"])
    }

    /// Returns the conversation so far.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the names of the offered tools.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools.iter().filter_map(|tool| tool["name"].as_str())
    }

    /// Returns the text of the first message, which identifies the conversation.
    #[must_use]
    pub fn opening(&self) -> String {
        opening(&self.body)
    }

    /// Returns the text of the last user message. Text that the agent adds after it has another role.
    #[must_use]
    pub fn latest(&self) -> String {
        let user = self
            .messages()
            .iter()
            .rfind(|message| message["role"] == "user");
        user.map_or_else(String::new, |message| text_of(&message["content"]))
    }

    /// Returns the result of the tool call with this id, from any message.
    #[must_use]
    pub fn tool_result(&self, id: &str) -> Option<&Value> {
        let blocks = self
            .messages()
            .iter()
            .filter_map(|message| message["content"].as_array());
        blocks
            .flatten()
            .find(|block| block["type"] == "tool_result" && block["tool_use_id"] == id)
    }
}

fn kind_of(method: &str, path: &str, body: &Value) -> Kind {
    match (method, path) {
        ("POST", "/v1/messages/count_tokens") => Kind::CountTokens,
        // A conversation offers tools and more than one token; the agent's own probes do not.
        ("POST", "/v1/messages") if body["max_tokens"] == 1 || !offers_tools(body) => Kind::Side,
        // 2.0 prepares its sub-agents with a prompt of one word.
        ("POST", "/v1/messages") if opening(body) == "Warmup" => Kind::Side,
        ("POST", "/v1/messages") => Kind::Scripted,
        // 2.1 before 2.1.330 opens the connection ahead of time.
        ("HEAD", "/") => Kind::Side,
        _ => Kind::Unknown,
    }
}

fn offers_tools(body: &Value) -> bool {
    body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty())
}

fn opening(body: &Value) -> String {
    text_of(&body["messages"][0]["content"])
}

fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    texts.join("\n")
}
