//! Drafts: messages that stream before their lines (`crates/jsonl/PROTOCOL.md`, Stream events).

use bowline_jsonl::{
    Abandoned, ApiEvent, Block, BlockBody as ParsedBody, Delta, Event, Message, RawJson, Str,
    StreamEvent,
};

use crate::arena::Text;
use crate::dialect_name::DialectName;
use crate::index::{IndexKey, IndexKind};
use crate::record::{BlockBody, BlockId, BlockRecord, BlockStage, Draft, EntryId, ThreadId};
use crate::transcript::{LineContext, Transcript};

impl Transcript {
    pub(crate) fn stream(
        &mut self,
        event: &Event<'_>,
        stream: &StreamEvent<'_>,
        context: LineContext,
    ) {
        let thread = self.thread_of(event.parent_tool_use_id);
        if thread == ThreadId::MAIN {
            self.open_turn();
        }
        match &stream.event {
            ApiEvent::BlockDelta { index, delta } => {
                self.delta(thread, stream.api_message_id, *index, *delta, context);
            }
            ApiEvent::BlockStart {
                index,
                block: Some(block),
            } => self.start_block(thread, stream.api_message_id, *index, block, context),
            ApiEvent::BlockStop { index } => self.stop_block(thread, *index),
            ApiEvent::MessageStart(message) => self.start_draft(thread, message, context),
            ApiEvent::MessageStop => self.stop_draft(thread),
            ApiEvent::Error(error) => self.notice_of("stream_event", error.message, context),
            ApiEvent::Unknown { kind: Some(kind) } if self.is_goal_of_qwen(*kind) => {}
            ApiEvent::Unknown { kind } => {
                self.count_unknown(format!("stream_event/{}", kind.unwrap_or_default()));
            }
            _ => {}
        }
        if let Some(abandoned) = &stream.abandoned {
            self.abandon(thread, abandoned);
        }
    }

    /// Qwen Code reports its goal among the events of the API.
    fn is_goal_of_qwen(&self, kind: Str<'_>) -> bool {
        self.dialect_name == DialectName::Qwen && kind == "goal_state"
    }

    fn start_draft(&mut self, thread: ThreadId, message: &Message<'_>, context: LineContext) {
        let id = message.id.unwrap_or_default();
        if self.is_finished(thread, id) {
            return;
        }
        self.discard_draft_unless(thread, id, BlockStage::Stopped);
        if !self.drafts.contains_key(&thread) {
            self.open_draft(thread, id, message.model, context);
        }
    }

    /// Finds the draft of an event; opens one if its beginning was missed.
    fn draft_of(
        &mut self,
        thread: ThreadId,
        id: Option<Str<'_>>,
        context: LineContext,
    ) -> Option<&mut Draft> {
        let known = self.drafts.get(&thread);
        if !known.is_some_and(|draft| draft.is_of(id)) {
            let id = id?;
            if self.is_finished(thread, id) {
                return None;
            }
            self.discard_draft_unless(thread, id, BlockStage::Stopped);
            self.open_draft(thread, id, None, context);
        }
        self.drafts.get_mut(&thread)
    }

    /// Whether the stream of a message has ended, so that a further event of it is a repeated one.
    fn is_finished(&mut self, thread: ThreadId, id: Str<'_>) -> bool {
        let id = id.decode();
        let key = IndexKey::new(IndexKind::Message, thread.number(), &id);
        let Some(entry) = self.find_message(key, thread, &id) else {
            return false;
        };
        self.depend_on_entry(entry);
        let message = self.message(entry);
        message.is_some_and(|it| it.is_finished) && !self.entries[entry].is_removed
    }

    fn start_block(
        &mut self,
        thread: ThreadId,
        id: Option<Str<'_>>,
        index: u32,
        block: &Block<'_>,
        context: LineContext,
    ) {
        let Some(draft) = self.draft_of(thread, id, context) else {
            return;
        };
        let entry = draft.entry;
        let known = self.draft_block(thread, index);
        if known.is_some_and(|id| self.is_drafted(id)) {
            return;
        }
        let body = self.body_of(thread, block, false);
        self.begin_block(thread, entry, index, body);
    }

    fn is_drafted(&self, id: BlockId) -> bool {
        self.blocks.get(id).is_some_and(BlockRecord::is_drafted)
    }

