//! Drafts: messages that stream before their lines.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use bowline_jsonl::Str;

use crate::record::id::{BlockId, EntryId};

/// A message that streams. A thread has at most one.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) entry: EntryId,
    /// Its `message.id`.
    pub(crate) id: Box<str>,
    pub(crate) blocks: DraftBlocks,
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

/// The blocks of a message by their `index` in its stream. A message that streams again continues
/// with those of its last draft, and adds the blocks that came since.
#[derive(Clone, Debug, Default)]
pub(crate) struct DraftBlocks {
    by_index: BTreeSet<(u32, BlockId)>,
    /// The last block that was taken from the message, and how many were.
    last: Option<BlockId>,
    taken: u32,
}

impl DraftBlocks {
    /// Number of blocks up to which they are collected again.
    const SHORT: u32 = 16;

    pub(crate) const fn is_long(&self) -> bool {
        self.taken > Self::SHORT
    }

    /// The last block that was taken from the message.
    pub(crate) const fn last(&self) -> Option<BlockId> {
        self.last
    }

    /// Takes the next block of the message; a removed one has no index.
    pub(crate) fn take(&mut self, index: Option<u32>, block: BlockId) {
        self.by_index.extend(index.map(|index| (index, block)));
        self.last = Some(block);
        self.taken += 1;
    }

    /// Adds a block of the stream.
    pub(crate) fn insert(&mut self, index: u32, block: BlockId) {
        self.by_index.insert((index, block));
    }

    /// Returns the newest block with an index for which `is_live` holds, and forgets newer ones.
    pub(crate) fn find(
        &mut self,
        index: u32,
        is_live: impl Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        loop {
            let its = (index, BlockId::new(0))..=(index, BlockId::new(u32::MAX));
            let &(_, newest) = self.by_index.range(its).next_back()?;
            if is_live(newest) {
                return Some(newest);
            }
            self.by_index.remove(&(index, newest));
        }
    }
}

/// All blocks whose line has not come, by their message.
#[derive(Clone, Debug, Default)]
pub(crate) struct DraftedBlocks {
    blocks: BTreeSet<(EntryId, BlockId)>,
    /// Those whose `content_block_stop` has not come either.
    open: BTreeSet<(EntryId, BlockId)>,
    by_index: BTreeSet<(EntryId, u32, BlockId)>,
}

impl DraftedBlocks {
    /// Adds a block that grows.
    pub(crate) fn insert(&mut self, entry: EntryId, index: u32, block: BlockId) {
        self.blocks.insert((entry, block));
        self.open.insert((entry, block));
        self.by_index.insert((entry, index, block));
    }

    /// Records that a block does not grow any more.
    pub(crate) fn stop(&mut self, entry: EntryId, block: BlockId) {
        self.open.remove(&(entry, block));
    }

    /// Removes a block that is complete or was retracted.
    pub(crate) fn remove(&mut self, entry: EntryId, index: u32, block: BlockId) {
        if self.blocks.remove(&(entry, block)) {
            self.open.remove(&(entry, block));
            self.by_index.remove(&(entry, index, block));
        }
    }

    /// The blocks of a message, in order.
    pub(crate) fn of(&self, entry: EntryId) -> impl Iterator<Item = BlockId> {
        self.blocks.range(all(entry)).map(|&(_, block)| block)
    }

    /// The blocks of a message that grow, in order.
    pub(crate) fn open_of(&self, entry: EntryId) -> impl Iterator<Item = BlockId> {
        self.open.range(all(entry)).map(|&(_, block)| block)
    }

    /// The blocks of a message from an `index` on.
    pub(crate) fn starting_at(&self, entry: EntryId, from: u32) -> impl Iterator<Item = BlockId> {
        let last = (entry, u32::MAX, BlockId::new(u32::MAX));
        let its = self.by_index.range((entry, from, BlockId::new(0))..=last);
        its.map(|&(_, _, block)| block)
    }

    /// Drops the blocks of messages before `end` for which `is_evicted` holds.
    pub(crate) fn evict(&mut self, end: EntryId, is_evicted: impl Fn(EntryId) -> bool) {
        let none = BlockId::new(0);
        for blocks in [&mut self.blocks, &mut self.open] {
            let evicted = blocks.extract_if(..(end, none), |&(entry, _)| is_evicted(entry));
            evicted.for_each(drop);
        }
        let evicted = self
            .by_index
            .extract_if(..(end, 0, none), |it| is_evicted(it.0));
        evicted.for_each(drop);
    }
}

fn all(entry: EntryId) -> RangeInclusive<(EntryId, BlockId)> {
    (entry, BlockId::new(0))..=(entry, BlockId::new(u32::MAX))
}
