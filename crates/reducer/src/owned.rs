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

mod call;
mod convert;
mod entry;
mod session;

use serde::Serialize;

use crate::json::{BlockDetail, EntryDetail};
use crate::record::{BlockId, CallId, EntryId, PermissionId};

pub use call::{PermissionValue, SubagentValue, TaskValue, ToolCallValue, ToolResultValue};
pub use entry::{BlockValue, EntryValue};
pub use session::{
    AgentValue, ContextValue, SessionValue, StatsValue, StatusValue, ThreadValue, UsageValue,
};

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
