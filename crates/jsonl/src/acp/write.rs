//! Lines that a host writes to an agent (PROTOCOL-acp.md, Methods).
//!
//! `id` is the id of the request, a UUID of the host's choice. The host declares no `fs` and no
//! `terminal` capability: version 2 drops both, and files that go through the host break agents.
//!
//! # Examples
//!
//! | example | types and functions |
//! |---|---|
//! | [A session](#a-session) | [`initialize`], [`authenticate`], [`new_session`], [`open_session`], [`Opening`], [`list_sessions`], [`set_mode`], [`set_model`], [`set_config_option`], [`set_config_switch`] |
//! | [A turn](#a-turn) | [`prompt`], [`cancel`], [`cancel_request`], [`permission`], [`elicitation`], [`ElicitationAction`], [`method_not_found`] |
//!
//! ## A session
//!
//! ```
//! use bowline_jsonl::acp::write;
//!
//! let lines = [
//!     write::initialize("1", "my-host", "0.1"),
//!     write::authenticate("2", "api-key"),
//!     write::new_session("3", "/tmp", "[]"),
//!     write::set_mode("4", "s", "plan"),
//!     write::set_model("5", "s", "fast"),
//!     write::set_config_option("6", "s", "effort", "high"),
//!     write::set_config_switch("7", "s", "web_search", true),
//!     // Later: the sessions of a folder, and a copy of one of them.
//!     write::list_sessions("8", Some("/tmp"), None),
//!     write::open_session("9", write::Opening::Fork, "s", "/tmp", "[]"),
//! ];
//! let last = String::from_utf8_lossy(&lines[8]);
//! assert!(last.contains("session/fork") && last.ends_with('\n'));
//! ```
//!
//! ## A turn
//!
//! ```
//! use bowline_jsonl::acp::write::{self, ElicitationAction};
//! use bowline_jsonl::rpc::Message;
//! use bowline_jsonl::{PromptPart, RawJson};
//!
//! let prompt = write::prompt("1", "s", &[PromptPart::Text("Ahoy".to_owned())]);
//! assert!(prompt.starts_with(b"{"));
//!
//! /// Answers any request of the agent with no.
//! fn refuse(line: &str) -> Option<Vec<u8>> {
//!     let Message::Request { id, method, .. } = Message::parse(RawJson::parse(line)?)? else { return None };
//!     Some(match &*method.decode() {
//!         "session/request_permission" => write::permission(id, None),
//!         "elicitation/create" => write::elicitation(id, ElicitationAction::Decline),
//!         other => write::method_not_found(id, other),
//!     })
//! }
//! assert!(refuse(r#"{"id":0,"method":"fs/read_text_file","params":{}}"#).is_some());
//!
//! // Ends the turn; a request that is not a prompt is withdrawn by its id.
//! let lines = [write::cancel("s"), write::cancel_request("1")];
//! assert!(lines.iter().all(|line| line.ends_with(b"\n")));
//! ```

use crate::encode::{Object, list};
use crate::encode::{PromptPart, Source};
use crate::rpc::{Id, Wire};

/// The version of the protocol that the host speaks.
const VERSION: &str = "1";

/// What the host can do beside the baseline.
const CAPABILITIES: &str = r#"{"session":{"notices":{},"compaction":{}},"elicitation":{"form":{},"url":{}},"subagents":{}}"#;

/// Encodes `initialize`, the first line. `name` and `version` are the host's.
#[must_use]
pub fn initialize(id: &str, name: &str, version: &str) -> Vec<u8> {
    let client = Object::new().str("name", name).str("version", version);
    let params = Object::new()
        .raw("protocolVersion", VERSION)
        .raw("clientCapabilities", CAPABILITIES)
        .raw("clientInfo", &client.json());
    request(id, "initialize", params)
}

/// Encodes `authenticate` with a method that `initialize` answered.
#[must_use]
pub fn authenticate(id: &str, method_id: &str) -> Vec<u8> {
    request(id, "authenticate", Object::new().str("methodId", method_id))
}

/// Encodes `session/new`. `cwd` is absolute; `mcp_servers` is a JSON array, `[]` for none.
#[must_use]
pub fn new_session(id: &str, cwd: &str, mcp_servers: &str) -> Vec<u8> {
    request(id, "session/new", place(Object::new(), cwd, mcp_servers))
}

/// How a past session is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// `session/load`: the agent writes the conversation before it answers.
    Load,
    /// `session/resume`: without the conversation.
    Resume,
    /// `session/fork`: as a new session.
    Fork,
}

/// Encodes the request that opens the past session `session_id`.
#[must_use]
pub fn open_session(
    id: &str,
    opening: Opening,
    session_id: &str,
    cwd: &str,
    mcp_servers: &str,
) -> Vec<u8> {
    let method = match opening {
        Opening::Load => "session/load",
        Opening::Resume => "session/resume",
        Opening::Fork => "session/fork",
    };
    request(id, method, place(session(session_id), cwd, mcp_servers))
}

/// Encodes `session/list` for the sessions of `cwd`, or all; `cursor` continues an earlier page.
#[must_use]
pub fn list_sessions(id: &str, cwd: Option<&str>, cursor: Option<&str>) -> Vec<u8> {
    let params = Object::new()
        .optional(cwd, "cwd")
        .optional(cursor, "cursor");
    request(id, "session/list", params)
}

