//! What changed since a reader read last, coalesced.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use serde::Serialize;

use crate::arena::TextRef;
use crate::fold::Status;
use crate::ident::ApiId;
use crate::log::{Cursor, Record, Slot};
use crate::record::{BlockId, CallId, EntryId, PermissionId, Standing, TaskId};
use crate::transcript::Transcript;
use crate::view::{
    Block, BlockKind, CallHead, Entry, EntryKind, Permission, Session, Stats, Task, ToolCall, Usage,
};

/// Changes between a cursor and now. Each tells what holds now, and not how it came about, so that
/// a thousand deltas of one block are one change.
#[derive(Debug)]
pub struct Changes<'a> {
    transcript: &'a Transcript,
    cursor: Cursor,
    is_reset: bool,
    records: Vec<Record>,
}

/// One change. Its JSON is one object with the name of the variant under `change`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change<'a> {
    /// Forget everything: what follows is the whole transcript.
    Reset,
    /// The session's conversation, model or mode.
    Session {
        /// What holds now.
        session: Session<'a>,
    },
    /// What the session is doing.
    Status {
        /// What holds now.
        status: Status<'a>,
    },
    /// An entry is new or changed. Its blocks come as changes of their own.
    Entry {
        /// Names the entry; entries stand in the order of their numbers.
        entry: EntryId,
        /// The call that holds its thread; none on the main thread.
        thread: Option<ApiId<'a>>,
        /// What it says, without blocks.
        value: EntryKind<'a>,
    },
    /// An entry was taken back.
    EntryRemoved {
        /// The entry.
        entry: EntryId,
    },
    /// A block is new, or changed as a whole.
    Block {
        /// Names the block; the blocks of an entry stand in the order of their numbers.
        block: BlockId,
        /// Its entry.
        entry: EntryId,
        /// What it holds.
        value: BlockKind<'a>,
    },
    /// The text of a block grew: keep its first `from` bytes and append `text`.
    Append {
        /// The block.
        block: BlockId,
        /// Bytes that stay; all of them, unless the agent corrected itself.
        from: u32,
        /// What stands behind them.
        text: TextRef<'a>,
    },
    /// A block was taken back.
    BlockRemoved {
        /// The block.
        block: BlockId,
    },
    /// A tool call is new or changed. Its sub-agent's entries come as changes of their own.
    ToolCall {
        /// Names the call; the calls of a thread stand in the order of their numbers.
        call: CallId,
        /// The call that holds its thread; none on the main thread. It may change, when a
        /// sub-agent was seen before the call that started it.
        thread: Option<ApiId<'a>>,
        /// What holds now.
        #[serde(serialize_with = "call_head")]
        value: ToolCall<'a>,
    },
    /// A tool call was taken back.
    ToolCallRemoved {
        /// The call.
        call: CallId,
    },
    /// A task is new or changed.
    Task {
        /// Its `task_id`.
        task: &'a str,
        /// What holds now.
        value: Task<'a>,
    },
    /// A permission request is new or changed.
    Permission {
        /// Its place in the list.
        permission: PermissionId,
        /// What holds now.
        value: Permission<'a>,
    },
    /// What was used.
    Usage {
        /// What holds now.
        usage: Usage<'a>,
    },
    /// What was counted.
    Stats {
        /// What holds now.
        stats: Stats<'a>,
    },
}

fn call_head<S: serde::Serializer>(call: &ToolCall<'_>, out: S) -> Result<S::Ok, S::Error> {
    CallHead(*call).serialize(out)
}

impl Transcript {
    /// What changed behind `cursor`, in the order of the first change of each record. The cost is
    /// that of what changed, whatever the length of the transcript.
    ///
    /// A cursor that is too far behind, or not of this transcript, gets a reset and everything.
    pub fn changes_since(&mut self, cursor: Cursor) -> Changes<'_> {
        self.changes_up_to(cursor, usize::MAX)
    }

    /// As [`changes_since`](Self::changes_since), for readers that take a bounded number at a time:
    /// at most `most` of the changes that were logged, one at least. A reset comes whole.
    pub fn changes_up_to(&mut self, cursor: Cursor, most: usize) -> Changes<'_> {
        let records: Option<Vec<Record>> = self
            .log
            .read(cursor)
            .map(|records| first(records, most.max(1)));
        let is_reset = records.is_none();
        let end = match &records {
            Some(records) => Cursor::from_number(cursor.revision().number() + records.len() as u64),
            None => Cursor::at(self.log.revision()),
        };
        let records = records.unwrap_or_else(|| self.everything());
        Changes {
            cursor: end,
            transcript: self,
            is_reset,
            records: coalesce(records),
        }
    }

    /// A record for everything that stands.
    fn everything(&self) -> Vec<Record> {
        let mut slots = vec![Slot::Session, Slot::Status];
        let entries = self.entries.numbers();
        for id in entries.map(|at| EntryId::new(at as u32)) {
            if !self.entries.at(id.at()).is_removed {
                slots.push(Slot::Entry(id.number()));
                slots.extend(
                    self.live_blocks(id)
                        .map(|block| Slot::Block(block.number())),
                );
            }
        }
        let calls = self.calls.numbers();
        let calls = calls.filter(|&at| self.calls.at(at).standing != Standing::Removed);
        slots.extend(calls.map(|at| Slot::Call(at as u32)));
        let tasks = self.tasks.numbers();
        slots.extend(tasks.map(|at| Slot::Task(at as u32)));
        let permissions = self.permissions.numbers();
        slots.extend(permissions.map(|at| Slot::Permission(at as u32)));
        slots.extend([Slot::Usage, Slot::Stats]);
        slots
            .into_iter()
            .map(|slot| Record { slot, from: 0 })
            .collect()
    }
}

