//! Drafts: messages that stream before their lines.

use std::collections::BTreeMap;

use bowline_jsonl::Str;

use crate::record::id::{BlockId, EntryId};

/// A message that streams. A thread has at most one.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) entry: EntryId,
    /// Its `message.id`.
    pub(crate) id: Box<str>,
    /// Its blocks by their `index`.
    pub(crate) blocks: BTreeMap<u32, BlockId>,
    /// The block that grows.
    pub(crate) open: Option<BlockId>,
    /// The partial input of the tool call that grows.
    pub(crate) input: String,
}

impl Draft {
    /// Whether an event belongs to it; one that names no message does.
    #[inline]
    pub(crate) fn is_of(&self, id: Option<Str<'_>>) -> bool {
        id.is_none_or(|id| id == *self.id)
    }

    /// Makes a block the one that grows.
    pub(crate) fn grow(&mut self, block: BlockId) {
        self.open = Some(block);
        self.input.clear();
    }
}
