//! Lines that a host writes to Codex (PROTOCOL-codex.md, Requests of the host).
//!
//! `id` is the id of the request, a UUID of the host's choice.
//!
//! # Examples
//!
//! | example | types and functions |
//! |---|---|
//! | [A thread](#a-thread) | [`initialize`], [`initialized`], [`ThreadSettings`], [`start_thread`], [`resume_thread`], [`fork_thread`], [`list_threads`] |
//! | [A turn](#a-turn) | [`TurnSettings`], [`start_turn`], [`steer_turn`], [`interrupt_turn`], [`UnsupportedPart`] |
//! | [Answers](#answers) | [`ApprovalDecision`], [`approval`], [`grant_permissions`], [`answers`](fn@answers), [`method_not_found`] |
//!
//! ## A thread
//!
//! ```
//! use bowline_jsonl::codex::write::{self, ThreadSettings};
//!
//! let settings = ThreadSettings { cwd: Some("/tmp"), sandbox: Some("read-only"), ..ThreadSettings::default() };
//! let lines = [
//!     write::initialize("1", "my-host", "My Host", "0.1"),
//!     write::initialized(),
//!     write::start_thread("2", &settings),
//!     // Later: the ten newest threads, one of them again, and a copy of it.
//!     write::list_threads("3", None, 10, None),
//!     write::resume_thread("4", "t", &settings, true),
//!     write::fork_thread("5", "t", None, &settings),
//! ];
//! assert!(lines.iter().all(|line| line.ends_with(b"\n")));
//! ```
//!
//! ## A turn
//!
//! ```
//! use bowline_jsonl::codex::write::{self, TurnSettings, UnsupportedPart};
//! use bowline_jsonl::{PromptPart, Source};
//!
//! # fn main() -> Result<(), UnsupportedPart> {
//! let settings = TurnSettings { effort: Some("high"), ..TurnSettings::default() };
//! let parts = [PromptPart::Text("Ahoy".to_owned())];
//! let lines = [
//!     write::start_turn("1", "t", "first prompt", &parts, &settings)?,
//!     write::steer_turn("2", "t", "u", "second prompt", &parts)?,
//!     write::interrupt_turn("3", "t", "u"),
//! ];
//! assert!(String::from_utf8_lossy(&lines[1]).contains("\"expectedTurnId\":\"u\""));
//!
//! let source = Source::Base64 { media_type: "application/pdf".to_owned(), data: String::new() };
//! let document = [PromptPart::Document { source, title: None }];
//! assert_eq!(write::steer_turn("4", "t", "u", "third prompt", &document), Err(UnsupportedPart));
//! # Ok(())
//! # }
//! ```
//!
//! ## Answers
//!
//! ```
//! use bowline_jsonl::codex::write::{self, ApprovalDecision};
//! use bowline_jsonl::rpc::Message;
//! use bowline_jsonl::RawJson;
//!
//! /// Allows what Codex asks for, for the session, and leaves questions to its defaults.
//! fn allow(line: &str) -> Option<Vec<u8>> {
//!     let Message::Request { id, method, params } = Message::parse(RawJson::parse(line)?)? else { return None };
//!     Some(match &*method.decode() {
//!         "item/permissions/requestApproval" => {
//!             write::grant_permissions(id, params?.get("permissions")?.text(), true)
//!         }
//!         "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
//!             write::approval(id, ApprovalDecision::AcceptForSession)
//!         }
//!         "item/tool/requestUserInput" => write::answers(id, &[]),
//!         other => write::method_not_found(id, other),
//!     })
//! }
//! let line = allow(r#"{"id":0,"method":"item/fileChange/requestApproval","params":{}}"#).unwrap();
//! assert!(String::from_utf8_lossy(&line).contains("acceptForSession"));
//! ```

use std::fmt;

use crate::encode::{Object, PromptPart, Source, list};
use crate::rpc::{Id, Wire};

/// Notifications that a transcript has no use for.
const OPT_OUT: &str = r#"["remoteControl/status/changed","thread/readState/changed"]"#;

/// Encodes `initialize`, the first line. `name`, `title` and `version` are the host's. The host
/// writes [`initialized`] after the answer.
#[must_use]
pub fn initialize(id: &str, name: &str, title: &str, version: &str) -> Vec<u8> {
    let client = Object::new()
        .str("name", name)
        .str("title", title)
        .str("version", version);
    let capabilities = Object::new()
        .bool("experimentalApi", true)
        .bool("requestAttestation", false)
        .raw("optOutNotificationMethods", OPT_OUT);
    let params = Object::new()
        .raw("clientInfo", &client.json())
        .raw("capabilities", &capabilities.json());
    request(id, "initialize", params)
}

