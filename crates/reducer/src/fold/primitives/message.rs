//! Messages and their blocks while they grow.

use std::ops::RangeBounds;

use bowline_jsonl::{RawJson, Str};

use crate::arena::Text;
use crate::index::{IndexKey, IndexKind};
use crate::names::Name;
use crate::record::{
    BlockBody, BlockId, BlockStage, CallId, Draft, DraftBlocks, EntryBody, EntryId, MessageRecord,
    ThreadId,
};
use crate::state::MessageState;
use crate::transcript::{Fold, LineContext, Transcript};

impl Transcript {
    pub(crate) fn open_draft(
        &mut self,
        thread: ThreadId,
        id: Str<'_>,
        model: Option<Str<'_>>,
        context: LineContext,
    ) {
        let entry = self.message_entry(thread, id, model, context);
        let mut known = self.suspended.remove(&entry).unwrap_or_default();
        let mut next = match known.last() {
            Some(last) => self.blocks[last].next,
            None => self.message(entry).and_then(|message| message.first),
        };
        while let Some(id) = next {
            let block = &self.blocks[id];
            known.take((!block.is_removed()).then_some(block.index), id);
            next = block.next;
        }
        self.begin_draft(thread, entry, &id.decode(), known);
    }

    /// Takes the draft of a thread, and keeps its blocks for the case that the message streams again.
    pub(crate) fn take_draft(&mut self, thread: ThreadId) -> Option<EntryId> {
        let draft = self.drafts.remove(&thread)?;
        Some(self.suspend(draft))
    }

    fn suspend(&mut self, draft: Draft) -> EntryId {
        if draft.blocks.is_long() {
            self.suspended.insert(draft.entry, draft.blocks);
        }
        draft.entry
    }

    /// Finds the block with an index in the draft of a thread.
    pub(crate) fn draft_block(&mut self, thread: ThreadId, index: u32) -> Option<BlockId> {
        let blocks = &self.blocks;
        let draft = self.drafts.get_mut(&thread)?;
        draft.blocks.find(index, |id| !blocks[id].is_removed())
    }

    /// Makes a message the one that grows in a thread. `known` are its blocks.
    fn begin_draft(&mut self, thread: ThreadId, entry: EntryId, id: &str, known: DraftBlocks) {
        self.set_message(entry, MessageState::Streaming);
        let draft = Draft {
            entry,
            id: id.into(),
            blocks: known,
            open: None,
            input: String::new(),
        };
        self.drafts.insert(thread, draft);
        self.touch_status();
    }

    /// Finds or adds the entry of a message; restores it if it was removed.
    pub(crate) fn message_entry(
        &mut self,
        thread: ThreadId,
        id: Str<'_>,
        model: Option<Str<'_>>,
        context: LineContext,
    ) -> EntryId {
        let model = model.map(|model| self.names.intern(&model.decode()));
        self.named_message(thread, &id.decode(), model, context)
    }

    fn named_message(
        &mut self,
        thread: ThreadId,
        name: &str,
        model: Option<Name>,
        context: LineContext,
    ) -> EntryId {
        let key = IndexKey::new(IndexKind::Message, thread.number(), name);
        let found = self.find_message(key, thread, name);
        let Some(found) = found else {
            let message_id = self.arena.store_short(name);
            let body = EntryBody::Assistant(MessageRecord {
                message_id,
                model: model.unwrap_or_default(),
                ..MessageRecord::default()
            });
            let entry = self.entry(thread, body, context);
            self.index.insert(key, entry.number());
            return entry;
        };
        self.depend_on_entry(found);
        if self.entries[found].is_removed {
            self.entries[found].is_removed = false;
            self.touch_entry(found);
        }
        if let (Some(model), Some(message)) = (model, self.message_mut(found))
            && message.model.is_empty()
        {
            message.model = model;
            self.touch_entry(found);
        }
        found
    }

    /// Adds a block to the draft of a thread; it is the one that grows.
    pub(crate) fn begin_block(
        &mut self,
        thread: ThreadId,
        entry: EntryId,
        index: u32,
        body: BlockBody,
    ) -> BlockId {
        let id = self.block(entry, index, body, BlockStage::Open);
        if let Some(draft) = self.drafts.get_mut(&thread) {
            draft.blocks.insert(index, id);
            draft.grow(id);
        }
        id
    }

    pub(crate) fn grow(&mut self, id: BlockId, more: Str<'_>) {
        let block = &mut self.blocks[id];
        let Some(text) = block.body.text_mut() else {
            return;
        };
        let before = self.arena.len(*text);
        let from = self.arena.append_of(text, more, &mut block.high_surrogate);
        self.touch_text(id, from, before);
    }

