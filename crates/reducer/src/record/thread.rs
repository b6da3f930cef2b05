//! Threads.

use std::collections::BTreeSet;

use crate::arena::{ShortText, Text};
use crate::model::ThreadState;
use crate::names::Name;
use crate::record::ListEnds;
use crate::record::id::{CallId, EntryId};
use crate::record::turn::TurnId;
use crate::record::usage::Tokens;

/// A sequence of entries: the main thread, or that of a sub-agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadRecord {
    /// The call that started the sub-agent; `None` for the main thread.
    pub(crate) call: Option<CallId>,
    pub(crate) agent_id: ShortText,
    pub(crate) agent_type: Name,
    pub(crate) entries: ListEnds<EntryId>,
    pub(crate) calls: ListEnds<CallId>,
    /// Calls without a result.
    pub(crate) open: BTreeSet<CallId>,
    /// Deepest nesting of sub-agents below this thread.
    pub(crate) height: u32,
    /// Rejected calls; a following interrupt marker turns them into interrupted ones.
    pub(crate) rejected: Vec<CallId>,
    /// What a dialect says of it.
    pub(crate) detail: Option<Box<ThreadDetail>>,
}

/// What a dialect says of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadDetail {
    /// Whether the dialect finds it by its `agent_id`.
    pub(crate) is_named: bool,
    /// The turn that is open, and of which new entries are part; empty between turns.
    pub(crate) turn: TurnId,
    pub(crate) title: Text,
    pub(crate) state: Option<ThreadState>,
    pub(crate) usage: Option<Tokens>,
}