/// The first records. What is sent of a text is as it is now, so that it has to begin before every
/// byte that changed, those too of which only a later record tells: a reader would put the end of one
/// text behind the beginning of another.
fn first(mut records: impl Iterator<Item = Record>, most: usize) -> Vec<Record> {
    let mut first: Vec<Record> = records.by_ref().take(most).collect();
    let mut places: HashMap<Slot, usize, FixedState> = HashMap::default();
    for (place, record) in first.iter().enumerate() {
        if matches!(record.slot, Slot::Text(_)) {
            places.insert(record.slot, place);
        }
    }
    if places.is_empty() {
        return first;
    }
    for later in records {
        if let Some(&place) = places.get(&later.slot) {
            first[place].from = first[place].from.min(later.from);
        }
    }
    first
}

/// Each record once, at its first place. A text that changed several times begins at the lowest
/// byte; a block that changed as a whole needs no text beside it.
fn coalesce(records: Vec<Record>) -> Vec<Record> {
    let mut places: HashMap<Slot, usize, FixedState> = HashMap::default();
    let mut out: Vec<Record> = Vec::with_capacity(records.len());
    for record in records {
        let whole = match record.slot {
            Slot::Text(block) => places.get(&Slot::Block(block)),
            _ => None,
        };
        if whole.is_some() {
            continue;
        }
        match places.get(&record.slot) {
            Some(&place) => out[place].from = out[place].from.min(record.from),
            None => {
                places.insert(record.slot, out.len());
                out.push(record);
            }
        }
    }
    out
}

impl<'a> Changes<'a> {
    /// The cursor to ask with the next time.
    #[must_use]
    pub const fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Whether the reader must forget what it has; [`Change::Reset`] says so as well.
    #[must_use]
    pub const fn is_reset(&self) -> bool {
        self.is_reset
    }

    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && !self.is_reset
    }

    /// The transcript that the changes lead to.
    #[must_use]
    pub const fn transcript(&self) -> &'a Transcript {
        self.transcript
    }

    /// The changes, to be applied in this order.
    pub fn iter(&self) -> impl Iterator<Item = Change<'a>> + use<'a, '_> {
        let reset = self.is_reset.then_some(Change::Reset);
        let changes = self.records.iter().map(|record| self.change(*record));
        reset.into_iter().chain(changes)
    }

    fn change(&self, record: Record) -> Change<'a> {
        let it = self.transcript;
        match record.slot {
            Slot::Session => Change::Session {
                session: it.session(),
            },
            Slot::Status => Change::Status {
                status: it.status(),
            },
            Slot::Usage => Change::Usage { usage: it.usage() },
            Slot::Stats => Change::Stats { stats: it.stats() },
            Slot::Entry(entry) => self.entry(EntryId::new(entry)),
            Slot::Block(block) => self.block(BlockId::new(block)),
            Slot::Text(block) => self.text(BlockId::new(block), record.from),
            Slot::Call(call) => self.call(CallId::new(call)),
            Slot::Task(task) => {
                let value = Task::new(it, TaskId::new(task));
                let task = value.id();
                Change::Task { task, value }
            }
            Slot::Permission(permission) => Change::Permission {
                permission: PermissionId::new(permission),
                value: Permission::new(it, PermissionId::new(permission)),
            },
        }
    }

    fn entry(&self, id: EntryId) -> Change<'a> {
        let it = self.transcript;
        if it.entries.at(id.at()).is_removed {
            return Change::EntryRemoved { entry: id };
        }
        let view = Entry::new(it, id);
        Change::Entry {
            entry: id,
            thread: view.thread().call().map(ToolCall::id),
            value: view.head(),
        }
    }

    fn block(&self, id: BlockId) -> Change<'a> {
        let record = self.transcript.blocks.at(id.at());
        if record.is_removed {
            return Change::BlockRemoved { block: id };
        }
        Change::Block {
            block: id,
            entry: record.entry,
            value: Block::new(self.transcript, id).kind(),
        }
    }

    fn text(&self, id: BlockId, from: u32) -> Change<'a> {
        let block = Block::new(self.transcript, id);
        match block.text() {
            Some(text) if !self.transcript.blocks.at(id.at()).is_removed => Change::Append {
                block: id,
                from,
                text: text.starting_at(from),
            },
            _ => self.block(id),
        }
    }

    fn call(&self, id: CallId) -> Change<'a> {
        match self.transcript.tool_call_by_id(id) {
            None => Change::ToolCallRemoved { call: id },
            Some(value) => Change::ToolCall {
                call: id,
                thread: value.thread().call().map(ToolCall::id),
                value,
            },
        }
    }
}
