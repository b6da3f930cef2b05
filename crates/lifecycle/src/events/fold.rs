//! Events from the changes of a transcript, for agents whose lines have none of their own.

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
    /// Blocks of text that are being written.
    blocks: Vec<OpenBlock>,
    /// Calls without a result, and whether they were announced.
    calls: Vec<(CallId, bool)>,
}

/// A block of text that is being written.
#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    id: BlockId,
    entry: EntryId,
}

/// An event, and the call or the name of the thread that it belongs to.
pub(crate) type FoldEvent = (Option<String>, DialogueEventKind);

/// A change that leads to an event.
enum Seen {
    Block(OpenBlock),
    Append(BlockId, String),
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
        let seen: Vec<_> = if changes.is_reset() {
            Vec::new()
        } else {
            changes.iter().filter_map(|it| Seen::of(&it)).collect()
        };
        let mut events = Vec::new();
        for change in &seen {
            match change {
                Seen::Block(block) => self.block(*block, transcript, &mut events),
                Seen::Append(block, text) => self.append(*block, text, transcript, &mut events),
                Seen::Call(_) => {}
            }
        }
        self.complete_blocks(transcript, &mut events);
        for change in seen {
            if let Seen::Call(call) = change {
                self.call(call, transcript, &mut events);
            }
        }
        events
    }

    fn block(&mut self, new: OpenBlock, transcript: &Transcript, events: &mut Vec<FoldEvent>) {
        let Some((entry, block)) = new.find(transcript) else {
            return;
        };
        if self.last_block >= Some(new.id) || entry.is_history() {
            return;
        }
        self.last_block = Some(new.id);
        let (text, is_thinking) = match block.kind() {
            BlockKind::Text { text } => (text, false),
            BlockKind::Thinking { text } => (text, true),
            _ => return,
        };
        self.blocks.push(new);
        let text = text.to_cow().into_owned();
        if !text.is_empty() && !is_complete(entry, new.id) {
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
        let open = self.blocks.iter().find(|it| it.id == id);
        let Some((entry, block)) = open.and_then(|it| it.find(transcript)) else {
            return;
        };
        let is_thinking = matches!(block.kind(), BlockKind::Thinking { .. });
        let text = text.to_owned();
        events.push((
            thread_of(entry),
            DialogueEventKind::Delta { text, is_thinking },
        ));
    }

    fn complete_blocks(&mut self, transcript: &Transcript, events: &mut Vec<FoldEvent>) {
        self.blocks.retain(|open| {
            let Some((entry, block)) = open.find(transcript) else {
                return false;
            };
            if !is_complete(entry, open.id) {
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
            events.push((thread_of(entry), kind));
            false
        });
    }

    fn call(&mut self, id: CallId, transcript: &Transcript, events: &mut Vec<FoldEvent>) {
        let Some(call) = transcript.tool_call_by_id(id) else {
            return;
        };
        if self.last_call < Some(id) {
            self.last_call = Some(id);
            if !call.entry().is_some_and(Entry::is_history) {
                self.calls.push((id, false));
            }
        }
        let Some(at) = self.calls.iter().position(|(it, _)| *it == id) else {
            return;
        };
        let thread = call.thread().call().map(|it| it.id().to_owned());
        let thread = thread.or_else(|| call.thread().name().map(str::to_owned));
        let is_over = !call.state().is_open();
        if !self.calls[at].1 && (call.input().is_some() || is_over) {
            self.calls[at].1 = true;
            events.push((thread.clone(), tool_use(call)));
        }
        if is_over {
            self.calls.swap_remove(at);
            events.push((thread, tool_result(call)));
        }
    }
}

impl Seen {
    fn of(change: &Change<'_>) -> Option<Self> {
        Some(match change {
            Change::Block { block, entry, .. } => Self::Block(OpenBlock {
                id: *block,
                entry: *entry,
            }),
            Change::Append { block, text, .. } => Self::Append(*block, text.to_cow().into_owned()),
            Change::ToolCall { call, .. } => Self::Call(*call),
            _ => return None,
        })
    }
}

impl OpenBlock {
    fn find(self, transcript: &Transcript) -> Option<(Entry<'_>, Block<'_>)> {
        let entry = transcript.entry_by_id(self.entry)?;
        let EntryKind::Assistant { blocks, .. } = entry.kind() else {
            return None;
        };
        let block = blocks.iter().find(|it| it.id() == self.id)?;
        Some((entry, block))
    }
}

/// Returns whether nothing is added to a block any more: its message is complete, or has a later block.
fn is_complete(entry: Entry<'_>, block: BlockId) -> bool {
    let EntryKind::Assistant { state, blocks, .. } = entry.kind() else {
        return true;
    };
    state != MessageState::Streaming || blocks.iter().any(|it| it.id() > block)
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