    /// Ends a message that streamed; removes it if it has no blocks.
    pub(crate) fn finish_message(&mut self, entry: EntryId) {
        if self.live_block_count(entry) == 0 {
            self.remove_entry(entry);
        }
        if self
            .message(entry)
            .is_some_and(|it| it.state == MessageState::Streaming)
        {
            self.set_message(entry, MessageState::Complete);
        }
        self.touch_status();
    }

    /// Discards the draft of a thread unless it is of message `id`, which replaces it. Blocks that
    /// reached the stage `kept` stay.
    pub(crate) fn discard_draft_unless(&mut self, thread: ThreadId, id: Str<'_>, kept: BlockStage) {
        let is_other = |draft: &Draft| id != *draft.id;
        if self.drafts.get(&thread).is_some_and(is_other)
            && let Some(entry) = self.take_draft(thread)
        {
            self.void(entry, kept);
        }
    }

    /// Discards all drafts after the API call that streamed them failed.
    pub(crate) fn discard_drafts(&mut self) {
        for draft in std::mem::take(&mut self.drafts).into_values() {
            let entry = self.suspend(draft);
            self.void(entry, BlockStage::Final);
        }
    }

    /// Closes the drafts of some threads as they are, since nothing more will come.
    pub(crate) fn close_drafts(&mut self, threads: impl RangeBounds<ThreadId>) {
        let over = self.drafts.extract_if(threads, |_, _| true);
        for (_, draft) in over.collect::<Vec<_>>() {
            let entry = self.suspend(draft);
            self.set_message(entry, MessageState::Aborted);
            self.finish_message(entry);
        }
    }

    pub(crate) fn void(&mut self, entry: EntryId, kept: BlockStage) {
        let cut = match kept {
            BlockStage::Final => self.draft_blocks_of(entry).collect(),
            _ => self.drafted.open_of(entry).collect(),
        };
        if self.remove_blocks(cut) {
            self.set_message(entry, MessageState::Aborted);
        }
        self.finish_message(entry);
    }

    pub(crate) fn set_message(&mut self, entry: EntryId, state: MessageState) {
        if let Some(message) = self.message_mut(entry)
            && message.state != state
        {
            message.state = state;
            self.touch_entry(entry);
        }
    }

    /// Removes blocks; returns whether there were any.
    pub(crate) fn remove_blocks(&mut self, blocks: Vec<BlockId>) -> bool {
        let any = !blocks.is_empty();
        for id in blocks {
            self.remove_block(id);
            if let BlockBody::Call(call) = self.blocks[id].body {
                self.remove_call(call);
            }
        }
        any
    }
}

/// Where a text belongs. See [`Fold::append`].
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// The agent's id of the message. Without one, the message is the open one of the thread, or a
    /// new one after a call.
    pub message: Option<&'a str>,
    /// Number of the part among those of its kind in the message. Without one, the part is the last
    /// of the message if it has this kind, or a new one.
    pub part: Option<u16>,
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// The message itself.
    Text,
    /// Reasoning.
    Thinking,
}

impl TextKind {
    const fn body(self, text: Text) -> BlockBody {
        match self {
            Self::Text => BlockBody::Text(text),
            Self::Thinking => BlockBody::Thinking(text),
        }
    }

    /// The block index of a numbered part.
    const fn index(self, part: u16) -> u32 {
        part as u32 * 2 + matches!(self, Self::Thinking) as u32
    }
}

