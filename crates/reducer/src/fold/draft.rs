//! Drafts: messages that stream in before their lines (protocol, section A.8).

use bowline_jsonl::{
    Abandoned, ApiEvent, Block, BlockBody as Said, Delta, Event, Message, RawJson, Str, StreamEvent,
};

use crate::arena::Text;
use crate::ident::Named;
use crate::index::{Key, Kind};
use crate::record::{BlockBody, BlockId, EntryBody, EntryId, MessageRecord, Stage, ThreadId};
use crate::state::MessageState;
use crate::transcript::{Here, Transcript};

/// A message that streams. A thread has one at most.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    thread: ThreadId,
    pub(crate) entry: EntryId,
    /// Its `message.id`.
    id: Box<str>,
    /// The block that grows.
    pub(crate) open: Option<BlockId>,
    /// The input of the tool call that grows, so far.
    input: String,
}

impl Transcript {
    pub(crate) fn stream(&mut self, event: &Event<'_>, stream: &StreamEvent<'_>, here: Here) {
        let thread = self.thread_of(event.parent_tool_use_id);
        if thread == ThreadId::MAIN {
            self.open_turn();
        }
        match &stream.event {
            ApiEvent::BlockDelta { index, delta } => {
                self.delta(thread, stream.api_message_id, *index, *delta, here);
            }
            ApiEvent::BlockStart {
                index,
                block: Some(block),
            } => self.start_block(thread, stream.api_message_id, *index, block, here),
            ApiEvent::BlockStop { index } => self.stop_block(thread, *index),
            ApiEvent::MessageStart(message) => self.start_draft(thread, message, here),
            ApiEvent::MessageStop => self.stop_draft(thread),
            ApiEvent::Error(error) => self.notice_of("stream_event", error.message, here),
            ApiEvent::Unknown { kind } => {
                self.count_unknown(format!("stream_event/{}", kind.unwrap_or_default()));
            }
            _ => {}
        }
        if let Some(abandoned) = &stream.abandoned {
            self.abandon(thread, abandoned);
        }
    }

    fn start_draft(&mut self, thread: ThreadId, message: &Message<'_>, here: Here) {
        let id = message.id.unwrap_or_default();
        self.void_draft_unless(thread, id, Stage::Stopped);
        if self.draft(thread).is_none() {
            self.open_draft(thread, id, message.model, here);
        }
    }

    fn open_draft(
        &mut self,
        thread: ThreadId,
        id: Str<'_>,
        model: Option<Str<'_>>,
        here: Here,
    ) -> usize {
        let entry = self.message_entry(thread, id, model, here);
        self.set_message(entry, MessageState::Streaming);
        self.drafts.push(Draft {
            thread,
            entry,
            id: id.decode().into(),
            open: None,
            input: String::new(),
        });
        self.touch_status();
        self.drafts.len() - 1
    }

