//! A part of a transcript as changes: some entries of the main thread, with all that belongs to them.

use std::collections::HashSet;
use std::ops::Range;

use bowline_reducer::{
    BlockKind, Change, Entry, EntryKind, Snapshot, Thread, ToolCall, Transcript,
};

/// Changes that are read at once.
const PART: usize = 4_096;

/// Entries of the main thread, by their index.
#[derive(Debug)]
pub(crate) struct TranscriptWindow {
    /// Number of entries of the main thread in all.
    pub(crate) entries: usize,
    /// Which of them are in the window.
    pub(crate) range: Range<usize>,
    /// The changes that make up the window, as a JSON array.
    pub(crate) changes: Vec<u8>,
}

/// Which entries a window has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowStart {
    /// The last ones.
    End,
    /// From an index on.
    Index(usize),
    /// Those around an entry, by its number.
    Entry(u32),
}

/// The ids of what is in a window.
#[derive(Debug, Default)]
struct Content {
    entries: HashSet<u32>,
    calls: HashSet<u32>,
}

impl Content {
    fn add(&mut self, it: &Transcript, entry: Entry<'_>) {
        self.entries.insert(entry.id().number());
        let EntryKind::Assistant { blocks, .. } = entry.kind() else {
            return;
        };
        for block in blocks.iter() {
            if let BlockKind::ToolCall { id } = block.kind()
                && let Some(call) = it.tool_call(id)
            {
                self.add_call(it, call);
            }
        }
    }

    fn add_call(&mut self, it: &Transcript, call: ToolCall<'_>) {
        if self.calls.insert(call.call_id().number())
            && let Some(thread) = call.subagent()
        {
            self.add_thread(it, thread);
        }
    }

    fn add_thread(&mut self, it: &Transcript, thread: Thread<'_>) {
        thread.entries().for_each(|entry| self.add(it, entry));
        let calls = thread.tool_calls();
        calls.iter().for_each(|call| self.add_call(it, call));
    }
}

impl TranscriptWindow {
    /// Reads a window of at most `max` entries.
    pub(crate) fn read(snapshot: &Snapshot, start: WindowStart, max: usize) -> Self {
        let main: Vec<_> = snapshot.main().entries().collect();
        let count = main.len();
        let from = match start {
            WindowStart::End => count.saturating_sub(max),
            WindowStart::Index(from) => from.min(count),
            WindowStart::Entry(number) => {
                let place = main.partition_point(|it| it.id().number() < number);
                place.saturating_sub(max / 2)
            }
        };
        let range = from..count.min(from.saturating_add(max));
        let mut content = Content::default();
        let entries = main[range.clone()].iter();
        entries.for_each(|entry| content.add(snapshot, *entry));
        // Calls that no entry has announced, and threads that no call holds, are not in any entry.
        for call in snapshot.main().tool_calls().iter() {
            if call.entry().is_none() && range.end == count {
                content.add_call(snapshot, call);
            }
        }
        let changes = content.changes(snapshot);
        Self {
            entries: count,
            range,
            changes,
        }
    }
}

impl Content {
    /// Writes the changes as a JSON array. What concerns the session as a whole is in each window.
    fn changes(&self, snapshot: &Snapshot) -> Vec<u8> {
        let mut out = vec![b'['];
        let mut parts = snapshot.change_parts();
        while let Some(changes) = parts.next_part(PART) {
            for change in changes.iter().filter(|it| self.has(it)) {
                if out.len() > 1 {
                    out.push(b',');
                }
                // Writing to memory does not fail, and a change is made of strings and numbers.
                let _ = serde_json::to_writer(&mut out, &change);
            }
        }
        out.push(b']');
        out
    }

    fn has(&self, change: &Change<'_>) -> bool {
        match change {
            Change::Entry { entry, .. } | Change::Block { entry, .. } => {
                self.entries.contains(&entry.number())
            }
            Change::ToolCall { call, .. } => self.calls.contains(&call.number()),
            _ => true,
        }
    }
}
