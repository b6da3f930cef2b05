//! Transcript changes that own their data.
//!
//! The types mirror the borrowed views, and serialize to the same JSON, except that a message has no
//! `blocks` member.
//!
//! # Examples
//!
//! | example | types |
//! |---|---|
//! | [Changes](#changes) | [`TranscriptChange`], [`EntryValue`], [`BlockValue`] |
//! | [Values](#values) | [`SessionValue`], [`AgentValue`], [`ContextValue`], [`ThreadValue`], [`StatusValue`], [`ToolCallValue`], [`ToolResultValue`], [`SubagentValue`], [`TaskValue`], [`PermissionValue`], [`UsageValue`], [`StatsValue`] |
//!
//! ## Changes
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use bowline_reducer::BlockId;
//! use bowline_reducer::owned::{BlockValue, EntryValue, TranscriptChange};
//!
//! /// The texts of all blocks, as an application would show them.
//! #[derive(Default)]
//! struct Texts(BTreeMap<BlockId, String>);
//!
//! impl Texts {
//!     fn apply(&mut self, change: TranscriptChange) {
//!         match change {
//!             TranscriptChange::Reset => self.0.clear(),
//!             TranscriptChange::Block { block, value: BlockValue::Text { text }, .. } => {
//!                 self.0.insert(block, text);
//!             }
//!             TranscriptChange::Append { block, from, text, .. } => {
//!                 let shown = self.0.entry(block).or_default();
//!                 shown.truncate(from as usize);
//!                 shown.push_str(&text);
//!             }
//!             TranscriptChange::BlockRemoved { block } => {
//!                 self.0.remove(&block);
//!             }
//!             TranscriptChange::Entry { value: EntryValue::Error { text, .. }, .. } => println!("{text}"),
//!             TranscriptChange::ToolCall { value, .. } => println!("{}: {:?}", value.name, value.state),
//!             TranscriptChange::Status { status } => println!("{:?}: {}", status.phase, status.reason),
//!             TranscriptChange::Usage { usage } => println!("{} USD", usage.cost_usd),
//!             TranscriptChange::Session { session } => println!("{:?}", session.title),
//!             _ => {}
//!         }
//!     }
//! }
//! # Texts::default().apply(TranscriptChange::Reset);
//! ```
//!
//! ## Values
//!
//! ```
//! use bowline_reducer::owned::TranscriptChange;
//!
//! /// Returns one line for each value that is not part of a message.
//! fn describe(change: &TranscriptChange) -> String {
//!     match change {
//!         TranscriptChange::Session { session } => {
//!             let (agent, context) = (&session.agent, &session.context);
//!             let used = context.as_ref().and_then(|context| context.used);
//!             let titles = session.threads.values().filter_map(|thread| thread.title.as_deref());
//!             format!("{:?} {:?}, {used:?} tokens, {:?}", agent.name, agent.version, titles.collect::<Vec<_>>())
//!         }
//!         TranscriptChange::Status { status } => format!("{:?}: {}", status.phase, status.reason),
//!         TranscriptChange::ToolCall { value, .. } => {
//!             let result = value.result.as_ref().map(|result| (result.is_error, &result.text));
//!             let agent = value.subagent.as_ref().and_then(|agent| agent.agent_type.as_deref());
//!             format!("{} is {:?}: {result:?}, {agent:?}", value.name, value.state)
//!         }
//!         TranscriptChange::Task { task, value } => format!("{task}: {}, {:?}", value.description, value.state),
//!         TranscriptChange::Permission { value, .. } => {
//!             let options = value.options.iter().map(|option| option.name.as_str());
//!             format!("may {} run? {}", value.tool_name, options.collect::<Vec<_>>().join(" / "))
//!         }
//!         TranscriptChange::Usage { usage } => format!("{} USD, {} models", usage.cost_usd, usage.models.len()),
//!         TranscriptChange::Stats { stats } => format!("{} lines, {} not parsed", stats.lines, stats.parse_errors),
//!         _ => String::new(),
//!     }
//! }
//! # assert_eq!(describe(&TranscriptChange::Reset), "");
//! ```

