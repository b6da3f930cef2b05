//! What the agent asked.

use serde_json::Value;

/// Why a request was made, as far as the server can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A step of the conversation or of one of its sub-agents; the script answers it.
    Scripted,
    /// A request that the agent makes for itself (titles, quota probes); no part of the script.
    Side,
    /// `POST /v1/messages/count_tokens`.
    CountTokens,
    /// Anything else; answered with 404.
    Unknown,
}

/// One request that reached the server.
#[derive(Clone, Debug)]
pub struct Request {
    /// What it was taken for.
    pub kind: Kind,
    /// HTTP method.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// The JSON body; null where there was none.
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

    /// The model that was asked for.
    #[must_use]
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// Whether the answer is to be streamed.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.body["stream"] == true
    }

    /// The system prompt, its blocks joined.
    #[must_use]
    pub fn system(&self) -> String {
        text_of(&self.body["system"])
    }

    /// The conversation so far.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Names of the tools on offer.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools.iter().filter_map(|tool| tool["name"].as_str())
    }

    /// Text of the first message: it starts a conversation, and so names it.
    #[must_use]
    pub fn opening(&self) -> String {
        self.messages()
            .first()
            .map_or_else(String::new, |message| text_of(&message["content"]))
    }

    /// Text of the user's last message; what the agent itself adds after it has another role.
    #[must_use]
    pub fn latest(&self) -> String {
        let user = self
            .messages()
            .iter()
            .rfind(|message| message["role"] == "user");
        user.map_or_else(String::new, |message| text_of(&message["content"]))
    }

    /// The result of the tool call with this id, in any message.
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
        // A conversation always offers tools and room to answer; the agent's own probes do not.
        ("POST", "/v1/messages") if body["max_tokens"] == 1 || !offers_tools(body) => Kind::Side,
        ("POST", "/v1/messages") => Kind::Scripted,
        _ => Kind::Unknown,
    }
}

fn offers_tools(body: &Value) -> bool {
    body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty())
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
