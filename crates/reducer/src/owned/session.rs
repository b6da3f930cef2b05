//! The session as a whole: its conversation, status, tokens and counters.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::dialect_name::DialectName;
use crate::model::{Command, Limit, PlanItem, QueuedPrompt, SessionOption, ThreadState};
use crate::state::Phase;
use crate::view::ModelUsage;

/// The session's conversation, model and mode.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SessionValue {
    /// The agent's id of the current conversation.
    pub session_id: Option<String>,
    /// The ids of all conversations, in order.
    pub conversations: Vec<String>,
    /// The model.
    pub model: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The agent's version.
    pub cli_version: Option<String>,
    /// The permission mode, such as `default` or `plan`.
    pub permission_mode: Option<String>,
    /// The dialect of the stream.
    pub dialect: DialectName,
    /// The agent's program.
    pub agent: AgentValue,
    /// The title of the conversation.
    pub title: Option<String>,
    /// The steps of the agent's plan.
    pub plan: Vec<PlanItem>,
    /// The prompts that wait for their turn.
    pub queue: Vec<QueuedPrompt>,
    /// The context window.
    pub context: Option<ContextValue>,
    /// The usage limits of the account.
    pub limits: Vec<Limit>,
    /// The settings of the session.
    pub options: Vec<SessionOption>,
    /// The commands that the agent offers.
    pub commands: Vec<Command>,
    /// The threads that no call holds, by name.
    pub threads: BTreeMap<String, ThreadValue>,
}

/// The agent's program.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AgentValue {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

/// The context window, in tokens.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct ContextValue {
    /// The used part.
    pub used: Option<u64>,
    /// Its size.
    pub size: Option<u64>,
}

/// A thread that no call holds; its entries and calls have changes of their own.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ThreadValue {
    /// The call that holds it: none.
    pub call: Option<String>,
    /// What it works on.
    pub title: Option<String>,
    /// Its progress.
    pub state: Option<ThreadState>,
    /// What its agent has used.
    pub usage: Option<ModelUsage>,
    /// Always absent.
    pub entries: Option<()>,
    /// Always absent.
    pub tool_calls: Option<()>,
}

/// The status of a session.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct StatusValue {
    /// The phase.
    pub phase: Phase,
    /// A short description of the evidence.
    pub reason: String,
}

/// Tokens and cost of all conversations of a session.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct UsageValue {
    /// Cost in US dollars.
    pub cost_usd: f64,
    /// Tokens by model.
    pub models: BTreeMap<String, ModelUsage>,
}

/// Counters of a stream.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct StatsValue {
    /// Bytes of the lines, with their line ends.
    pub bytes: u64,
    /// Lines that are not blank.
    pub lines: u64,
    /// Lines that are events.
    pub events: u64,
    /// Events that were received before, by their uuid.
    pub duplicates: u64,
    /// Lines that are not events, apart from a cut line at the end.
    pub parse_errors: u64,
    /// Lines of unknown type, by `type/subtype`.
    pub unknown: BTreeMap<String, u64>,
    /// Whether the input ended inside a line.
    pub truncated: bool,
    /// Bytes that are missing in gaps. Not in the JSON if nothing is.
    #[serde(skip_serializing_if = "is_zero")]
    pub missing: u64,
    /// Whether a part of unknown length is missing, because the stream is damaged or cut. Only in the
    /// JSON if one is.
    #[serde(skip_serializing_if = "is_false")]
    pub damaged: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_false(flag: &bool) -> bool {
    !*flag
}
