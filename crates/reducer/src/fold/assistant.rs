//! `assistant` lines: finished blocks, several lines to a message (protocol, sections A.5, A.16).

use bowline_jsonl::{Assistant, Block, BlockBody as Said, Event, MessageContent, RawJson, Str};

use crate::record::{BlockBody, BlockId, BlockRecord, EntryBody, EntryId, Stage, ThreadId};
use crate::state::MessageState;
use crate::transcript::{Here, Transcript};
use crate::uuids::{Brought, Uuid};

impl Transcript {
    pub(crate) fn assistant(&mut self, event: &Event<'_>, said: &Assistant<'_>, here: Here) {
        let thread = self.thread_of(event.parent_tool_use_id);
        self.note_agent(thread, said.agent_id, said.subagent_type);
        if thread == ThreadId::MAIN {
            self.open_turn();
        }
        self.threads[thread.at()].rejected.clear();
        self.retract(said.supersedes);
        let message = &said.message;
        let id = message.id.or(event.uuid).unwrap_or_default();
        // Another message while a draft is open: the agent fell back to a call that does not
        // stream, or reports that the call failed.
        self.void_draft_unless(thread, id, Stage::Final);
        let entry = self.message_entry(thread, id, message.model, here);
        let mut line = None;
        for block in message.blocks() {
            let id = self.place(thread, entry, block);
            self.blocks.at_mut(id.at()).line = Some(*line.get_or_insert(id));
        }
        if let MessageContent::Text(text) = message.content {
            let id = self.place_text(entry, text, BlockBody::Text);
            self.blocks.at_mut(id.at()).line = Some(*line.get_or_insert(id));
        }
        if said.aborted {
            self.set_message(entry, MessageState::Aborted);
        }
        if let Some(uuid) = event.uuid {
            let brought = match line {
                Some(first) => Brought::Blocks(first.number()),
                None => Brought::Message(entry.number()),
            };
            self.uuids.note(Uuid::new(&uuid.decode()), brought);
        }
    }

    pub(crate) fn set_message(&mut self, entry: EntryId, state: MessageState) {
        if let Some(message) = self.message_mut(entry)
            && message.state != state
        {
            message.state = state;
            self.touch_entry(entry);
        }
    }

    /// Puts a finished block in its place: over its draft, or behind the last block.
    fn place(&mut self, thread: ThreadId, entry: EntryId, block: &Block<'_>) -> BlockId {
        match &block.body {
            Said::Text { text } => self.place_text(entry, *text, BlockBody::Text),
            Said::Thinking { thinking, .. } => {
                self.place_text(entry, *thinking, BlockBody::Thinking)
            }
            _ => {
                let body = self.body_of(thread, entry, block, true);
                self.place_body(entry, body)
            }
        }
    }

    fn place_text(
        &mut self,
        entry: EntryId,
        said: Str<'_>,
        make: fn(crate::arena::Text) -> BlockBody,
    ) -> BlockId {
        let like = make(crate::arena::Text::default());
        let Some(id) = self.awaited(entry, like, said) else {
            let body = make(self.arena.store_of(said));
            return self.append_final(entry, body);
        };
        self.finalize(id);
        let block = self.blocks.at_mut(id.at());
        block.high = 0;
        if let Some(old) = block.body.text_mut() {
            let before = self.arena.len(*old);
            let kept = self.arena.replace(old, said);
            if kept < before || kept < self.arena.len(*old) {
                self.touch_text(id, kept, before);
            }
        }
        id
    }

    fn place_body(&mut self, entry: EntryId, body: BlockBody) -> BlockId {
        let Some(id) = self.awaited(entry, body, Str::default()) else {
            return self.append_final(entry, body);
        };
        self.finalize(id);
        let block = self.blocks.at_mut(id.at());
        if block.body != body {
            block.body = body;
            self.touch_block(id);
        }
        id
    }

    fn append_final(&mut self, entry: EntryId, body: BlockBody) -> BlockId {
        let index = self.live_count(entry);
        self.block(entry, index, body, Stage::Final)
    }

    /// The draft that a finished block belongs to. Its line comes while the draft is still open;
    /// otherwise the draft that says the same, otherwise the first that is left.
    fn awaited(&self, entry: EntryId, like: BlockBody, said: Str<'_>) -> Option<BlockId> {
        let waits = |id: &BlockId| {
            let block = self.blocks.at(id.at());
            block.stage != Stage::Final && block.body.is_like(like)
        };
        let draft = self.drafts.iter().find(|draft| draft.entry == entry);
        let open = draft.and_then(|draft| draft.open).filter(waits);
        if open.is_some() {
            return open;
        }
        let waiting = || self.drafted_blocks(entry).filter(waits);
        let first = waiting().next()?;
        let text = said.decode();
        let says_it = |id: &BlockId| match self.blocks.at(id.at()).body {
            BlockBody::Text(old) | BlockBody::Thinking(old) => self.arena.text(old) == *text,
            _ => false,
        };
        Some(waiting().find(says_it).unwrap_or(first))
    }

    /// Takes back what the lines with these uuids brought.
    pub(crate) fn retract(&mut self, uuids: Option<RawJson<'_>>) {
        let uuids = uuids.into_iter().flat_map(RawJson::elements);
        for uuid in uuids.filter_map(RawJson::as_str) {
            match self.uuids.line(Uuid::new(&uuid.decode())) {
                Some(Brought::Blocks(first)) => self.retract_blocks(BlockId::new(first)),
                Some(Brought::Message(entry)) => self.remove_if_empty(EntryId::new(entry)),
                Some(Brought::Entry(entry)) if self.is_user(EntryId::new(entry)) => {
                    self.remove_entry(EntryId::new(entry));
                }
                _ => {}
            }
        }
    }

    /// Takes back the blocks of a line, of which `first` is the first.
    fn retract_blocks(&mut self, first: BlockId) {
        let Some(entry) = self.blocks.get(first.at()).map(|block| block.entry) else {
            return;
        };
        let its = |id: &BlockId| self.blocks.at(id.at()).line == Some(first);
        let its = self.live_blocks(entry).filter(its).collect();
        self.remove_blocks(its);
        self.remove_if_empty(entry);
    }

    fn remove_if_empty(&mut self, entry: EntryId) {
        if self.live_count(entry) == 0 {
            self.remove_entry(entry);
        }
    }

    fn is_user(&self, entry: EntryId) -> bool {
        let entry = self.entries.get(entry.at());
        entry.is_some_and(|entry| matches!(entry.body, EntryBody::User(_)))
    }

    /// Removes blocks; says whether there were any.
    pub(crate) fn remove_blocks(&mut self, blocks: Vec<BlockId>) -> bool {
        let any = !blocks.is_empty();
        for id in blocks {
            self.remove_block(id);
            if let BlockBody::Call(call) = self.blocks.at(id.at()).body {
                self.remove_call(call);
            }
        }
        any
    }

    /// Removes the drafted blocks of a message for which `is_void` holds; says whether there were
    /// any.
    pub(crate) fn remove_drafted(
        &mut self,
        entry: EntryId,
        is_void: impl Fn(&BlockRecord) -> bool,
    ) -> bool {
        let drafted = self.drafted_blocks(entry);
        let void = drafted
            .filter(|id| is_void(&self.blocks.at(id.at())))
            .collect();
        self.remove_blocks(void)
    }
}
