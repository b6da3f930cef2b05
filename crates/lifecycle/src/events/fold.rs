//! Events from the changes of a transcript, for agents whose lines have none of their own.

use std::collections::{BTreeMap, BTreeSet};

use bowline_reducer::{
    Block, BlockId, BlockKind, CallId, Change, Cursor, Entry, EntryId, EntryKind, MessageState,
    ToolCall, Transcript,
};

use super::DialogueEventKind;

/// What of the transcript was announced by events. Each block and each call is announced once.
#[derive(Debug, Default)]
pub(crate) struct FoldEvents {
    /// Where the changes continue; `None` while there are no subscribers.
    cursor: Option<Cursor>,
    last_block: Option<BlockId>,
    last_call: Option<CallId>,
    /// Blocks of text that are being written, by their message.
    blocks: BTreeMap<EntryId, BTreeSet<BlockId>>,
    /// Calls without a result, and whether they were announced.
    calls: BTreeMap<CallId, bool>,
}

/// An event, and the call or the name of the thread that it belongs to.
pub(crate) type FoldEvent = (Option<String>, DialogueEventKind);

/// A change that leads to an event.
enum Seen {
    Block(EntryId, BlockId),
    Append(BlockId, String),
    Entry(EntryId),
    Call(CallId),
}

impl FoldEvents {
    /// Begins with the next change, unless it has begun.
    pub(crate) fn begin(&mut self, transcript: &mut Transcript) {
        if self.cursor.is_none() {
            transcript.seal();
            self.cursor = Some(Cursor::at(transcript.revision()));
        }
    }

    /// Forgets all, since there is no subscriber.
    pub(crate) fn stop(&mut self) {
        if self.cursor.is_some() {
            *self = Self::default();
        }
    }

    /// Returns the events of what has changed.
    pub(crate) fn read(&mut self, transcript: &mut Transcript) -> Vec<FoldEvent> {
        let Some(cursor) = self.cursor else {
            return Vec::new();
        };
        let changes = transcript.changes_since(cursor);
        self.cursor = Some(changes.cursor());
        let mut touched = BTreeSet::new();
        let seen: Vec<_> = if changes.is_reset() {
            touched.extend(self.blocks.keys());
            Vec::new()
        } else {
            changes.iter().filter_map(|it| Seen::of(&it)).collect()
        };
        let mut events = Vec::new();
        for change in &seen {
            match change {
                Seen::Block(entry, block) => {
                    touched.insert(*entry);
                    self.block(*block, transcript, &mut events);
                }
                Seen::Append(block, text) => self.append(*block, text, transcript, &mut events),
                Seen::Entry(entry) => drop(touched.insert(*entry)),
                Seen::Call(_) => {}
            }
        }
        for entry in touched {
            self.complete_blocks(entry, transcript, &mut events);
        }
        for change in seen {
            if let Seen::Call(call) = change {
                self.call(call, transcript, &mut events);
            }
        }
        events
    }

    fn block(&mut self, id: BlockId, transcript: &Transcript, events: &mut Vec<FoldEvent>) {
        let Some(block) = transcript.block_by_id(id) else {
            return;
        };
        let entry = block.entry();
        if self.last_block >= Some(id) || entry.is_history() {
            return;
        }
        self.last_block = Some(id);
        let (text, is_thinking) = match block.kind() {
            BlockKind::Text { text } => (text, false),
            BlockKind::Thinking { text } => (text, true),
            _ => return,
        };
        self.blocks.entry(entry.id()).or_default().insert(id);
        let text = text.to_cow().into_owned();
        if !text.is_empty() && !is_complete(block) {
            events.push((
                thread_of(entry),
                DialogueEventKind::Delta { text, is_thinking },
            ));
        }
    }

