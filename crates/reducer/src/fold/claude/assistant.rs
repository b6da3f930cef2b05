//! `assistant` lines: finished blocks, several lines to a message (`crates/jsonl/PROTOCOL.md`,
//! Assistant lines).

use bowline_jsonl::{
    Assistant, Block, BlockBody as ParsedBody, Event, Message, MessageContent, RawJson, Str,
};

use crate::dialect_name::DialectName;
use crate::record::{BlockBody, BlockId, BlockStage, EntryBody, EntryId, MessageRecord, ThreadId};
use crate::state::MessageState;
use crate::transcript::{LineContext, Transcript};
use crate::uuids::{LineEffect, Uuid};

/// Most drafts without a line that a line is compared with.
const MAX_WAITING: usize = 64;

impl Transcript {
    pub(crate) fn assistant(
        &mut self,
        event: &Event<'_>,
        line: &Assistant<'_>,
        context: LineContext,
    ) {
        let thread = self.thread_of(event.parent_tool_use_id);
        self.note_agent(thread, line.agent_id, line.subagent_type);
        if thread == ThreadId::MAIN {
            self.open_turn();
        }
        self.threads[thread].rejected.clear();
        self.retract(line.supersedes);
        let message = &line.message;
        let id = message.id.or(event.uuid).unwrap_or_default();
        let entry = match self.draft_of_qwen(thread, message) {
            Some(entry) => entry,
            None => {
                // Another message while a draft is open: the agent fell back to a call that does not
                // stream, or reports that the call failed.
                self.discard_draft_unless(thread, id, BlockStage::Final);
                self.message_entry(thread, id, message.model, context)
            }
        };
        match thread {
            ThreadId::MAIN => self.note_context(message),
            agent => self.count_tokens(agent, entry, message),
        }
        let (mut first, mut last) = (None, None);
        for block in message.blocks() {
            let id = self.place(thread, entry, block);
            first.get_or_insert(id);
            if let Some(last) = last.replace(id) {
                self.blocks[last].next_of_line = Some(id);
            }
        }
        if let MessageContent::Text(text) = message.content {
            first = Some(self.place_text(entry, text, BlockBody::Text));
        }
        if line.aborted {
            self.set_message(entry, MessageState::Aborted);
        }
        if let Some(uuid) = Uuid::of(event.uuid) {
            let effect = match first {
                Some(first) => LineEffect::Blocks(first.number()),
                None => LineEffect::Message(entry.number()),
            };
            self.uuids.record(uuid, effect);
        }
    }

    /// Returns the message that streams if the line has one of its drafts, under another id: Qwen Code
    /// finishes each block of a message as a message of its own.
    fn draft_of_qwen(&self, thread: ThreadId, message: &Message<'_>) -> Option<EntryId> {
        if self.dialect_name != DialectName::Qwen {
            return None;
        }
        let entry = self.drafts.get(&thread)?.entry;
        let blocks = message.blocks();
        let block = blocks.first()?;
        let is_same = |id: BlockId| match (&block.body, self.blocks[id].body) {
            (ParsedBody::Text { text }, BlockBody::Text(draft)) => {
                self.arena.text(draft) == *text.decode()
            }
            (ParsedBody::Thinking { thinking, .. }, BlockBody::Thinking(draft)) => {
                self.arena.text(draft) == *thinking.decode()
            }
            (ParsedBody::ToolUse(tool), BlockBody::Call(draft)) => {
                tool.id == *self.arena.str(self.calls[draft].id)
            }
            _ => false,
        };
        self.draft_blocks_of(entry).any(is_same).then_some(entry)
    }

    /// Takes the used part of the context from a message of the model. It is what was sent and
    /// received; a usage of zeros carries no information.
    fn note_context(&mut self, message: &Message<'_>) {
        let Some(usage) = &message.usage else { return };
        let tokens = [
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
            usage.output_tokens,
        ];
        let used = tokens.into_iter().flatten().sum();
        if used > 0 && self.session.neutral.context_used != Some(used) {
            self.set_neutral(|it| &mut it.context_used, Some(used));
        }
    }

    /// Adds the tokens of a model call to those of its sub-agent, once: each line of a message repeats them. The agent
    /// reports the output as it is when the call begins.
    fn count_tokens(&mut self, thread: ThreadId, entry: EntryId, message: &Message<'_>) {
        let Some(usage) = &message.usage else { return };
        let tokens = [
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
        ];
        let tokens = tokens.map(Option::unwrap_or_default);
        let is_new = |it: &mut MessageRecord| !std::mem::replace(&mut it.is_counted, true);
        if tokens == [0; 4] || !self.message_mut(entry).is_some_and(is_new) {
            return;
        }
        let used = self.thread_detail(thread).usage.get_or_insert_default();
        *used = std::array::from_fn(|at| used[at].saturating_add(tokens[at]));
        self.touch_thread(thread);
    }

