//! Coalesced changes for readers.

mod parts;

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use serde::Serialize;

use crate::arena::TextRef;
use crate::json::{BlockDetail, CallSummary, EntryDetail};
use crate::log::{ChangedItem, Cursor, LogRecord};
use crate::record::{BlockBody, BlockId, CallId, CallPresence, EntryId, PermissionId, TaskId};
use crate::snapshot::Snapshot;
use crate::transcript::Transcript;
use crate::view::{
    Block, BlockKind, Entry, EntryKind, Permission, Session, Stats, Status, Task, ToolCall, Usage,
};
pub use parts::ChangeParts;

/// The changes between a cursor and the current state.
///
/// Each change has the current value and not its history, so that a thousand deltas of one block
/// are one change. The crate documentation has an example.
#[derive(Debug)]
pub struct Changes<'a> {
    transcript: &'a Transcript,
    cursor: Cursor,
    is_reset: bool,
    records: Vec<LogRecord>,
    /// The revision before each record; none of a reset.
    revisions: Vec<u64>,
}

/// One change. Its JSON is an object with the name of the variant under `change`.
///
/// See [`Changes::iter`] and [`Mirror`](crate::Mirror).
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change<'a> {
    /// Discard everything: the whole transcript follows.
    Reset,
    /// The session's conversation, model or mode changed.
    Session {
        /// Current value.
        session: Session<'a>,
    },
    /// The session's activity changed.
    Status {
        /// Current value.
        status: Status<'a>,
    },
    /// An entry is new or changed. Its blocks are separate changes.
    Entry {
        /// Id of the entry; entries are ordered by id.
        entry: EntryId,
        /// `tool_use` id of the call that holds its thread, or the name of a thread that no call
        /// holds; `None` on the main thread.
        thread: Option<&'a str>,
        /// Its content without blocks.
        value: EntryKind<'a>,
        /// The rest of it.
        #[serde(flatten)]
        detail: EntryDetail,
    },
    /// An entry was retracted.
    EntryRemoved {
        /// Id of the entry.
        entry: EntryId,
    },
    /// A block is new, or changed as a whole.
    Block {
        /// Id of the block; the blocks of an entry are ordered by id.
        block: BlockId,
        /// Its entry.
        entry: EntryId,
        /// Its content.
        value: BlockKind<'a>,
        /// The rest of it.
        #[serde(flatten)]
        detail: BlockDetail,
    },
    /// The text of a block changed: keep its first `from` bytes and append `text`.
    Append {
        /// Id of the block.
        block: BlockId,
        /// Bytes to keep; all of them unless the agent corrected itself.
        from: u32,
        /// The text after those bytes.
        text: TextRef<'a>,
        /// The new end of the block's byte range in the stream.
        end: u64,
    },
    /// A block was retracted.
    BlockRemoved {
        /// Id of the block.
        block: BlockId,
    },
    /// A tool call is new or changed. The entries of its sub-agent are separate changes.
    ToolCall {
        /// Id of the call; the calls of a thread are ordered by id.
        call: CallId,
        /// `tool_use` id of the call that holds its thread, or the name of a thread that no call
        /// holds; `None` on the main thread. It changes if a sub-agent was seen before the call that
        /// started it.
        thread: Option<&'a str>,
        /// Current value.
        #[serde(serialize_with = "call_head")]
        value: ToolCall<'a>,
    },
    /// A tool call was retracted.
    ToolCallRemoved {
        /// Id of the call.
        call: CallId,
    },
    /// A task is new or changed.
    Task {
        /// Its `task_id`.
        task: &'a str,
        /// Current value.
        value: Task<'a>,
    },
    /// A permission request is new or changed.
    Permission {
        /// Its position in the list.
        permission: PermissionId,
        /// Current value.
        value: Permission<'a>,
    },
    /// The usage changed.
    Usage {
        /// Current value.
        usage: Usage<'a>,
    },
    /// The statistics changed.
    Stats {
        /// Current value.
        stats: Stats<'a>,
    },
}

fn call_head<S: serde::Serializer>(call: &ToolCall<'_>, out: S) -> Result<S::Ok, S::Error> {
    CallSummary(*call).serialize(out)
}

