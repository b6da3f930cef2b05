//! What the status is derived from.

use crate::arena::Text;
use crate::log::LogStamp;
use crate::record::id::{PermissionId, TaskId};
use crate::record::turn::Turn;
use crate::state::Outcome;

/// Everything that is open, and how the last turn ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) stamp: LogStamp,
    pub(crate) has_output: bool,
    pub(crate) turn: Turn,
    pub(crate) is_interrupting: bool,
    pub(crate) last_outcome: Option<Outcome>,
    pub(crate) permissions: Vec<PermissionId>,
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) ended: Option<Ended>,
}

/// How the stream ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) reason: Text,
    pub(crate) was_process: bool,
}
