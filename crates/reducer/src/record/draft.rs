//! Drafts: messages that stream before their lines.

use crate::record::id::{BlockId, EntryId, ThreadId};

/// A message that streams. A thread has at most one.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) thread: ThreadId,
    pub(crate) entry: EntryId,
    /// Its `message.id`.
    pub(crate) id: Box<str>,
    /// The block that grows.
    pub(crate) open: Option<BlockId>,
    /// The partial input of the tool call that grows.
    pub(crate) input: String,
}