impl Fold<'_> {
    /// Appends to a text; opens the message and its block if there is none. Another message of the
    /// thread that is open is complete from then on.
    pub fn append(&mut self, place: Place<'_>, kind: TextKind, text: Str<'_>) {
        let block = self.text_block(place, kind);
        self.it.grow(block, text);
    }

    /// Replaces a text by its final value: only what differs is a change. Opens the message and its
    /// block if there is none.
    pub fn set_text(&mut self, place: Place<'_>, kind: TextKind, text: &str) {
        let id = self.text_block(place, kind);
        let block = &mut self.it.blocks[id];
        block.high_surrogate = 0;
        let Some(old) = block.body.text_mut() else {
            return;
        };
        let before = self.it.arena.len(*old);
        let kept = self.it.arena.text(*old).common_prefix(text);
        self.it.arena.truncate(old, kept as u32);
        self.it
            .arena
            .append(old, text.get(kept..).unwrap_or_default());
        if kept < before as usize || kept < text.len() {
            self.it.touch_text(id, kept as u32, before);
        }
    }

    /// Adds a part of another type, such as an image, as raw JSON.
    pub fn add_other(&mut self, place: Place<'_>, part: RawJson<'_>) {
        let entry = self.message(place);
        let raw = self.it.arena.store_raw(part);
        let index = self.it.live_block_count(entry);
        self.it
            .block(entry, index, BlockBody::Other(raw), BlockStage::Final);
    }

    /// Sets the model of the open message of a thread.
    pub fn set_message_model(&mut self, thread: ThreadId, model: &str) {
        let model = self.it.names.intern(model);
        if let Some(entry) = self.it.drafts.get(&thread).map(|draft| draft.entry)
            && let Some(message) = self.it.message_mut(entry)
            && message.model != model
        {
            message.model = model;
            self.it.touch_entry(entry);
        }
    }

    /// Completes the open message of a thread. Later text of the same id continues it.
    pub fn close_message(&mut self, thread: ThreadId) {
        if let Some(Draft { entry, .. }) = self.it.drafts.remove(&thread) {
            for block in self.it.draft_blocks_of(entry).collect::<Vec<_>>() {
                self.it.finalize(block);
            }
            self.it.finish_message(entry);
        }
    }

    /// Adds the block of a call to the open message of a thread, or to a new one.
    pub(super) fn call_block(&mut self, thread: ThreadId, call: CallId) {
        let entry = match self.it.drafts.get(&thread) {
            Some(draft) => draft.entry,
            None => self.new_message(thread),
        };
        let index = self.it.live_block_count(entry);
        self.it
            .block(entry, index, BlockBody::Call(call), BlockStage::Final);
    }

    /// Finds or opens the message of a place.
    fn message(&mut self, place: Place<'_>) -> EntryId {
        let thread = place.thread;
        let open = self.it.drafts.get(&thread);
        let open = open.map(|draft| (draft.entry, place.message.is_none_or(|id| *draft.id == *id)));
        match (open, place.message) {
            (Some((entry, true)), Some(_)) => return entry,
            (Some((entry, true)), None) if !self.ends_with_call(entry) => return entry,
            _ => {}
        }
        self.close_message(thread);
        let Some(id) = place.message else {
            return self.new_message(thread);
        };
        let line = self.line();
        let entry = self.it.named_message(thread, id, None, line);
        // Their blocks are found by their parts: a message may be continued any number of times.
        self.it
            .begin_draft(thread, entry, id, DraftBlocks::default());
        self.it.touch_status();
        entry
    }

    fn new_message(&mut self, thread: ThreadId) -> EntryId {
        let line = self.line();
        let body = EntryBody::Assistant(MessageRecord::default());
        let entry = self.it.entry(thread, body, line);
        self.it
            .begin_draft(thread, entry, "", DraftBlocks::default());
        self.it.touch_status();
        entry
    }

    fn ends_with_call(&self, entry: EntryId) -> bool {
        let last = self.it.message(entry).and_then(|message| message.last);
        last.is_some_and(|id| matches!(self.it.blocks[id].body, BlockBody::Call(_)))
    }

    /// Finds or opens the block of a text.
    fn text_block(&mut self, place: Place<'_>, kind: TextKind) -> BlockId {
        let entry = self.message(place);
        let like = kind.body(Text::default());
        let is_it = |id: &BlockId| self.it.blocks[id].body.is_like(like);
        let known = match place.part {
            Some(part) => self.part(entry, kind.index(part)).filter(is_it),
            None => {
                let last = self.it.message(entry).and_then(|message| message.last);
                let is_open = |id: &BlockId| self.it.blocks[id].stage == BlockStage::Open;
                last.filter(|id| is_it(id) && is_open(id))
            }
        };
        known.unwrap_or_else(|| {
            let index = match place.part {
                Some(part) => kind.index(part),
                None => self.it.live_block_count(entry),
            };
            let id = self.it.begin_block(place.thread, entry, index, like);
            if place.part.is_some() {
                let key = IndexKey::part(entry.number(), index);
                self.it.index.insert(key, id.number());
            }
            id
        })
    }

    /// Finds a part of a message.
    fn part(&self, entry: EntryId, index: u32) -> Option<BlockId> {
        let is_it = |number: u32| {
            let block = self.it.blocks.get(BlockId::new(number));
            block.is_some_and(|it| it.entry == entry && it.index == index && it.is_part())
        };
        let found = self
            .it
            .index
            .find(IndexKey::part(entry.number(), index), is_it);
        found.map(BlockId::new)
    }
}
