//! Entries and their blocks: how they are added, found, finished and taken back.

use crate::list;
use crate::log::{Slot, Stamp};
use crate::number::U48;
use crate::record::{
    Beside, BlockBody, BlockId, BlockRecord, EntryBody, EntryId, EntryRecord, MessageRecord, Stage,
    ThreadId,
};
use crate::transcript::{Here, Transcript};

impl Transcript {
    pub(crate) fn entry(&mut self, thread: ThreadId, body: EntryBody, here: Here) -> EntryId {
        let id = EntryId::new(self.entries.len() as u32);
        self.entries.push(EntryRecord {
            thread,
            beside: Beside::default(),
            is_removed: false,
            at_ms: U48::new(here.at_ms),
            offset: U48::new(here.offset),
            stamp: Stamp::default(),
            body,
        });
        let list = &mut self.threads[thread.at()].entries;
        list::insert(&mut self.entries, list, id);
        self.touch_entry(id);
        id
    }

    pub(crate) fn remove_entry(&mut self, id: EntryId) {
        if self.entries.get(id.at()).is_some_and(|it| !it.is_removed) {
            self.entries.at_mut(id.at()).is_removed = true;
            self.touch_entry(id);
        }
    }

    pub(crate) fn message(&self, entry: EntryId) -> Option<MessageRecord> {
        match self.entries.get(entry.at())?.body {
            EntryBody::Assistant(message) => Some(message),
            _ => None,
        }
    }

    pub(crate) fn message_mut(&mut self, entry: EntryId) -> Option<&mut MessageRecord> {
        match &mut self.entries.get_mut(entry.at())?.body {
            EntryBody::Assistant(message) => Some(message),
            _ => None,
        }
    }

    /// Appends a block to a message.
    pub(crate) fn block(
        &mut self,
        entry: EntryId,
        index: u32,
        body: BlockBody,
        stage: Stage,
    ) -> BlockId {
        let id = BlockId::new(self.blocks.len() as u32);
        self.blocks.push(BlockRecord {
            entry,
            next: None,
            index,
            line: None,
            body,
            stage,
            is_removed: false,
            high: 0,
            stamp: Stamp::default(),
            was_text: false,
        });
        let before = self.message_mut(entry).and_then(|message| {
            message.first.get_or_insert(id);
            message.live += 1;
            if stage != Stage::Final {
                message.drafted += 1;
                message.first_drafted.get_or_insert(id);
            }
            message.last.replace(id)
        });
        if let Some(before) = before {
            self.blocks.at_mut(before.at()).next = Some(id);
        }
        self.touch_block(id);
        id
    }

    /// The blocks of a message, the removed ones too.
    pub(crate) fn all_blocks(&self, entry: EntryId) -> impl Iterator<Item = BlockId> {
        let first = self.message(entry).and_then(|message| message.first);
        std::iter::successors(first, |id| self.blocks.at(id.at()).next)
    }

    /// The blocks of a message that stand.
    pub(crate) fn live_blocks(&self, entry: EntryId) -> impl Iterator<Item = BlockId> {
        self.all_blocks(entry)
            .filter(|id| !self.blocks.at(id.at()).is_removed)
    }

    /// How many blocks of a message stand.
    pub(crate) fn live_count(&self, entry: EntryId) -> u32 {
        self.message(entry).map_or(0, |message| message.live)
    }

    /// The blocks of a message that stand and whose lines have not come.
    pub(crate) fn drafted_blocks(&self, entry: EntryId) -> impl Iterator<Item = BlockId> {
        let message = self.message(entry);
        let first = message.and_then(|message| message.first_drafted);
        let is_drafted = |id: &BlockId| self.blocks.at(id.at()).is_drafted();
        std::iter::successors(first, |id| self.blocks.at(id.at()).next)
            .filter(is_drafted)
            .take(message.map_or(0, |message| message.drafted as usize))
    }

    /// The line of a block has come.
    pub(crate) fn finalize(&mut self, id: BlockId) {
        let was_drafted = self.blocks.at(id.at()).is_drafted();
        let block = self.blocks.at_mut(id.at());
        block.stage = Stage::Final;
        let entry = block.entry;
        if was_drafted {
            self.forget_drafted(entry);
        }
    }

    /// Takes a block back.
    pub(crate) fn remove_block(&mut self, id: BlockId) {
        let was_drafted = self.blocks.at(id.at()).is_drafted();
        let block = self.blocks.at_mut(id.at());
        if std::mem::replace(&mut block.is_removed, true) {
            return;
        }
        let entry = block.entry;
        if let Some(message) = self.message_mut(entry) {
            message.live -= 1;
        }
        if was_drafted {
            self.forget_drafted(entry);
        }
        self.touch_block(id);
    }

    /// A block of a message is no draft any more.
    fn forget_drafted(&mut self, entry: EntryId) {
        if let Some(message) = self.message_mut(entry) {
            message.drafted -= 1;
        }
        let first = self.drafted_blocks(entry).next();
        if let Some(message) = self.message_mut(entry) {
            message.first_drafted = first;
        }
    }

    pub(crate) fn touch_entry(&mut self, id: EntryId) {
        self.change_entry(id);
        self.log.note(
            &mut self.entries.at_mut(id.at()).stamp,
            Slot::Entry(id.number()),
        );
    }

    pub(crate) fn touch_block(&mut self, id: BlockId) {
        self.change_entry(self.blocks.at(id.at()).entry);
        let block = self.blocks.at_mut(id.at());
        if std::mem::take(&mut block.was_text) {
            block.stamp = Stamp::default();
        }
        self.log.note(&mut block.stamp, Slot::Block(id.number()));
    }

    /// Notes that the text of a block, `before` bytes then, changed from byte `from` on. A block that
    /// is logged as a whole since the last reading needs no more.
    #[inline]
    pub(crate) fn touch_text(&mut self, id: BlockId, from: u32, before: u32) {
        let block = self.blocks.at_mut(id.at());
        if block.was_text || !self.log.is_fresh(block.stamp) {
            block.was_text = true;
            let id = id.number();
            self.log.note_text(&mut block.stamp, id, from, before);
        }
        let entry = block.entry;
        self.change_entry(entry);
    }
}