    /// The entry of a message; made when it is new, brought back when it had been given up.
    pub(crate) fn message_entry(
        &mut self,
        thread: ThreadId,
        id: Str<'_>,
        model: Option<Str<'_>>,
        here: Here,
    ) -> EntryId {
        let name = id.decode();
        let name = Named::of(&name);
        let key = Key::of_id(Kind::Message, thread.number(), name);
        let found = self.message_named(key, thread, name);
        let model = model.map(|model| self.names.keep(&model.decode()));
        let Some(found) = found else {
            let message_id = self.arena.ident(name);
            let body = EntryBody::Assistant(MessageRecord {
                message_id,
                model: model.unwrap_or_default(),
                ..MessageRecord::default()
            });
            let entry = self.entry(thread, body, here);
            self.index.insert(key, entry.number());
            return entry;
        };
        self.reach_entry(found);
        if self.entries.at(found.at()).is_removed {
            self.entries.at_mut(found.at()).is_removed = false;
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

    fn draft(&self, thread: ThreadId) -> Option<usize> {
        self.drafts.iter().position(|draft| draft.thread == thread)
    }

    /// The draft of a thread. When its beginning was missed, it begins in the middle.
    #[inline]
    fn draft_of(&mut self, thread: ThreadId, id: Option<Str<'_>>, here: Here) -> Option<usize> {
        let Some(at) = self.draft(thread) else {
            return Some(self.open_draft(thread, id?, None, here));
        };
        let known = &*self.drafts[at].id;
        if id.is_none_or(|id| id == *known) {
            return Some(at);
        }
        self.void_draft_unless(thread, id?, Stage::Stopped);
        Some(self.open_draft(thread, id?, None, here))
    }

    fn start_block(
        &mut self,
        thread: ThreadId,
        id: Option<Str<'_>>,
        index: u32,
        block: &Block<'_>,
        here: Here,
    ) {
        let Some(at) = self.draft_of(thread, id, here) else {
            return;
        };
        let entry = self.drafts[at].entry;
        if self.drafted(entry, index).is_some() {
            return;
        }
        let body = self.body_of(thread, entry, block, false);
        let id = self.block(entry, index, body, Stage::Open);
        self.drafts[at].open = Some(id);
        self.drafts[at].input.clear();
    }

    /// The record for a block of the stream.
    pub(crate) fn body_of(
        &mut self,
        thread: ThreadId,
        entry: EntryId,
        block: &Block<'_>,
        is_final: bool,
    ) -> BlockBody {
        match &block.body {
            Said::Text { text } => BlockBody::Text(self.arena.store_of(*text)),
            Said::Thinking { thinking, .. } => BlockBody::Thinking(self.arena.store_of(*thinking)),
            Said::RedactedThinking { .. } => BlockBody::Redacted,
            Said::ToolUse(tool) => BlockBody::Call(self.announce(thread, entry, tool, is_final)),
            _ => BlockBody::Other(self.arena.store_raw(block.raw)),
        }
    }

    /// The block of a draft at this index, until its line comes.
    fn drafted(&self, entry: EntryId, index: u32) -> Option<BlockId> {
        self.drafted_blocks(entry)
            .find(|id| self.blocks.at(id.at()).index == index)
    }

    fn delta(
        &mut self,
        thread: ThreadId,
        id: Option<Str<'_>>,
        index: u32,
        delta: Delta<'_>,
        here: Here,
    ) {
        let Some(at) = self.draft_of(thread, id, here) else {
            return;
        };
        let open = self.drafts[at].open;
        let known = open.filter(|open| self.blocks.at(open.at()).index == index);
        let block = known.or_else(|| self.missed_block(at, index, delta));
        let Some(block) = block.filter(|id| self.blocks.at(id.at()).stage != Stage::Final) else {
            return;
        };
        match delta {
            Delta::Text(text) | Delta::Thinking(text) => self.grow(block, text),
            Delta::InputJson(piece) => piece.decode_into(&mut self.drafts[at].input),
            _ => {}
        }
    }

    /// The block that a delta belongs to when its start was missed.
    fn missed_block(&mut self, at: usize, index: u32, delta: Delta<'_>) -> Option<BlockId> {
        let entry = self.drafts[at].entry;
        let is_it = |id: &BlockId| self.blocks.at(id.at()).index == index;
        let known = self.live_blocks(entry).find(is_it);
        let block = match (known, delta) {
            (Some(block), _) => block,
            (None, Delta::Text(_)) => {
                self.block(entry, index, BlockBody::Text(Text::default()), Stage::Open)
            }
            (None, Delta::Thinking(_)) => self.block(
                entry,
                index,
                BlockBody::Thinking(Text::default()),
                Stage::Open,
            ),
            _ => return None,
        };
        self.drafts[at].open = Some(block);
        self.drafts[at].input.clear();
        Some(block)
    }

    fn grow(&mut self, id: BlockId, more: Str<'_>) {
        let block = self.blocks.at_mut(id.at());
        let Some(text) = block.body.text_mut() else {
            return;
        };
        let before = self.arena.len(*text);
        let from = self.arena.append_of(text, more, &mut block.high);
        self.touch_text(id, from, before);
    }

    fn stop_block(&mut self, thread: ThreadId, index: u32) {
        let Some(at) = self.draft(thread) else { return };
        let draft = &mut self.drafts[at];
        let open = draft.open.take();
        let input = std::mem::take(&mut draft.input);
        let Some(block) = self.drafted(self.drafts[at].entry, index) else {
            return;
        };
        self.blocks.at_mut(block.at()).stage = Stage::Stopped;
        if let BlockBody::Call(call) = self.blocks.at(block.at()).body
            && open == Some(block)
        {
            // The API sends no piece at all for a tool without arguments.
            let text = if input.is_empty() { "{}" } else { &input };
            if let Some(input) = RawJson::parse(text) {
                self.set_input(call, input);
            }
        }
    }

    fn stop_draft(&mut self, thread: ThreadId) {
        let Some(at) = self.draft(thread) else { return };
        let entry = self.drafts.swap_remove(at).entry;
        self.remove_drafted(entry, |block| {
            matches!(block.body,
                BlockBody::Text(text) | BlockBody::Thinking(text) if text.is_empty())
        });
        self.finish_message(entry);
    }

    /// Ends a message that streamed; one without blocks said nothing.
    pub(crate) fn finish_message(&mut self, entry: EntryId) {
        if self.live_count(entry) == 0 {
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

    /// Blocks from an index on that will never be finished.
    fn abandon(&mut self, thread: ThreadId, abandoned: &Abandoned<'_>) {
        let id = abandoned.api_message_id.unwrap_or_default().decode();
        let id = Named::of(&id);
        let key = Key::of_id(Kind::Message, thread.number(), id);
        let Some(entry) = self.message_named(key, thread, id) else {
            return;
        };
        let from = abandoned.from_block_index.unwrap_or(0);
        self.remove_drafted(entry, |block| block.index >= from);
        if self.live_count(entry) == 0 {
            self.remove_entry(entry);
        }
    }

    /// Gives up the draft of a thread, unless it is of the message `id`: another message is there
    /// in its stead. Blocks stay that came as far as `kept`.
    pub(crate) fn void_draft_unless(&mut self, thread: ThreadId, id: Str<'_>, kept: Stage) {
        let Some(at) = self.draft(thread) else { return };
        if id != *self.drafts[at].id {
            let entry = self.drafts.swap_remove(at).entry;
            self.void(entry, kept);
        }
    }

    /// Gives up every draft: the call that streamed it failed.
    pub(crate) fn void_drafts(&mut self) {
        for draft in std::mem::take(&mut self.drafts) {
            self.void(draft.entry, Stage::Final);
        }
    }

    /// Closes the drafts of some threads as they are: nothing more will come.
    pub(crate) fn close_drafts(&mut self, is_over: impl Fn(ThreadId) -> bool) {
        while let Some(at) = self.drafts.iter().position(|draft| is_over(draft.thread)) {
            let entry = self.drafts.remove(at).entry;
            self.set_message(entry, MessageState::Aborted);
            self.finish_message(entry);
        }
    }

    fn void(&mut self, entry: EntryId, kept: Stage) {
        let cut = self.remove_drafted(entry, |block| {
            kept == Stage::Final || block.stage == Stage::Open
        });
        if cut {
            self.set_message(entry, MessageState::Aborted);
        }
        self.finish_message(entry);
    }
}