/// Encodes `initialized`.
#[must_use]
pub fn initialized() -> Vec<u8> {
    Wire::Bare.notification("initialized", None)
}

/// Settings of a thread; what is none is up to Codex' configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadSettings<'a> {
    /// The working directory, absolute.
    pub cwd: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
    /// `untrusted`, `on-request` or `never`.
    pub approval_policy: Option<&'a str>,
    /// `read-only`, `workspace-write` or `danger-full-access`.
    pub sandbox: Option<&'a str>,
    /// Text to add to the system prompt.
    pub developer_instructions: Option<&'a str>,
    /// Members of `config.toml` in force for this thread, a JSON object.
    pub config: Option<&'a str>,
}

/// Encodes `thread/start`.
#[must_use]
pub fn start_thread(id: &str, settings: &ThreadSettings<'_>) -> Vec<u8> {
    request(id, "thread/start", settings.add_to(Object::new()))
}

/// Encodes `thread/resume`. With `exclude_turns` the answer has no past.
#[must_use]
pub fn resume_thread(
    id: &str,
    thread_id: &str,
    settings: &ThreadSettings<'_>,
    exclude_turns: bool,
) -> Vec<u8> {
    let params = settings.add_to(thread(thread_id));
    request(
        id,
        "thread/resume",
        params.bool("excludeTurns", exclude_turns),
    )
}

/// Encodes `thread/fork`, after the turn `last_turn_id` or after the last one.
#[must_use]
pub fn fork_thread(
    id: &str,
    thread_id: &str,
    last_turn_id: Option<&str>,
    settings: &ThreadSettings<'_>,
) -> Vec<u8> {
    let params = thread(thread_id).optional(last_turn_id, "lastTurnId");
    request(id, "thread/fork", settings.add_to(params))
}

/// Encodes `thread/list` for `limit` threads, of `cwd` or all; `cursor` continues an earlier page.
#[must_use]
pub fn list_threads(id: &str, cwd: Option<&str>, limit: u32, cursor: Option<&str>) -> Vec<u8> {
    let params = Object::new()
        .raw("limit", &limit.to_string())
        .optional(cwd, "cwd")
        .optional(cursor, "cursor");
    request(id, "thread/list", params)
}

/// Settings of a turn and of those after it; what is none stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct TurnSettings<'a> {
    /// The model.
    pub model: Option<&'a str>,
    /// The effort.
    pub effort: Option<&'a str>,
    /// `untrusted`, `on-request` or `never`.
    pub approval_policy: Option<&'a str>,
}

/// Encodes `turn/start`. `prompt_id` returns as the `clientId` of a `userMessage`. On a thread with a
/// running turn it steers that turn.
///
/// # Errors
///
/// [`UnsupportedPart`] for a part that Codex has no form for.
pub fn start_turn(
    id: &str,
    thread_id: &str,
    prompt_id: &str,
    parts: &[PromptPart],
    settings: &TurnSettings<'_>,
) -> Result<Vec<u8>, UnsupportedPart> {
    let params = thread(thread_id)
        .raw("input", &input(parts)?)
        .str("clientUserMessageId", prompt_id)
        .optional(settings.model, "model")
        .optional(settings.effort, "effort")
        .optional(settings.approval_policy, "approvalPolicy");
    Ok(request(id, "turn/start", params))
}

/// Encodes `turn/steer`, which Codex refuses when `turn_id` is not the running turn.
///
/// # Errors
///
/// [`UnsupportedPart`] for a part that Codex has no form for.
pub fn steer_turn(
    id: &str,
    thread_id: &str,
    turn_id: &str,
    prompt_id: &str,
    parts: &[PromptPart],
) -> Result<Vec<u8>, UnsupportedPart> {
    let params = thread(thread_id)
        .str("expectedTurnId", turn_id)
        .raw("input", &input(parts)?)
        .str("clientUserMessageId", prompt_id);
    Ok(request(id, "turn/steer", params))
}

/// Encodes `turn/interrupt`.
#[must_use]
pub fn interrupt_turn(id: &str, thread_id: &str, turn_id: &str) -> Vec<u8> {
    request(
        id,
        "turn/interrupt",
        thread(thread_id).str("turnId", turn_id),
    )
}