impl Transcript {
    /// Returns what changed since `cursor`, ordered by the first change of each record.
    ///
    /// Costs as much as what changed, whatever the length of the transcript. A cursor that is too
    /// old, or not of this transcript, gets a reset and the whole transcript.
    pub fn changes_since(&mut self, cursor: Cursor) -> Changes<'_> {
        self.changes_up_to(cursor, usize::MAX)
    }

    /// Like [`changes_since`](Self::changes_since), but reads at most `max_count` logged changes
    /// (at least one). A reset is not split.
    pub fn changes_up_to(&mut self, cursor: Cursor, max_count: usize) -> Changes<'_> {
        let records: Option<Vec<LogRecord>> = self
            .log
            .read(cursor)
            .map(|records| first(records, max_count.max(1)));
        let is_reset = records.is_none();
        let end = match &records {
            Some(records) => Cursor::from_number(cursor.revision().number() + records.len() as u64),
            None => Cursor::at(self.log.revision()),
        };
        let (records, revisions) = match records {
            Some(records) => coalesce(records, cursor.revision().number()),
            None => (self.everything(), Vec::new()),
        };
        Changes {
            cursor: end,
            transcript: self,
            is_reset,
            records,
            revisions,
        }
    }

    /// Returns the whole transcript as changes, a reset first, to be read in parts.
    pub fn change_parts(&mut self) -> ChangeParts {
        self.snapshot().change_parts()
    }

    /// A change for each record that is present, in the order of the conversation: a call comes before its block,
    /// and before the entries of its sub-agent.
    fn everything(&self) -> Vec<LogRecord> {
        let mut items = vec![ChangedItem::Session, ChangedItem::Status];
        let mut known = HashSet::with_hasher(FixedState::default());
        for at in self.entries.numbers() {
            self.entry_items(EntryId::new(at as u32), &mut known, &mut items);
        }
        let calls = self.calls.numbers().map(|at| CallId::new(at as u32));
        let shown = calls.filter(|&call| self.calls[call].presence != CallPresence::Removed);
        let rest = shown.filter(|&call| known.insert(call));
        items.extend(rest.map(|call| ChangedItem::Call(call.number())));
        let tasks = self.tasks.numbers();
        items.extend(tasks.map(|at| ChangedItem::Task(at as u32)));
        let permissions = self.permissions.numbers();
        items.extend(permissions.map(|at| ChangedItem::Permission(at as u32)));
        items.extend([ChangedItem::Usage, ChangedItem::Stats]);
        let items = items.into_iter();
        items.map(|item| LogRecord { item, from: 0 }).collect()
    }

    /// Adds an entry and its blocks, each after the calls that it depends on and that are not `known`.
    fn entry_items(
        &self,
        id: EntryId,
        known: &mut HashSet<CallId, FixedState>,
        items: &mut Vec<ChangedItem>,
    ) {
        if self.entries[id].is_removed {
            return;
        }
        let first = items.len();
        let mut holder = self.threads[self.entries[id].thread].call;
        while let Some(call) = holder.filter(|&call| known.insert(call)) {
            items.push(ChangedItem::Call(call.number()));
            holder = self.threads[self.calls[call].thread].call;
        }
        items[first..].reverse();
        items.push(ChangedItem::Entry(id.number()));
        for block in self.live_blocks(id) {
            if let BlockBody::Call(call) = self.blocks[block].body
                && known.insert(call)
            {
                items.push(ChangedItem::Call(call.number()));
            }
            items.push(ChangedItem::Block(block.number()));
        }
    }
}

impl Snapshot {
    /// Returns the changes that make the transcript from nothing, a reset first, to be read in parts.
    #[must_use]
    pub fn change_parts(&self) -> ChangeParts {
        let cursor = Cursor::at(self.revision());
        ChangeParts::new(self.clone(), self.everything(), cursor)
    }
}

/// The first records. The current text is sent from its first changed byte, so changes of the same
/// text that are logged later must be included: otherwise a reader would append the new end to an
/// old beginning.
fn first(mut records: impl Iterator<Item = LogRecord>, max_count: usize) -> Vec<LogRecord> {
    let mut first: Vec<LogRecord> = records.by_ref().take(max_count).collect();
    let mut places: HashMap<ChangedItem, usize, FixedState> = HashMap::default();
    for (place, record) in first.iter().enumerate() {
        if matches!(record.item, ChangedItem::Text(_)) {
            places.insert(record.item, place);
        }
    }
    if places.is_empty() {
        return first;
    }
    for later in records {
        if let Some(&place) = places.get(&later.item) {
            first[place].from = first[place].from.min(later.from);
        }
    }
    first
}