mod convert;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::dialect_name::DialectName;
use crate::json::{BlockDetail, EntryDetail};
use crate::model::{
    AnsweredBy, Command, Content, Limit, Location, PlanItem, Question, QueuedPrompt, RequestKind,
    RequestOption, SessionOption, ThreadState, ToolKind,
};
use crate::record::{BlockId, CallId, EntryId, PermissionId};
use crate::state::{
    CallState, ErrorKind, MessageState, Outcome, PermissionState, Phase, TaskState,
};
use crate::view::ModelUsage;

/// One change of a transcript. It states what holds now, so later changes of the same item replace
/// it; only [`Append`](Self::Append) refers to what came before.
///
/// As JSON, an object with the name of the variant under `change`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TranscriptChange {
    /// Discard everything: the following changes make up the whole transcript.
    Reset,
    /// The session's conversation, model or mode.
    Session {
        /// The new value.
        session: SessionValue,
    },
    /// The status of the session.
    Status {
        /// The new value.
        status: StatusValue,
    },
    /// An entry is new or changed. Its blocks have changes of their own.
    Entry {
        /// Id of the entry; entries are ordered by id.
        entry: EntryId,
        /// The tool call whose sub-agent wrote it, or the name of a thread that no call holds; absent
        /// on the main thread.
        thread: Option<String>,
        /// The new value.
        value: EntryValue,
        /// The rest of it.
        #[serde(flatten)]
        detail: EntryDetail,
    },
    /// An entry was removed.
    EntryRemoved {
        /// Id of the entry.
        entry: EntryId,
    },
    /// A block is new, or was replaced.
    Block {
        /// Id of the block; the blocks of an entry are ordered by id.
        block: BlockId,
        /// Id of its entry.
        entry: EntryId,
        /// The new value.
        value: BlockValue,
        /// The rest of it.
        #[serde(flatten)]
        detail: BlockDetail,
    },
    /// The text of a block changed at its end: keep the first `from` bytes and append `text`.
    Append {
        /// Id of the block.
        block: BlockId,
        /// Number of bytes to keep; less than the length if the agent corrected itself.
        from: u32,
        /// The text to append.
        text: String,
        /// The new end of the block's byte range in the stream.
        end: u64,
    },
    /// A block was removed.
    BlockRemoved {
        /// Id of the block.
        block: BlockId,
    },
    /// A tool call is new or changed. Its sub-agent's entries have changes of their own.
    ToolCall {
        /// Id of the call; the calls of a thread are ordered by id.
        call: CallId,
        /// The tool call whose sub-agent made it; absent on the main thread. It may change.
        thread: Option<String>,
        /// The new value.
        value: ToolCallValue,
    },
    /// A tool call was removed.
    ToolCallRemoved {
        /// Id of the call.
        call: CallId,
    },
    /// A background task is new or changed.
    Task {
        /// The agent's id of the task.
        task: String,
        /// The new value.
        value: TaskValue,
    },
    /// A permission request is new or changed.
    Permission {
        /// Id of the request; requests are ordered by id.
        permission: PermissionId,
        /// The new value.
        value: PermissionValue,
    },
    /// Tokens and cost.
    Usage {
        /// The new value.
        usage: UsageValue,
    },
    /// Counters of the stream.
    Stats {
        /// The new value.
        stats: StatsValue,
    },
}

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

/// An entry without its blocks.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryValue {
    /// A prompt of the user, of the agent itself, or of a sub-agent's parent.
    User {
        /// Uuid of the line or of the host's prompt.
        uuid: Option<String>,
        /// The text.
        text: String,
        /// Whether the agent echoed it.
        replay: bool,
        /// Whether the agent wrote it.
        synthetic: bool,
    },
    /// A message of the model.
    Assistant {
        /// The API's `message.id`.
        message_id: String,
        /// The model; `<synthetic>` for a message of the agent itself.
        model: Option<String>,
        /// Whether it is complete.
        state: MessageState,
    },
    /// The end of a turn.
    Result {
        /// `success`, `error_during_execution`, …
        subtype: String,
        /// Whether the turn failed; independent of `subtype`.
        is_error: bool,
        /// How it ended.
        outcome: Outcome,
        /// The final text, or the error.
        text: Option<String>,
        /// What started the turn, if not the host.
        origin: Option<String>,
        /// Number of round trips to the model.
        num_turns: u64,
        /// Wall time in milliseconds.
        duration_ms: u64,
    },
    /// Information beside the conversation.
    Notice {
        /// Type or system subtype of its line.
        notice: String,
        /// The text.
        text: String,
    },
    /// An error of the stream.
    Error {
        /// The kind.
        error: ErrorKind,
        /// A description.
        text: String,
    },
}

