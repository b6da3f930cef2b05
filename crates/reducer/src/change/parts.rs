//! A snapshot as changes, in parts.

use super::Changes;
use crate::log::{Cursor, LogRecord};
use crate::snapshot::Snapshot;

/// The changes that make up a snapshot, in parts, so that a reader needs no memory for all of them at once.
///
/// The first one is a reset. Afterwards the reader continues at [`cursor`](Self::cursor) of the transcript.
///
/// ```
/// use bowline_reducer::{Mirror, Transcript};
///
/// let mut transcript = Transcript::new();
/// let (mut mirror, mut parts) = (Mirror::new(), transcript.change_parts());
/// while let Some(changes) = parts.next_part(100) {
///     for change in changes.iter() {
///         mirror.apply(&serde_json::to_value(&change).unwrap());
///     }
/// }
/// assert_eq!(mirror.transcript(), serde_json::to_value(&transcript).unwrap());
/// assert!(transcript.changes_since(parts.cursor()).is_empty());
/// ```
#[derive(Debug)]
pub struct ChangeParts {
    snapshot: Snapshot,
    records: Vec<LogRecord>,
    cursor: Cursor,
    next: usize,
}

impl ChangeParts {
    pub(super) const fn new(snapshot: Snapshot, records: Vec<LogRecord>, cursor: Cursor) -> Self {
        Self {
            snapshot,
            records,
            cursor,
            next: 0,
        }
    }

    /// Returns the snapshot.
    #[must_use]
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the cursor for the changes after the snapshot.
    #[must_use]
    pub const fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Returns whether all parts were taken.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.next >= self.records.len()
    }

    /// Returns the number of changes beside the reset.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.records.len()
    }

    /// Returns the next part, of at most `max_count` changes (at least one) beside the reset. `None` once all were
    /// taken.
    pub fn next_part(&mut self, max_count: usize) -> Option<Changes<'_>> {
        let from = self.next;
        self.next = self.end_of(from, max_count);
        self.part(from, max_count)
    }

    /// Returns the part that begins with the change `from`, counted from 0, and has at most `max_count` changes (at least
    /// one) beside the reset. `None` past the last change.
    #[must_use]
    pub fn part(&self, from: usize, max_count: usize) -> Option<Changes<'_>> {
        let records = self.records.get(from..self.end_of(from, max_count))?;
        if records.is_empty() {
            return None;
        }
        Some(Changes {
            transcript: &self.snapshot,
            cursor: self.cursor,
            is_reset: from == 0,
            records: records.to_vec(),
            revisions: Vec::new(),
        })
    }

    fn end_of(&self, from: usize, max_count: usize) -> usize {
        let end = from.saturating_add(max_count.max(1));
        end.min(self.records.len())
    }
}
