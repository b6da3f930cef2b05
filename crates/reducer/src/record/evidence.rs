//! What the status is derived from.

use std::collections::BTreeSet;

use crate::arena::Text;
use crate::log::LogStamp;
use crate::record::id::{PermissionId, TaskId, ThreadId};
use crate::record::turn::{Turn, TurnId};
use crate::state::Outcome;

/// Everything that is open, and how the last turn ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) stamp: LogStamp,
    pub(crate) has_output: bool,
    pub(crate) turn: Turn,
    /// Number of turns of the main thread so far, and the last one.
    pub(crate) turns: u64,
    pub(crate) turn_id: TurnId,
    pub(crate) is_interrupting: bool,
    pub(crate) last_outcome: Option<Outcome>,
    pub(crate) permissions: OpenPermissions,
    pub(crate) tasks: BTreeSet<TaskId>,
    /// Those of the tasks that are in the background.
    pub(crate) background: BTreeSet<TaskId>,
    /// Why the connection to the agent's machine was given up, while it is.
    pub(crate) disconnected: Option<Text>,
    pub(crate) ended: Option<Ended>,
}

/// How the stream ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) reason: Text,
    pub(crate) was_process: bool,
}

/// The unanswered permission requests, also by the hash of their call's id, and by their thread if a
/// dialect names it.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenPermissions {
    all: BTreeSet<PermissionId>,
    by_call: BTreeSet<(u32, PermissionId)>,
    by_thread: BTreeSet<(Option<ThreadId>, PermissionId)>,
}

impl OpenPermissions {
    pub(crate) fn insert(&mut self, id: PermissionId, call: Option<u32>, thread: Option<ThreadId>) {
        self.all.insert(id);
        self.by_thread.insert((thread, id));
        self.by_call.extend(call.map(|call| (call, id)));
    }

    pub(crate) fn remove(&mut self, id: PermissionId, call: Option<u32>, thread: Option<ThreadId>) {
        self.all.remove(&id);
        self.by_thread.remove(&(thread, id));
        if let Some(call) = call {
            self.by_call.remove(&(call, id));
        }
    }

    /// All of them, the oldest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = PermissionId> {
        self.all.iter().copied()
    }

    /// Those of a thread, and those whose thread is not named.
    pub(crate) fn of_thread(&self, thread: ThreadId) -> impl Iterator<Item = PermissionId> {
        [None, Some(thread)].into_iter().flat_map(move |thread| {
            let its = self.by_thread.range((thread, PermissionId::MIN)..);
            its.take_while(move |it| it.0 == thread).map(|it| it.1)
        })
    }

    /// Those for calls with this hash.
    pub(crate) fn of_call(&self, call: u32) -> impl Iterator<Item = PermissionId> {
        let its = self.by_call.range((call, PermissionId::MIN)..);
        its.take_while(move |(hash, _)| *hash == call)
            .map(|it| it.1)
    }
}