/// One part of a message.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockValue {
    /// Text.
    Text {
        /// The text so far.
        text: String,
    },
    /// Reasoning.
    Thinking {
        /// The text so far; empty when the agent does not show it.
        text: String,
    },
    /// Encrypted reasoning.
    RedactedThinking,
    /// A tool call; see [`TranscriptChange::ToolCall`].
    ToolCall {
        /// The `tool_use` id.
        id: String,
    },
    /// A block of another type.
    Other {
        /// The block as the agent wrote it.
        raw: Box<RawValue>,
    },
}

/// A tool call, without the entries of its sub-agent.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ToolCallValue {
    /// The `tool_use` id.
    pub id: String,
    /// Name of the tool; empty until its message is seen.
    pub name: String,
    /// The arguments, a JSON object; absent while the model writes them.
    pub input: Option<Box<RawValue>>,
    /// The state.
    pub state: CallState,
    /// The result.
    pub result: Option<ToolResultValue>,
    /// A line that says what it does.
    pub title: Option<String>,
    /// What the tool does.
    pub kind: Option<ToolKind>,
    /// The files that it works on.
    pub locations: Vec<Location>,
    /// Texts, changes of files, commands.
    pub content: Vec<Content>,
    /// What its command has printed so far.
    pub output: Option<String>,
    /// The exit code of its command.
    pub exit_code: Option<i64>,
    /// When it was first seen, in milliseconds by the host's clock.
    pub started_ms: Option<u64>,
    /// When it ended, in milliseconds by the host's clock.
    pub ended_ms: Option<u64>,
    /// Byte range of its lines in the output stream.
    pub bytes: [u64; 2],
    /// What it has used.
    pub usage: Option<ModelUsage>,
    /// The sub-agent that it started.
    pub subagent: Option<SubagentValue>,
}

/// The result of a tool call.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ToolResultValue {
    /// Whether the tool failed.
    pub is_error: bool,
    /// Its text, with placeholders for other parts.
    pub text: String,
}

/// A sub-agent, without its entries.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SubagentValue {
    /// Its id.
    pub agent_id: Option<String>,
    /// Its type, such as `general-purpose`.
    #[serde(rename = "type")]
    pub agent_type: Option<String>,
    /// What it works on.
    pub title: Option<String>,
    /// Its progress.
    pub state: Option<ThreadState>,
    /// What it has used.
    pub usage: Option<ModelUsage>,
}

/// A background task.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TaskValue {
    /// Its type, such as `local_bash`.
    pub kind: Option<String>,
    /// The state.
    pub state: TaskState,
    /// A description.
    pub description: String,
    /// The call that started it.
    pub tool_use_id: Option<String>,
}

/// A permission request as the transcript shows it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PermissionValue {
    /// The agent's id of the request.
    pub request_id: String,
    /// The call.
    pub tool_use_id: Option<String>,
    /// Name of the tool.
    pub tool_name: String,
    /// The state.
    pub state: PermissionState,
    /// What it asks for.
    pub kind: RequestKind,
    /// The answers to choose from.
    pub options: Vec<RequestOption>,
    /// The questions to answer.
    pub questions: Vec<Question>,
    /// The URL to open.
    pub url: Option<String>,
    /// The thread that asks; absent on the main thread.
    pub thread: Option<String>,
    /// The rule that a lasting answer would add.
    pub rule: Option<String>,
    /// The answer's author, kind and time.
    pub decided_by: Option<AnsweredBy>,
    /// Byte range of its line in the output stream.
    pub bytes: [u64; 2],
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