    /// Creates the body of a block of the stream.
    pub(crate) fn body_of(
        &mut self,
        thread: ThreadId,
        block: &Block<'_>,
        is_final: bool,
    ) -> BlockBody {
        match &block.body {
            ParsedBody::Text { text } => BlockBody::Text(self.arena.store_of(*text)),
            ParsedBody::Thinking { thinking, .. } => {
                BlockBody::Thinking(self.arena.store_of(*thinking))
            }
            ParsedBody::RedactedThinking { .. } => BlockBody::Redacted,
            ParsedBody::ToolUse(tool) => BlockBody::Call(self.announce(thread, tool, is_final)),
            _ => BlockBody::Other(self.arena.store_raw(block.raw)),
        }
    }

    fn delta(
        &mut self,
        thread: ThreadId,
        id: Option<Str<'_>>,
        index: u32,
        delta: Delta<'_>,
        context: LineContext,
    ) {
        let known = self.drafts.get(&thread).filter(|draft| draft.is_of(id));
        let (entry, open) = match known {
            Some(draft) => (draft.entry, draft.open),
            None => match self.draft_of(thread, id, context) {
                Some(draft) => (draft.entry, draft.open),
                None => return,
            },
        };
        let is_growing = |it: &BlockRecord| it.stage != BlockStage::Final;
        let known = open.map(|id| (id, &self.blocks[id]));
        let block = match known.filter(|(_, it)| it.index == index) {
            Some((id, it)) => Some(id).filter(|_| is_growing(it)),
            None => {
                let missed = self.missed_block(thread, entry, index, delta);
                missed.filter(|id| is_growing(&self.blocks[id]))
            }
        };
        let Some(block) = block else { return };
        match delta {
            Delta::Text(text) | Delta::Thinking(text) => self.grow(block, text),
            Delta::InputJson(piece) => {
                if let Some(draft) = self.drafts.get_mut(&thread) {
                    piece.decode_into(&mut draft.input);
                }
            }
            _ => {}
        }
    }

    /// Finds or adds the block of a delta whose `content_block_start` was missed.
    fn missed_block(
        &mut self,
        thread: ThreadId,
        entry: EntryId,
        index: u32,
        delta: Delta<'_>,
    ) -> Option<BlockId> {
        if let Some(known) = self.draft_block(thread, index) {
            self.drafts.get_mut(&thread)?.grow(known);
            return Some(known);
        }
        let body = match delta {
            Delta::Text(_) => BlockBody::Text(Text::default()),
            Delta::Thinking(_) => BlockBody::Thinking(Text::default()),
            _ => return None,
        };
        Some(self.begin_block(thread, entry, index, body))
    }

    fn stop_block(&mut self, thread: ThreadId, index: u32) {
        let Some(draft) = self.drafts.get_mut(&thread) else {
            return;
        };
        let open = draft.open.take();
        let input = std::mem::take(&mut draft.input);
        let block = self.draft_block(thread, index);
        let Some(block) = block.filter(|&id| self.is_drafted(id)) else {
            return;
        };
        self.blocks[block].stage = BlockStage::Stopped;
        self.drafted.stop(self.blocks[block].entry, block);
        if let BlockBody::Call(call) = self.blocks[block].body
            && open == Some(block)
        {
            // The API sends no delta for a tool without arguments.
            let text = if input.is_empty() { "{}" } else { &input };
            if let Some(input) = RawJson::parse(text) {
                self.set_input(call, input);
            }
        }
    }

    fn stop_draft(&mut self, thread: ThreadId) {
        let Some(entry) = self.take_draft(thread) else {
            return;
        };
        let is_empty = |id: &BlockId| {
            matches!(self.blocks[id].body,
                BlockBody::Text(text) | BlockBody::Thinking(text) if text.is_empty())
        };
        let empty = self.draft_blocks_of(entry).filter(is_empty).collect();
        self.remove_blocks(empty);
        if let Some(message) = self.message_mut(entry) {
            message.is_finished = true;
        }
        self.finish_message(entry);
    }

    /// Removes blocks that will not be finished, from an index on.
    fn abandon(&mut self, thread: ThreadId, abandoned: &Abandoned<'_>) {
        let id = abandoned.api_message_id.unwrap_or_default().decode();
        let key = IndexKey::new(IndexKind::Message, thread.number(), &id);
        let Some(entry) = self.find_message(key, thread, &id) else {
            return;
        };
        let from = abandoned.from_block_index.unwrap_or(0);
        let abandoned = self.drafted.starting_at(entry, from).collect();
        self.remove_blocks(abandoned);
        if self.live_block_count(entry) == 0 {
            self.remove_entry(entry);
        }
    }
}