    fn append(
        &self,
        id: BlockId,
        text: &str,
        transcript: &Transcript,
        events: &mut Vec<FoldEvent>,
    ) {
        let Some(block) = transcript.block_by_id(id) else {
            return;
        };
        let entry = block.entry();
        let open = self.blocks.get(&entry.id());
        if open.is_none_or(|open| !open.contains(&id)) {
            return;
        }
        let is_thinking = matches!(block.kind(), BlockKind::Thinking { .. });
        let text = text.to_owned();
        events.push((
            thread_of(entry),
            DialogueEventKind::Delta { text, is_thinking },
        ));
    }

    /// Announces the blocks of a message to which nothing is added any more.
    fn complete_blocks(
        &mut self,
        entry: EntryId,
        transcript: &Transcript,
        events: &mut Vec<FoldEvent>,
    ) {
        let Some(open) = self.blocks.get_mut(&entry) else {
            return;
        };
        open.retain(|id| {
            let Some(block) = transcript.block_by_id(*id) else {
                return false;
            };
            if !is_complete(block) {
                return true;
            }
            let kind = match block.kind() {
                BlockKind::Thinking { text } => DialogueEventKind::Thinking {
                    text: text.to_cow().into_owned(),
                },
                BlockKind::Text { text } => DialogueEventKind::Text {
                    text: text.to_cow().into_owned(),
                },
                _ => return false,
            };
            events.push((thread_of(block.entry()), kind));
            false
        });
        if open.is_empty() {
            self.blocks.remove(&entry);
        }
    }

    fn call(&mut self, id: CallId, transcript: &Transcript, events: &mut Vec<FoldEvent>) {
        let Some(call) = transcript.tool_call_by_id(id) else {
            return;
        };
        if self.last_call < Some(id) {
            self.last_call = Some(id);
            if !call.entry().is_some_and(Entry::is_history) {
                self.calls.insert(id, false);
            }
        }
        let Some(is_announced) = self.calls.get_mut(&id) else {
            return;
        };
        let thread = call.thread().call().map(|it| it.id().to_owned());
        let thread = thread.or_else(|| call.thread().name().map(str::to_owned));
        let is_over = !call.state().is_open();
        if !*is_announced && (call.input().is_some() || is_over) {
            *is_announced = true;
            events.push((thread.clone(), tool_use(call)));
        }
        if is_over {
            self.calls.remove(&id);
            events.push((thread, tool_result(call)));
        }
    }
}

impl Seen {
    fn of(change: &Change<'_>) -> Option<Self> {
        Some(match change {
            Change::Block { block, entry, .. } => Self::Block(*entry, *block),
            Change::Entry { entry, .. } | Change::EntryRemoved { entry } => Self::Entry(*entry),
            Change::Append { block, text, .. } => Self::Append(*block, text.to_cow().into_owned()),
            Change::ToolCall { call, .. } => Self::Call(*call),
            _ => return None,
        })
    }
}

/// Returns whether nothing is added to a block any more: its message is complete, or has a later block.
fn is_complete(block: Block<'_>) -> bool {
    match block.entry().kind() {
        EntryKind::Assistant {
            state: MessageState::Streaming,
            ..
        } => !block.is_last(),
        _ => true,
    }
}

fn thread_of(entry: Entry<'_>) -> Option<String> {
    let call = entry.thread().call().map(|it| it.id());
    call.or_else(|| entry.thread().name()).map(str::to_owned)
}

fn tool_use(call: ToolCall<'_>) -> DialogueEventKind {
    DialogueEventKind::ToolUse {
        id: call.id().to_owned(),
        name: call.name().to_owned(),
        input: call
            .input()
            .map_or_else(|| "{}".to_owned(), |input| input.text().into_owned()),
    }
}

fn tool_result(call: ToolCall<'_>) -> DialogueEventKind {
    let result = call.result();
    DialogueEventKind::ToolResult {
        id: call.id().to_owned(),
        is_error: result.is_none_or(|it| it.is_error()),
        text: result.map_or_else(String::new, |it| it.text().to_cow().into_owned()),
    }
}
