//! Session identity, and statistics of the stream.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::log::LogStamp;
use crate::model::{Command, Limit, PlanItem, QueuedPrompt, SessionOption};
use crate::names::Name;

/// A session may span several of the agent's conversations, whose ids change.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionRecord {
    pub(crate) stamp: LogStamp,
    pub(crate) conversations: Vec<Name>,
    /// The same, for look-up.
    pub(crate) entered: BTreeSet<Name>,
    /// The agent's current session id.
    pub(crate) id: Option<Name>,
    /// Whether the conversation was replaced and the id of the next one has not come.
    pub(crate) is_rotating: bool,
    pub(crate) model: Option<Name>,
    pub(crate) cwd: Option<Name>,
    pub(crate) cli_version: Option<Name>,
    pub(crate) permission_mode: Option<Name>,
    pub(crate) neutral: Arc<NeutralRecord>,
}

/// What a dialect says of the session. Each value is replaced as a whole; copies share all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct NeutralRecord {
    pub(crate) agent_name: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) plan: Vec<PlanItem>,
    /// Prompts by their order.
    pub(crate) queue: BTreeMap<u64, QueuedPrompt>,
    pub(crate) context_used: Option<u64>,
    pub(crate) context_size: Option<u64>,
    pub(crate) limits: Vec<Limit>,
    /// Positions in `limits`, by the window.
    pub(crate) limit_numbers: HashMap<String, usize>,
    pub(crate) options: Vec<SessionOption>,
    /// Positions in `options`, by the id.
    pub(crate) option_numbers: HashMap<String, usize>,
    /// How many choices of an option of Claude Code the agent or this crate lists; after them is the
    /// current value if it is none of them.
    pub(crate) listed_choices: Vec<usize>,
    pub(crate) commands: Vec<Command>,
    /// The models of the options, each with the name by which the agent reports it.
    pub(crate) model_names: Vec<(String, String)>,
}

/// Statistics of the stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) stamp: LogStamp,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    pub(crate) events: u64,
    pub(crate) duplicates: u64,
    pub(crate) parse_errors: u64,
    pub(crate) unknown: BTreeMap<String, u64>,
    pub(crate) is_truncated: bool,
    /// Bytes in known gaps.
    pub(crate) missing: u64,
    pub(crate) is_damaged: bool,
}
