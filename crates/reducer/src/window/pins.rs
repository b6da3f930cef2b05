//! Pinned records: what is open is kept whatever its age.

use std::collections::BTreeSet;

use crate::position::NextIds;
use crate::record::{BlockBody, CallId, EntryId};
use crate::transcript::Transcript;

/// Numbers of the pinned records, by kind.
#[derive(Debug, Default)]
pub(crate) struct PinnedRecords {
    pub(crate) threads: BTreeSet<usize>,
    pub(crate) entries: BTreeSet<usize>,
    pub(crate) blocks: BTreeSet<usize>,
    pub(crate) calls: BTreeSet<usize>,
    pub(crate) results: BTreeSet<usize>,
    pub(crate) tasks: BTreeSet<usize>,
    pub(crate) permissions: BTreeSet<usize>,
}

enum Pin {
    Call(CallId),
    Entry(EntryId),
}

impl Transcript {
    /// Collects the records before `to` that are open, or that contain something that is kept.
    pub(crate) fn pins(&self, to: &NextIds) -> PinnedRecords {
        let mut pins = PinnedRecords {
            threads: self.unheld_threads(to),
            tasks: self.evidence.tasks.iter().map(|id| id.index()).collect(),
            permissions: self
                .evidence
                .permissions
                .iter()
                .map(|id| id.index())
                .collect(),
            ..PinnedRecords::default()
        };
        let mut waiting = self.open_things();
        waiting.extend(self.holders(to));
        while let Some(pin) = waiting.pop() {
            match pin {
                Pin::Call(call) => self.pin_call(call, &mut pins, &mut waiting),
                Pin::Entry(entry) => self.pin_entry(entry, &mut pins, &mut waiting),
            }
        }
        pins
    }

    /// The main thread, and those that no call holds.
    fn unheld_threads(&self, to: &NextIds) -> BTreeSet<usize> {
        let threads = self.threads.numbers_before(to.thread);
        threads
            .filter(|&at| self.threads[at].call.is_none())
            .collect()
    }

    fn open_things(&self) -> Vec<Pin> {
        let threads = self.threads.numbers().map(|at| &self.threads[at]);
        let calls = threads.flat_map(|thread| thread.open.iter().chain(&thread.rejected));
        let tasks = self.evidence.tasks.iter().filter_map(|id| {
            let call = self.tasks[id].tool_use_id?;
            self.find_call(self.arena.str(call))
        });
        let permissions = self.evidence.permissions.iter();
        let asked = permissions.filter_map(|id| self.call_of(id));
        let drafts = self.drafts.values().map(|draft| draft.entry);
        let partial_line = self.partial_line.map(|partial_line| partial_line.entry);
        let calls = calls.copied().chain(tasks).chain(asked).map(Pin::Call);
        calls
            .chain(drafts.chain(partial_line).map(Pin::Entry))
            .collect()
    }

    /// Calls before `to` that contain, or are part of, something after it.
    fn holders(&self, to: &NextIds) -> Vec<Pin> {
        let threads = self.threads.numbers().map(|at| &self.threads[at]);
        let holds = threads.filter(|thread| {
            let entries = thread.entries.last.is_some_and(|it| it.index() >= to.entry);
            entries || thread.calls.last.is_some_and(|it| it.index() >= to.call)
        });
        let holding = holds.filter_map(|thread| thread.call);
        let presence = self.calls.numbers_before(to.call).filter(|&at| {
            let entry = self.calls[at].entry;
            entry.is_some_and(|entry| entry.index() >= to.entry)
        });
        let presence = presence.map(|at| CallId::new(at as u32));
        holding.chain(presence).map(Pin::Call).collect()
    }

    fn pin_call(&self, id: CallId, pins: &mut PinnedRecords, waiting: &mut Vec<Pin>) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        if !pins.calls.insert(id.index()) {
            return;
        }
        pins.results.extend(call.result.map(|id| id.index()));
        pins.threads.extend(call.subagent.map(|id| id.index()));
        waiting.extend(self.threads[call.thread].call.map(Pin::Call));
        waiting.extend(call.entry.map(Pin::Entry));
    }

    fn pin_entry(&self, id: EntryId, pins: &mut PinnedRecords, waiting: &mut Vec<Pin>) {
        let Some(entry) = self.entries.get(id) else {
            return;
        };
        if !pins.entries.insert(id.index()) {
            return;
        }
        waiting.extend(self.threads[entry.thread].call.map(Pin::Call));
        for block in self.all_blocks(id) {
            pins.blocks.insert(block.index());
            if let BlockBody::Call(call) = self.blocks[block].body {
                waiting.push(Pin::Call(call));
            }
        }
    }
}
