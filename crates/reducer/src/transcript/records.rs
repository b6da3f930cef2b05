//! Entries and blocks: append, find, finalize, remove.

use crate::list;
use crate::log::LogStamp;
use crate::record::{
    BlockBody, BlockId, BlockRecord, BlockStage, EntryBody, EntryId, EntryRecord, LineEnd,
    ListLinks, MessageRecord, ThreadId,
};
use crate::transcript::{LineContext, Transcript};

impl Transcript {
    pub(crate) fn entry(
        &mut self,
        thread: ThreadId,
        body: EntryBody,
        context: LineContext,
    ) -> EntryId {
        let id = EntryId::new(self.entries.len() as u32);
        self.entries.push(EntryRecord {
            thread,
            links: ListLinks::default(),
            is_removed: false,
            is_history: self.is_history,
            at: context.at(),
            turn: self.turn_of(thread),
            offset: context.offset,
            stamp: LogStamp::default(),
            body,
        });
        let list = &mut self.threads[thread].entries;
        list::insert(&mut self.entries, list, id);
        self.touch_entry(id);
        id
    }

    /// Records that the agent has taken up a prompt of the host, after the entries that are there.
    pub(crate) fn prompt_taken_up(&mut self, prompt: EntryId) {
        let last = EntryId::new(self.entries.len().saturating_sub(1) as u32);
        if last > prompt {
            self.taken_up.insert(prompt, last);
        }
    }

    pub(crate) fn remove_entry(&mut self, id: EntryId) {
        if self.entries.get(id).is_some_and(|it| !it.is_removed) {
            self.entries[id].is_removed = true;
            self.touch_entry(id);
        }
    }

    pub(crate) fn message(&self, entry: EntryId) -> Option<MessageRecord> {
        match self.entries.get(entry)?.body {
            EntryBody::Assistant(message) => Some(message),
            _ => None,
        }
    }

    pub(crate) fn message_mut(&mut self, entry: EntryId) -> Option<&mut MessageRecord> {
        match &mut self.entries.get_mut(entry)?.body {
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
        stage: BlockStage,
    ) -> BlockId {
        let id = BlockId::new(self.blocks.len() as u32);
        self.blocks.push(BlockRecord {
            entry,
            next: None,
            index,
            next_of_line: None,
            body,
            stage,
            line_start: LineEnd::new(self.line.offset),
            line_end: self.line.line_end(),
            high_surrogate: 0,
            stamp: LogStamp::default(),
            was_text: false,
        });
        let before = self.message_mut(entry).and_then(|message| {
            message.first.get_or_insert(id);
            message.live_blocks += 1;
            message.last.replace(id)
        });
        if stage != BlockStage::Final {
            self.drafted.insert(entry, index, id);
        }
        if let Some(before) = before {
            self.blocks[before].next = Some(id);
        }
        self.note_call_of(id);
        self.touch_block(id);
        id
    }

    /// Records a block at its call, if no newer message contains the call.
    pub(crate) fn note_call_of(&mut self, id: BlockId) {
        let block = &self.blocks[id];
        let (entry, line_end) = (Some(block.entry), block.line_end);
        if let BlockBody::Call(call) = block.body
            && self.calls[call].entry <= entry
        {
            let call_record = &mut self.calls[call];
            call_record.entry = entry;
            call_record.line_end = line_end;
            self.touch_call(call);
        }
    }

    /// The blocks of a message, including removed ones.
    pub(crate) fn all_blocks(&self, entry: EntryId) -> impl Iterator<Item = BlockId> {
        let first = self.message(entry).and_then(|message| message.first);
        std::iter::successors(first, |id| self.blocks[id].next)
    }

    /// The blocks of a message that are not removed.
    pub(crate) fn live_blocks(&self, entry: EntryId) -> impl Iterator<Item = BlockId> {
        self.all_blocks(entry)
            .filter(|id| !self.blocks[id].is_removed())
    }

    /// Number of blocks of a message that are not removed.
    pub(crate) fn live_block_count(&self, entry: EntryId) -> u32 {
        self.message(entry).map_or(0, |message| message.live_blocks)
    }

    /// The blocks of a message that are not removed and whose line has not come, in order.
    pub(crate) fn draft_blocks_of(&self, entry: EntryId) -> impl Iterator<Item = BlockId> {
        self.drafted.of(entry)
    }

    /// Marks a block as complete: its line has come.
    pub(crate) fn finalize(&mut self, id: BlockId) {
        let block = &mut self.blocks[id];
        block.stage = BlockStage::Final;
        self.drafted.remove(block.entry, block.index, id);
    }

    /// Removes a block.
    pub(crate) fn remove_block(&mut self, id: BlockId) {
        let block = &mut self.blocks[id];
        if std::mem::replace(&mut block.stage, BlockStage::Removed) == BlockStage::Removed {
            return;
        }
        let entry = block.entry;
        self.drafted.remove(entry, block.index, id);
        if let Some(message) = self.message_mut(entry) {
            message.live_blocks -= 1;
        }
        self.touch_block(id);
    }
}