    /// Adds a finished block: in place of its draft, or after the last block.
    fn place(&mut self, thread: ThreadId, entry: EntryId, block: &Block<'_>) -> BlockId {
        match &block.body {
            ParsedBody::Text { text } => self.place_text(entry, *text, BlockBody::Text),
            ParsedBody::Thinking { thinking, .. } => {
                self.place_text(entry, *thinking, BlockBody::Thinking)
            }
            _ => {
                let body = self.body_of(thread, block, true);
                self.place_body(entry, body)
            }
        }
    }

    fn place_text(
        &mut self,
        entry: EntryId,
        text: Str<'_>,
        make: fn(crate::arena::Text) -> BlockBody,
    ) -> BlockId {
        let like = make(crate::arena::Text::default());
        let Some(id) = self.matching_draft(entry, like, text) else {
            let body = make(self.arena.store_of(text));
            return self.append_final(entry, body);
        };
        self.finalize(id);
        let block = &mut self.blocks[id];
        block.high_surrogate = 0;
        if let Some(old) = block.body.text_mut() {
            let before = self.arena.len(*old);
            let kept = self.arena.replace(old, text);
            if kept < before || kept < self.arena.len(*old) {
                self.touch_text(id, kept, before);
            }
        }
        id
    }

    fn place_body(&mut self, entry: EntryId, body: BlockBody) -> BlockId {
        let Some(id) = self.matching_draft(entry, body, Str::default()) else {
            return self.append_final(entry, body);
        };
        self.finalize(id);
        let block = &mut self.blocks[id];
        if block.body != body {
            block.body = body;
            block.line_end = self.line.line_end();
            self.note_call_of(id);
            self.touch_block(id);
        }
        id
    }

    fn append_final(&mut self, entry: EntryId, body: BlockBody) -> BlockId {
        let index = self.live_block_count(entry);
        self.block(entry, index, body, BlockStage::Final)
    }

    /// Finds the draft of a finished block: the first that has the same text, else the open one, else
    /// the first. Lines come in the order of their drafts, and a line often before its draft stops.
    fn matching_draft(&self, entry: EntryId, like: BlockBody, text: Str<'_>) -> Option<BlockId> {
        let waits =
            |id: &BlockId| self.blocks[id].is_drafted() && self.blocks[id].body.is_like(like);
        let draft = self.drafts.get(&self.entries[entry].thread);
        let open = draft.filter(|draft| draft.entry == entry);
        let open = open.and_then(|draft| draft.open).filter(waits);
        let waiting = || {
            let first = self.draft_blocks_of(entry).take(MAX_WAITING);
            first.filter(waits)
        };
        let first = waiting().next().or(open)?;
        if open == Some(first) {
            return open;
        }
        let text = text.decode();
        let has_text = |id: &BlockId| match self.blocks[id].body {
            BlockBody::Text(old) | BlockBody::Thinking(old) => self.arena.text(old) == *text,
            _ => false,
        };
        waiting().find(has_text).or(open).or(Some(first))
    }

    /// Retracts what the lines with these uuids added.
    pub(crate) fn retract(&mut self, uuids: Option<RawJson<'_>>) {
        let uuids = uuids.into_iter().flat_map(RawJson::elements);
        for uuid in uuids.filter_map(RawJson::as_str) {
            match self.uuids.effect(Uuid::new(&uuid.decode())) {
                Some(LineEffect::Blocks(first)) => self.retract_blocks(BlockId::new(first)),
                Some(LineEffect::Message(entry)) => self.remove_if_empty(EntryId::new(entry)),
                Some(LineEffect::Entry(entry)) if self.is_user(EntryId::new(entry)) => {
                    self.remove_entry(EntryId::new(entry));
                }
                _ => {}
            }
        }
    }

    /// Removes the blocks of the line whose first block is `first`.
    fn retract_blocks(&mut self, first: BlockId) {
        let Some(entry) = self.blocks.get(first).map(|block| block.entry) else {
            return;
        };
        let next = |id: &BlockId| self.blocks.get(id)?.next_of_line;
        let is_live = |id: &BlockId| self.blocks.get(id).is_some_and(|block| !block.is_removed());
        let its = std::iter::successors(Some(first), next).filter(is_live);
        let its = its.collect();
        self.remove_blocks(its);
        self.remove_if_empty(entry);
    }

    fn remove_if_empty(&mut self, entry: EntryId) {
        if self.live_block_count(entry) == 0 {
            self.remove_entry(entry);
        }
    }

    fn is_user(&self, entry: EntryId) -> bool {
        let entry = self.entries.get(entry);
        entry.is_some_and(|entry| matches!(entry.body, EntryBody::User(_)))
    }
}
