//! The change log: which records changed, in order.
//!
//! A record is logged at most once between two reads, so that the log grows with what readers see and
//! not with the stream.

use std::collections::VecDeque;

/// A position in the history of changes.
///
/// It grows with every logged change. Two equal revisions mean an equal transcript for each reader
/// that has read in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

impl Revision {
    /// Returns the number of changes logged so far.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// The revision up to which a reader has read. The default is before the first change.
///
/// See [`Transcript::changes_since`](crate::Transcript::changes_since).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor(Revision);

impl Cursor {
    /// Returns a cursor that has read everything up to `revision`.
    #[must_use]
    pub const fn at(revision: Revision) -> Self {
        Self(revision)
    }

    /// Restores a cursor from [`Revision::number`].
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(Revision(number))
    }

    /// Returns the revision up to which it has read.
    #[must_use]
    pub const fn revision(self) -> Revision {
        self.0
    }
}

impl From<Revision> for Cursor {
    fn from(revision: Revision) -> Self {
        Self(revision)
    }
}

/// Most changes that are kept, of 12 bytes each. A reader that missed more gets a reset, which by then
/// is cheaper than the changes.
const MAX_HISTORY: usize = 1 << 15;

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ChangedItem {
    Session,
    Status,
    Usage,
    Stats,
    Entry(u32),
    Block(u32),
    /// The text of a block, from some byte on.
    Text(u32),
    Call(u32),
    Task(u32),
    Permission(u32),
}

/// One logged change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogRecord {
    pub(crate) item: ChangedItem,
    /// The first byte of a text that changed; 0 for other items.
    pub(crate) from: u32,
}

/// The revision at which a record was last logged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogStamp(u64);

#[derive(Debug, Default)]
pub(crate) struct ChangeLog {
    records: VecDeque<LogRecord>,
    /// Revision before the first record.
    start: u64,
    /// Revision of the last read: a record logged after it need not be logged again.
    sealed: u64,
}

impl ChangeLog {
    /// Returns an empty log that begins at `revision`.
    pub(crate) fn at(revision: Revision) -> Self {
        Self {
            records: VecDeque::new(),
            start: revision.0,
            sealed: revision.0,
        }
    }

    pub(crate) fn revision(&self) -> Revision {
        Revision(self.start + self.records.len() as u64)
    }

    pub(crate) fn record(&mut self, stamp: &mut LogStamp, item: ChangedItem) {
        if !self.is_logged(*stamp) {
            self.push(stamp, LogRecord { item, from: 0 });
        }
    }

    /// Returns whether a record was logged since the last read.
    pub(crate) const fn is_logged(&self, stamp: LogStamp) -> bool {
        stamp.0 > self.sealed
    }

    /// Logs that the text of `block`, `old_len` bytes long, changed from byte `from` on.
    pub(crate) fn record_text(
        &mut self,
        stamp: &mut LogStamp,
        block: u32,
        from: u32,
        old_len: u32,
    ) {
        if !self.is_logged(*stamp) {
            let item = ChangedItem::Text(block);
            return self.push(stamp, LogRecord { item, from });
        }
        // A text that only grew changed after the byte that is logged already.
        if from < old_len {
            self.lower(*stamp, from);
        }
    }

    #[cold]
    fn lower(&mut self, stamp: LogStamp, from: u32) {
        // A pruned record is older than each cursor that can still be served.
        let Some(place) = (stamp.0 - 1).checked_sub(self.start) else {
            return;
        };
        if let Some(record) = self.records.get_mut(place as usize) {
            record.from = record.from.min(from);
        }
    }

    fn push(&mut self, stamp: &mut LogStamp, record: LogRecord) {
        if self.records.len() == MAX_HISTORY {
            self.records.pop_front();
            self.start += 1;
        }
        self.records.push_back(record);
        stamp.0 = self.revision().0;
    }

    /// Drops the history: each reader gets a reset.
    pub(crate) fn reset(&mut self) {
        *self = Self::at(Revision(self.revision().0 + 1));
    }

    /// Gives the next change a revision of its own.
    pub(crate) fn seal(&mut self) {
        self.sealed = self.revision().0;
    }

    /// Seals the log and returns the records after `cursor`; `None` if they are no longer kept.
    pub(crate) fn read(&mut self, cursor: Cursor) -> Option<impl Iterator<Item = LogRecord>> {
        let revision = self.revision();
        self.sealed = revision.0;
        let from = cursor.0.0.checked_sub(self.start)? as usize;
        (cursor.0 <= revision).then(|| self.records.range(from..).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &mut ChangeLog, cursor: u64) -> Option<Vec<(ChangedItem, u32)>> {
        let records = log.read(Cursor::from_number(cursor))?;
        Some(records.map(|it| (it.item, it.from)).collect())
    }

    #[test]
    fn item_is_logged_once_between_reads() {
        let (mut log, mut stamp) = (ChangeLog::default(), LogStamp::default());
        let item = ChangedItem::Entry(1);
        for _ in 0..3 {
            log.record(&mut stamp, item);
        }
        assert_eq!(read(&mut log, 0), Some(vec![(item, 0)]));
        log.record(&mut stamp, item);
        log.record(&mut stamp, item);
        assert_eq!(log.revision(), Revision(2));
        assert_eq!(read(&mut log, 1), Some(vec![(item, 0)]));
        assert_eq!(read(&mut log, 2), Some(vec![]));
    }

    #[test]
    fn change_after_seal_has_its_own_revision() {
        let (mut log, mut stamp) = (ChangeLog::default(), LogStamp::default());
        for expected in 1..4 {
            log.record(&mut stamp, ChangedItem::Stats);
            log.record(&mut stamp, ChangedItem::Stats);
            assert_eq!(log.revision(), Revision(expected));
            log.seal();
        }
    }

    #[test]
    fn text_keeps_its_first_changed_byte() {
        let (mut log, mut stamp) = (ChangeLog::default(), LogStamp::default());
        log.record_text(&mut stamp, 4, 1000, 1000);
        for n in 0..10_000 {
            log.record(&mut LogStamp::default(), ChangedItem::Call(n));
        }
        for (from, old_len) in [(2000, 2000), (300, 3000), (400, 3000)] {
            log.record_text(&mut stamp, 4, from, old_len);
        }
        let records = read(&mut log, 0).expect("a short history");
        let expected = ((ChangedItem::Text(4), 300), 10_001);
        assert_eq!((records[0], records.len()), expected);
    }

    #[test]
    fn cursor_outside_of_history_is_refused() {
        let mut log = ChangeLog::default();
        for n in 0..=MAX_HISTORY as u32 {
            log.record(&mut LogStamp::default(), ChangedItem::Entry(n));
        }
        assert_eq!(read(&mut log, 0), None);
        assert_eq!(read(&mut log, 1).map(|it| it.len()), Some(MAX_HISTORY));
        assert_eq!(read(&mut log, MAX_HISTORY as u64 + 2), None);
    }
}
