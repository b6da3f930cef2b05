//! The bodies of requests and responses about an agent's dialogue: prompts, permissions, options and interrupts.

use std::collections::BTreeMap;

use bowline_lifecycle::RequestOption;
use bowline_reducer::model::{AnswerKind, AnsweredBy, Question, RequestKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::attachments::Attachment;

/// A prompt for the agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewPrompt)]
pub(super) struct PromptRequest {
    /// The prompt.
    pub(super) text: String,
    /// Id of the prompt, 1 to 128 bytes, a UUID for dialogues. A repeated prompt is not written
    /// again; the id of another request is refused. Default: a random one.
    #[serde(default)]
    pub(super) id: Option<String>,
    /// Whether the prompt waits until the agent is idle, in a queue that can be changed until then. Otherwise the
    /// agent decides: most take a prompt into the running turn. Only for an agent that was started by its name.
    #[serde(default)]
    #[schema(required = false)]
    pub(super) queue: bool,
    /// Files that are attached to it, at most 10 MiB together. Only for dialogues.
    #[serde(default)]
    #[schema(required = false)]
    pub(super) attachments: Vec<Attachment>,
}

/// The state of a prompt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PromptTaken)]
pub(super) struct PromptReceipt {
    /// Id of the prompt.
    pub(super) id: String,
    /// `queued`, `written`, `submitted` or `unverified`.
    pub(super) state: &'static str,
}

/// The answer to a permission request.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewAnswer)]
pub(super) struct PermissionAnswer {
    /// Id of the permission request.
    pub(super) request_id: String,
    /// Whether the tool may run. Required without `option` and `answers`.
    #[serde(default)]
    pub(super) decision: Option<PermissionDecision>,
    /// Id of one of the request's options, instead of a decision. For conversations that the runner drives.
    #[serde(default)]
    pub(super) option: Option<String>,
    /// The answers to a request with questions, by their id or text, instead of a decision. For conversations that
    /// the runner drives.
    #[serde(default)]
    pub(super) answers: Option<BTreeMap<String, String>>,
    /// Name of the client that answers. It is in `decided_by` for clients that answer later.
    #[serde(default)]
    pub(super) by: Option<String>,
    /// The reason of a denial, which the agent receives.
    #[serde(default)]
    pub(super) message: Option<String>,
    /// Whether a denial also ends the turn.
    #[serde(default)]
    pub(super) interrupt: bool,
    /// Replaces the tool's input: a JSON object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub(super) updated_input: Option<serde_json::Map<String, serde_json::Value>>,
    /// Permission rules to save: a JSON array.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    pub(super) updated_permissions: Option<Vec<serde_json::Value>>,
}

/// Whether a tool may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Verdict)]
pub(super) enum PermissionDecision {
    /// The tool may run.
    Allow,
    /// The tool may not run.
    Deny,
}

/// The permission requests of the agent.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Permissions {
    /// The permission requests, oldest first.
    pub(super) permissions: Vec<PermissionRequest>,
}

/// A permission request of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Permission)]
pub(in crate::api) struct PermissionRequest {
    /// Id of the permission request.
    pub(super) request_id: String,
    /// Id of the tool call.
    pub(super) tool_use_id: Option<String>,
    /// Name of the tool.
    pub(super) tool_name: String,
    /// Input of the tool.
    #[schema(value_type = Object)]
    pub(super) input: serde_json::Value,
    /// The answers to choose from, by their id.
    pub(super) options: Vec<PermissionOption>,
    /// `open`, or how the request was closed.
    #[schema(value_type = String, example = "open")]
    pub(super) state: serde_json::Value,
    /// What it asks for: `permission`, `question` or `url`.
    #[schema(value_type = String, example = "permission")]
    pub(super) kind: RequestKind,
    /// The questions to answer.
    #[schema(value_type = Vec<super::transcript_schema::Question>)]
    pub(super) questions: Vec<Question>,
    /// The URL to open.
    pub(super) url: Option<String>,
    /// The thread that asks; `null` for the main one.
    pub(super) thread: Option<String>,
    /// The rule that a lasting answer would add.
    pub(super) rule: Option<String>,
    /// When the agent asked, in milliseconds since the Unix epoch; 0 if unknown.
    pub(super) at_ms: u64,
    /// Byte range of its line in the output.
    pub(super) bytes: [u64; 2],
    /// The answer, and the client that gave it.
    #[schema(value_type = Option<super::transcript_schema::DecidedBy>)]
    pub(super) decided_by: Option<AnsweredBy>,
}

impl PermissionRequest {
    /// Returns when the agent asked, in milliseconds since the Unix epoch.
    pub(in crate::api) const fn at_ms(&self) -> u64 {
        self.at_ms
    }
}

/// An answer to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(in crate::api) struct PermissionOption {
    /// Its id.
    pub(super) id: String,
    /// What it says.
    pub(super) name: String,
    /// What it does: `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    #[schema(value_type = String, example = "allow_once")]
    pub(super) kind: AnswerKind,
}

impl From<&RequestOption> for PermissionOption {
    fn from(option: &RequestOption) -> Self {
        Self {
            id: option.id.clone(),
            name: option.name.clone(),
            kind: option.kind,
        }
    }
}

/// An option to change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewOption)]
pub(super) struct OptionRequest {
    /// Id of the option: `model`, `mode`, `effort`, or one of the agent's own, as the transcript lists them.
    pub(super) option: String,
    /// The new value.
    pub(super) value: String,
    /// Id of the request, 1 to 128 bytes. A repeated request has no effect. Default: a random one.
    #[serde(default)]
    pub(super) id: Option<String>,
}

/// What to interrupt.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewInterrupt)]
pub(super) struct InterruptRequest {
    /// Id of the interrupt, 1 to 128 bytes. A repeated interrupt has no effect; the id of another
    /// request is refused. Default: a random one.
    #[serde(default)]
    pub(super) id: Option<String>,
    /// Whether to drop queued prompts too.
    #[serde(default)]
    pub(super) cancel_queued: bool,
    /// Whether to stop the open background tasks too.
    #[serde(default)]
    pub(super) tasks: bool,
    /// Id of one background task to stop. The turn and the other tasks continue.
    #[serde(default)]
    pub(super) task: Option<String>,
    /// End offset of the agent's output that the client had seen when it asked: `stats.bytes` of the transcript, or
    /// `streams.stdout.end` of the session. A turn that ended past it is not followed by an interrupt of the next
    /// one. Only for an agent that was started by its name. Default: whatever runs is interrupted.
    #[serde(default)]
    pub(super) seen: Option<u64>,
}