/// Keeps each item once, at its first position. A text starts at its lowest changed byte; it is
/// left out if the whole block changed. Also returns the revision before each, of which the first is `from`.
fn coalesce(records: Vec<LogRecord>, from: u64) -> (Vec<LogRecord>, Vec<u64>) {
    let mut places: HashMap<ChangedItem, usize, FixedState> = HashMap::default();
    let mut out: Vec<LogRecord> = Vec::with_capacity(records.len());
    let mut revisions = Vec::with_capacity(records.len());
    for (revision, record) in (from..).zip(records) {
        let whole = match record.item {
            ChangedItem::Text(block) => places.get(&ChangedItem::Block(block)),
            _ => None,
        };
        if whole.is_some() {
            continue;
        }
        match places.get(&record.item) {
            Some(&place) => out[place].from = out[place].from.min(record.from),
            None => {
                places.insert(record.item, out.len());
                out.push(record);
                revisions.push(revision);
            }
        }
    }
    (out, revisions)
}

impl<'a> Changes<'a> {
    /// Returns the cursor for the next read.
    #[must_use]
    pub const fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Returns the cursor for a reader that took only the first `count` changes of [`iter`](Self::iter). What it reads
    /// again after it states what holds. A reader that took a part of a reset begins again.
    #[must_use]
    pub fn cursor_after(&self, count: usize) -> Cursor {
        match self.revisions.get(count) {
            Some(&revision) => Cursor::from_number(revision),
            None if self.is_reset && count <= self.records.len() => Cursor::default(),
            None => self.cursor,
        }
    }

    /// Returns whether the reader must discard its state; [`Change::Reset`] says the same.
    #[must_use]
    pub const fn is_reset(&self) -> bool {
        self.is_reset
    }

    /// Returns whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && !self.is_reset
    }

    /// Returns the transcript that results from the changes.
    #[must_use]
    pub const fn transcript(&self) -> &'a Transcript {
        self.transcript
    }

    /// Returns the changes, to be applied in this order.
    pub fn iter(&self) -> impl Iterator<Item = Change<'a>> + use<'a, '_> {
        let reset = self.is_reset.then_some(Change::Reset);
        let changes = self.records.iter().map(|record| self.change(*record));
        reset.into_iter().chain(changes)
    }

    fn change(&self, record: LogRecord) -> Change<'a> {
        let it = self.transcript;
        match record.item {
            ChangedItem::Session => Change::Session {
                session: it.session(),
            },
            ChangedItem::Status => Change::Status {
                status: it.status(),
            },
            ChangedItem::Usage => Change::Usage { usage: it.usage() },
            ChangedItem::Stats => Change::Stats { stats: it.stats() },
            ChangedItem::Entry(entry) => self.entry(EntryId::new(entry)),
            ChangedItem::Block(block) => self.block(BlockId::new(block)),
            ChangedItem::Text(block) => self.text(BlockId::new(block), record.from),
            ChangedItem::Call(call) => self.call(CallId::new(call)),
            ChangedItem::Task(task) => {
                let value = Task::new(it, TaskId::new(task));
                let task = value.id();
                Change::Task { task, value }
            }
            ChangedItem::Permission(permission) => Change::Permission {
                permission: PermissionId::new(permission),
                value: Permission::new(it, PermissionId::new(permission)),
            },
        }
    }

    fn entry(&self, id: EntryId) -> Change<'a> {
        let it = self.transcript;
        if it.entries[id].is_removed {
            return Change::EntryRemoved { entry: id };
        }
        let view = Entry::new(it, id);
        Change::Entry {
            entry: id,
            thread: view.thread().key(),
            value: view.head(),
            detail: EntryDetail::of(view),
        }
    }

    fn block(&self, id: BlockId) -> Change<'a> {
        let record = &self.transcript.blocks[id];
        if record.is_removed() {
            return Change::BlockRemoved { block: id };
        }
        let view = Block::new(self.transcript, id);
        Change::Block {
            block: id,
            entry: record.entry,
            value: view.kind(),
            detail: BlockDetail::of(view),
        }
    }

    fn text(&self, id: BlockId, from: u32) -> Change<'a> {
        let block = Block::new(self.transcript, id);
        match block.text() {
            Some(text) if !self.transcript.blocks[id].is_removed() => Change::Append {
                block: id,
                from,
                text: text.starting_at(from),
                end: block.bytes().end,
            },
            _ => self.block(id),
        }
    }

    fn call(&self, id: CallId) -> Change<'a> {
        match self.transcript.tool_call_by_id(id) {
            None => Change::ToolCallRemoved { call: id },
            Some(value) => Change::ToolCall {
                call: id,
                thread: value.thread().key(),
                value,
            },
        }
    }
}
