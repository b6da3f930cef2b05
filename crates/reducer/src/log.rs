//! Which records changed, in order, each at most once between two readings.

use std::collections::VecDeque;

use crate::number::U48;

/// A place in the history of changes. It grows, and two equal revisions mean an equal transcript
/// for every reader that has read in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

impl Revision {
    /// Changes logged so far.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// Up to which revision a reader has read; the default stands before the first change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor(Revision);

impl Cursor {
    /// A cursor that has read everything up to `revision`.
    #[must_use]
    pub const fn at(revision: Revision) -> Self {
        Self(revision)
    }

    /// A cursor from its number, as [`Revision::number`] gives it.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(Revision(number))
    }

    /// The revision up to which it has read.
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

/// Longest history that is kept, in changes of 12 bytes. A reader that is further behind gets a
/// reset, which by then is cheaper than the changes.
const HISTORY: usize = 1 << 16;

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
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

#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) slot: Slot,
    pub(crate) from: u32,
}

/// When a record was logged last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp(U48);

#[derive(Debug, Default)]
pub(crate) struct Log {
    records: VecDeque<Record>,
    /// Revision of what stood before the first record.
    start: u64,
    /// Revision of the last reading: what was logged behind it need not be logged again.
    sealed: u64,
}

impl Log {
    /// A log that begins at `revision`.
    pub(crate) fn at(revision: Revision) -> Self {
        Self {
            start: revision.0,
            sealed: revision.0,
            ..Self::default()
        }
    }

    pub(crate) fn revision(&self) -> Revision {
        Revision(self.start + self.records.len() as u64)
    }

    pub(crate) fn note(&mut self, stamp: &mut Stamp, slot: Slot) {
        if !self.is_fresh(*stamp) {
            self.push(stamp, Record { slot, from: 0 });
        }
    }

    /// Whether something was logged since the last reading.
    pub(crate) const fn is_fresh(&self, stamp: Stamp) -> bool {
        stamp.0.get() > self.sealed
    }

    /// Notes that a text changed from byte `from` on.
    pub(crate) fn note_text(&mut self, stamp: &mut Stamp, block: u32, from: u32) {
        if !self.is_fresh(*stamp) {
            let slot = Slot::Text(block);
            return self.push(stamp, Record { slot, from });
        }
        // A record that was pruned is behind every cursor that could ask for it.
        let place = (stamp.0.get() - 1).checked_sub(self.start);
        if let Some(record) = place.and_then(|at| self.records.get_mut(at as usize)) {
            record.from = record.from.min(from);
        }
    }

    fn push(&mut self, stamp: &mut Stamp, record: Record) {
        if self.records.len() == HISTORY {
            self.records.pop_front();
            self.start += 1;
        }
        self.records.push_back(record);
        stamp.0 = U48::new(self.revision().0);
    }

    /// Every reader that has read before now has to begin again.
    pub(crate) fn reset(&mut self) {
        *self = Self::at(Revision(self.revision().0 + 1));
    }

    /// What is logged from now on gets a revision of its own.
    pub(crate) fn seal(&mut self) {
        self.sealed = self.revision().0;
    }

    /// Seals the log and gives what was logged behind `cursor`; none when that is not kept.
    pub(crate) fn read(&mut self, cursor: Cursor) -> Option<impl Iterator<Item = Record>> {
        let revision = self.revision();
        self.sealed = revision.0;
        let from = (cursor.0.0).checked_sub(self.start)?;
        let records = (cursor.0 <= revision).then_some(&self.records)?;
        Some(records.range(from as usize..).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &mut Log, cursor: u64) -> Option<Vec<(Slot, u32)>> {
        let records = log.read(Cursor::from_number(cursor))?;
        Some(records.map(|it| (it.slot, it.from)).collect())
    }

    #[test]
    fn a_slot_is_logged_once_between_two_readings() {
        let (mut log, mut stamp) = (Log::default(), Stamp::default());
        for _ in 0..3 {
            log.note(&mut stamp, Slot::Entry(1));
        }
        assert_eq!(read(&mut log, 0), Some(vec![(Slot::Entry(1), 0)]));
        log.note(&mut stamp, Slot::Entry(1));
        log.note(&mut stamp, Slot::Entry(1));
        assert_eq!(log.revision(), Revision(2));
        assert_eq!(read(&mut log, 1), Some(vec![(Slot::Entry(1), 0)]));
        assert_eq!(read(&mut log, 2), Some(vec![]));
    }

    #[test]
    fn what_is_logged_behind_a_seal_has_a_revision_of_its_own() {
        let (mut log, mut stamp) = (Log::default(), Stamp::default());
        for expected in 1..4 {
            log.note(&mut stamp, Slot::Stats);
            log.note(&mut stamp, Slot::Stats);
            assert_eq!(log.revision(), Revision(expected));
            log.seal();
        }
    }

    #[test]
    fn a_text_remembers_the_first_byte_that_changed() {
        let (mut log, mut stamp) = (Log::default(), Stamp::default());
        log.note_text(&mut stamp, 4, 10);
        log.note_text(&mut stamp, 4, 20);
        log.note_text(&mut stamp, 4, 7);
        assert_eq!(read(&mut log, 0), Some(vec![(Slot::Text(4), 7)]));
    }

    #[test]
    fn a_reader_too_far_behind_or_from_elsewhere_gets_nothing() {
        let mut log = Log::default();
        for n in 0..=HISTORY as u32 {
            log.note(&mut Stamp::default(), Slot::Entry(n));
        }
        assert_eq!(read(&mut log, 0), None);
        assert_eq!(read(&mut log, 1).map(|it| it.len()), Some(HISTORY));
        assert_eq!(read(&mut log, HISTORY as u64 + 2), None);
    }
}