/// Encodes `session/prompt`. The response to it is the end of the turn.
#[must_use]
pub fn prompt(id: &str, session_id: &str, parts: &[PromptPart]) -> Vec<u8> {
    let blocks = list(parts.iter().map(block));
    let params = session(session_id).raw("prompt", &blocks);
    request(id, "session/prompt", params)
}

/// Encodes `session/cancel`: the open prompt is answered `cancelled`. Open permission requests must
/// be answered as cancelled first.
#[must_use]
pub fn cancel(session_id: &str) -> Vec<u8> {
    let params = session(session_id).json();
    Wire::Standard.notification("session/cancel", Some(&params))
}

/// Encodes `session/set_mode`.
#[must_use]
pub fn set_mode(id: &str, session_id: &str, mode_id: &str) -> Vec<u8> {
    let params = session(session_id).str("modeId", mode_id);
    request(id, "session/set_mode", params)
}

/// Encodes `session/set_model`, which agents have that give `models` instead of an option.
#[must_use]
pub fn set_model(id: &str, session_id: &str, model_id: &str) -> Vec<u8> {
    let params = session(session_id).str("modelId", model_id);
    request(id, "session/set_model", params)
}

/// Encodes `session/set_config_option` for an option of type `select`.
#[must_use]
pub fn set_config_option(id: &str, session_id: &str, config_id: &str, value: &str) -> Vec<u8> {
    let params = session(session_id)
        .str("configId", config_id)
        .str("value", value);
    request(id, "session/set_config_option", params)
}

/// Encodes `session/set_config_option` for an option of type `boolean`.
#[must_use]
pub fn set_config_switch(id: &str, session_id: &str, config_id: &str, value: bool) -> Vec<u8> {
    let params = session(session_id)
        .str("configId", config_id)
        .str("type", "boolean")
        .bool("value", value);
    request(id, "session/set_config_option", params)
}

/// Encodes the answer to a permission request: the option's id, or none when the turn is cancelled.
#[must_use]
pub fn permission(id: Id<'_>, option_id: Option<&str>) -> Vec<u8> {
    let outcome = Object::new();
    let outcome = match option_id {
        Some(option) => outcome.str("outcome", "selected").str("optionId", option),
        None => outcome.str("outcome", "cancelled"),
    };
    let result = Object::new().raw("outcome", &outcome.json());
    Wire::Standard.result(id, &result.json())
}

/// The answer to an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElicitationAction<'a> {
    /// With the values of a form, a JSON object; `{}` for a page.
    Accept(&'a str),
    /// The user declined.
    Decline,
    /// The user dismissed it, or the turn is cancelled.
    Cancel,
}

/// Encodes the answer to an elicitation.
#[must_use]
pub fn elicitation(id: Id<'_>, action: ElicitationAction<'_>) -> Vec<u8> {
    let result = Object::new();
    let result = match action {
        ElicitationAction::Accept(content) => {
            result.str("action", "accept").raw("content", content)
        }
        ElicitationAction::Decline => result.str("action", "decline"),
        ElicitationAction::Cancel => result.str("action", "cancel"),
    };
    Wire::Standard.result(id, &result.json())
}

/// Encodes the withdrawal of the host's request `id`, which the agent still answers.
#[must_use]
pub fn cancel_request(id: &str) -> Vec<u8> {
    let params = Object::new().str("requestId", id).json();
    Wire::Standard.notification("$/cancel_request", Some(&params))
}

/// Encodes the refusal of a request whose method the host does not have.
#[must_use]
pub fn method_not_found(id: Id<'_>, method: &str) -> Vec<u8> {
    Wire::Standard.method_not_found(id, method)
}

fn request(id: &str, method: &str, params: Object) -> Vec<u8> {
    Wire::Standard.request(id, method, &params.json())
}

fn session(session_id: &str) -> Object {
    Object::new().str("sessionId", session_id)
}

fn place(params: Object, cwd: &str, mcp_servers: &str) -> Object {
    params.str("cwd", cwd).raw("mcpServers", mcp_servers)
}

/// A part of a prompt: what is at a URL becomes a link, a document a resource.
fn block(part: &PromptPart) -> String {
    match part {
        PromptPart::Text(text) => Object::new().str("type", "text").str("text", text),
        PromptPart::Image(Source::Base64 { media_type, data }) => Object::new()
            .str("type", "image")
            .str("data", data)
            .str("mimeType", media_type),
        PromptPart::Image(Source::Text(text)) => {
            Object::new().str("type", "text").str("text", text)
        }
        PromptPart::Image(Source::Url(url)) => link(url, None),
        PromptPart::Document {
            source: Source::Url(url),
            title,
        } => link(url, title.as_deref()),
        PromptPart::Document { source, title } => Object::new()
            .str("type", "resource")
            .raw("resource", &resource(source, title.as_deref())),
    }
    .json()
}

fn link(url: &str, title: Option<&str>) -> Object {
    Object::new()
        .str("type", "resource_link")
        .str("uri", url)
        .str("name", title.unwrap_or(url))
}

/// A document's content. It has no address of its own, but the protocol requires one.
fn resource(source: &Source, title: Option<&str>) -> String {
    let resource = Object::new().str("uri", title.unwrap_or("attachment"));
    match source {
        Source::Base64 { media_type, data } => {
            resource.str("blob", data).str("mimeType", media_type)
        }
        Source::Text(text) | Source::Url(text) => {
            resource.str("text", text).str("mimeType", "text/plain")
        }
    }
    .json()
}
