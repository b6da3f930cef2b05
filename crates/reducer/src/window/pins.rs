//! What is open, and so is kept whatever its age.

use std::collections::BTreeSet;

use crate::record::{BlockBody, CallId, EntryId, ThreadId};
use crate::transcript::Transcript;
use crate::window::Ids;

/// Numbers of the records that are kept, by kind.
#[derive(Debug, Default)]
pub(crate) struct Pins {
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
    /// What of the records before `to` is open, or holds something that is kept.
    pub(crate) fn pins(&self, to: &Ids) -> Pins {
        let mut pins = Pins {
            threads: BTreeSet::from([ThreadId::MAIN.at()]),
            tasks: self.evidence.tasks.iter().map(|id| id.at()).collect(),
            permissions: self.evidence.permissions.iter().map(|id| id.at()).collect(),
            ..Pins::default()
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

    fn open_things(&self) -> Vec<Pin> {
        let threads = self.threads.numbers().map(|at| &self.threads[at]);
        let calls = threads.flat_map(|thread| thread.open.iter().chain(&thread.rejected));
        let tasks = self.evidence.tasks.iter().filter_map(|id| {
            let call = self.tasks[id.at()].tool_use_id?;
            self.call_named(self.arena.str(call))
        });
        let permissions = self.evidence.permissions.iter();
        let asked = permissions.filter_map(|&id| self.call_of(id));
        let drafts = self.drafts.iter().map(|draft| draft.entry);
        let cut = self.cut.map(|cut| cut.entry);
        let calls = calls.copied().chain(tasks).chain(asked).map(Pin::Call);
        calls.chain(drafts.chain(cut).map(Pin::Entry)).collect()
    }

    /// Calls before `to` that hold something behind it, or stand in it.
    fn holders(&self, to: &Ids) -> Vec<Pin> {
        let threads = self.threads.numbers().map(|at| &self.threads[at]);
        let holds = threads.filter(|thread| {
            let entries = thread.entries.last.is_some_and(|it| it.at() >= to.entry);
            entries || thread.calls.last.is_some_and(|it| it.at() >= to.call)
        });
        let holding = holds.filter_map(|thread| thread.call);
        let standing = self.calls.before(to.call).filter(|&at| {
            let entry = self.calls.at(at).entry;
            entry.is_some_and(|entry| entry.at() >= to.entry)
        });
        let standing = standing.map(|at| CallId::new(at as u32));
        holding.chain(standing).map(Pin::Call).collect()
    }

    fn pin_call(&self, id: CallId, pins: &mut Pins, waiting: &mut Vec<Pin>) {
        let Some(call) = self.calls.get(id.at()) else {
            return;
        };
        if !pins.calls.insert(id.at()) {
            return;
        }
        pins.results.extend(call.result.map(|id| id.at()));
        pins.threads.extend(call.subagent.map(|id| id.at()));
        waiting.extend(self.threads[call.thread.at()].call.map(Pin::Call));
        waiting.extend(call.entry.map(Pin::Entry));
    }

    fn pin_entry(&self, id: EntryId, pins: &mut Pins, waiting: &mut Vec<Pin>) {
        let Some(entry) = self.entries.get(id.at()) else {
            return;
        };
        if !pins.entries.insert(id.at()) {
            return;
        }
        waiting.extend(self.threads[entry.thread.at()].call.map(Pin::Call));
        for block in self.all_blocks(id) {
            pins.blocks.insert(block.at());
            if let BlockBody::Call(call) = self.blocks.at(block.at()).body {
                waiting.push(Pin::Call(call));
            }
        }
    }
}
