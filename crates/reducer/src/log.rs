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

/// Longest history that is kept, in changes of 8 bytes. A reader that is further behind gets a
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

/// A record as it is kept: its id, and either where a text changed or what else it is.
#[derive(Clone, Copy, Debug)]
struct Kept {
    id: u32,
    rest: u32,
}

/// Marks in the second half what is no text; the kind is below it.
const OTHER: u32 = 1 << 31;

impl Kept {
    const fn new(record: Record) -> Self {
        let (kind, id) = match record.slot {
            Slot::Text(id) => {
                let rest = beginning(record.from);
                return Self { id, rest };
            }
            Slot::Session => (0, 0),
            Slot::Status => (1, 0),
            Slot::Usage => (2, 0),
            Slot::Stats => (3, 0),
            Slot::Entry(id) => (4, id),
            Slot::Block(id) => (5, id),
            Slot::Call(id) => (6, id),
            Slot::Task(id) => (7, id),
            Slot::Permission(id) => (8, id),
        };
        let rest = OTHER | kind;
        Self { id, rest }
    }

    const fn record(self) -> Record {
        let Self { id, rest } = self;
        if rest < OTHER {
            let slot = Slot::Text(id);
            return Record { slot, from: rest };
        }
        let slot = match rest - OTHER {
            0 => Slot::Session,
            1 => Slot::Status,
            2 => Slot::Usage,
            3 => Slot::Stats,
            4 => Slot::Entry(id),
            5 => Slot::Block(id),
            6 => Slot::Call(id),
            7 => Slot::Task(id),
            _ => Slot::Permission(id),
        };
        Record { slot, from: 0 }
    }

    /// The text changed from an earlier byte on.
    fn lower(&mut self, from: u32) {
        if self.rest < OTHER {
            self.rest = self.rest.min(beginning(from));
        }
    }
}

/// From which byte on a text is told anew: from the first one that changed, but of one beyond
/// 2 GiB all of it.
const fn beginning(from: u32) -> u32 {
    if from < OTHER { from } else { 0 }
}

/// When a record was logged last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp(U48);

#[derive(Debug, Default)]
pub(crate) struct Log {
    records: VecDeque<Kept>,
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
            record.lower(from);
        }
    }

    fn push(&mut self, stamp: &mut Stamp, record: Record) {
        if self.records.len() == HISTORY {
            self.records.pop_front();
            self.start += 1;
        }
        self.records.push_back(Kept::new(record));
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
        Some(records.range(from as usize..).map(|it| it.record()))
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
    fn every_change_comes_back_as_it_was_logged() {
        let id = u32::MAX - 1;
        let slots = [
            Slot::Session,
            Slot::Status,
            Slot::Usage,
            Slot::Stats,
            Slot::Entry(id),
            Slot::Block(id),
            Slot::Text(id),
            Slot::Call(id),
            Slot::Task(id),
            Slot::Permission(id),
        ];
        for slot in slots {
            let record = Kept::new(Record { slot, from: 0 }).record();
            assert_eq!((record.slot, record.from), (slot, 0));
        }
        for (from, kept) in [(7, 7), (OTHER - 1, OTHER - 1), (OTHER, 0), (u32::MAX, 0)] {
            let slot = Slot::Text(id);
            let record = Kept::new(Record { slot, from }).record();
            assert_eq!((record.slot, record.from), (slot, kept));
        }
        assert_eq!(size_of::<Kept>(), 8);
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