/// The answer to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalDecision<'a> {
    /// This time.
    Accept,
    /// Until the session ends.
    AcceptForSession,
    /// From now on, with the rule that the request proposed: a JSON array.
    AcceptWithRule(&'a str),
    /// No; the turn continues.
    Decline,
    /// No, and the turn ends.
    Cancel,
}

/// Encodes the answer to an approval of a command or a file change.
#[must_use]
pub fn approval(id: Id<'_>, decision: ApprovalDecision<'_>) -> Vec<u8> {
    let result = Object::new();
    let result = match decision {
        ApprovalDecision::Accept => result.str("decision", "accept"),
        ApprovalDecision::AcceptForSession => result.str("decision", "acceptForSession"),
        ApprovalDecision::Decline => result.str("decision", "decline"),
        ApprovalDecision::Cancel => result.str("decision", "cancel"),
        ApprovalDecision::AcceptWithRule(rule) => {
            let amendment = Object::new().raw("execpolicy_amendment", rule);
            let decision = Object::new().raw("acceptWithExecpolicyAmendment", &amendment.json());
            result.raw("decision", &decision.json())
        }
    };
    Wire::Bare.result(id, &result.json())
}

/// Encodes the answer to `item/permissions/requestApproval`: `permissions` is a JSON object, in force for
/// the turn or for the session.
#[must_use]
pub fn grant_permissions(id: Id<'_>, permissions: &str, for_session: bool) -> Vec<u8> {
    let scope = if for_session { "session" } else { "turn" };
    let result = Object::new()
        .raw("permissions", permissions)
        .str("scope", scope);
    Wire::Bare.result(id, &result.json())
}

/// Encodes the answers to `item/tool/requestUserInput`: each question's id, and what was chosen or
/// written.
#[must_use]
pub fn answers(id: Id<'_>, answers: &[(&str, &[&str])]) -> Vec<u8> {
    let mut by_question = serde_json::Map::new();
    for (question, chosen) in answers {
        by_question.insert(
            (*question).to_owned(),
            serde_json::json!({ "answers": chosen }),
        );
    }
    let answers = Object::new().members(&by_question).json();
    let result = Object::new().raw("answers", &answers);
    Wire::Bare.result(id, &result.json())
}

/// Encodes the refusal of a request whose method the host does not have.
#[must_use]
pub fn method_not_found(id: Id<'_>, method: &str) -> Vec<u8> {
    Wire::Bare.method_not_found(id, method)
}

/// A part of a prompt that Codex has no form for: a document that is neither text nor a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedPart;

impl fmt::Display for UnsupportedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Codex takes documents as text or as a path only; send the path of a file")
    }
}

impl std::error::Error for UnsupportedPart {}

impl ThreadSettings<'_> {
    fn add_to(&self, params: Object) -> Object {
        let params = params
            .optional(self.cwd, "cwd")
            .optional(self.model, "model")
            .optional(self.approval_policy, "approvalPolicy")
            .optional(self.sandbox, "sandbox")
            .optional(self.developer_instructions, "developerInstructions");
        match self.config {
            Some(config) => params.raw("config", config),
            None => params,
        }
    }
}

fn request(id: &str, method: &str, params: Object) -> Vec<u8> {
    Wire::Bare.request(id, method, &params.json())
}

fn thread(thread_id: &str) -> Object {
    Object::new().str("threadId", thread_id)
}

fn input(parts: &[PromptPart]) -> Result<String, UnsupportedPart> {
    let parts: Result<Vec<_>, _> = parts.iter().map(part).collect();
    Ok(list(parts?))
}

fn part(part: &PromptPart) -> Result<String, UnsupportedPart> {
    let part = match part {
        PromptPart::Text(content)
        | PromptPart::Image(Source::Text(content))
        | PromptPart::Document {
            source: Source::Text(content),
            ..
        } => text(content),
        PromptPart::Image(Source::Url(url)) => image(url),
        PromptPart::Image(Source::Base64 { media_type, data }) => {
            image(&format!("data:{media_type};base64,{data}"))
        }
        PromptPart::Document {
            source: Source::Url(url),
            title,
        } => {
            let path = url.strip_prefix("file://").unwrap_or(url);
            Object::new()
                .str("type", "mention")
                .str("name", title.as_deref().unwrap_or(path))
                .str("path", path)
        }
        PromptPart::Document { .. } => return Err(UnsupportedPart),
    };
    Ok(part.json())
}

fn text(text: &str) -> Object {
    Object::new()
        .str("type", "text")
        .str("text", text)
        .raw("text_elements", "[]")
}

fn image(url: &str) -> Object {
    Object::new().str("type", "image").str("url", url)
}
