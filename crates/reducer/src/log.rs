//! Which records changed, in order, each at most once between two readings, unless it was packed in
//! between.

mod page;

use std::collections::VecDeque;

use page::{PAGE, Page};

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

/// Longest history that is kept, in changes of a byte or two. A reader that is further behind gets a
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

/// A record as it is kept at first: its id, and either where a text changed or what else it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    id: u32,
    rest: u32,
}

/// Marks in the second half what is no text; the kind is below it.
const OTHER: u32 = 1 << 31;

/// The kind of a text.
const TEXT: usize = 9;

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

    /// Its kind, and of a text from which byte on it changed.
    const fn kind(self) -> (usize, Option<u32>) {
        match self.rest {
            OTHER.. => ((self.rest - OTHER) as usize, None),
            from => (TEXT, Some(from)),
        }
    }

    fn of_kind(kind: usize, id: u32, from: impl FnOnce() -> u32) -> Self {
        let rest = match kind {
            TEXT => beginning(from()),
            _ => OTHER | kind as u32,
        };
        Self { id, rest }
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
    /// Older records, and how many of the first page were given up.
    pages: VecDeque<Page>,
    pruned: usize,
    /// The newest records.
    newest: Vec<Kept>,
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

    fn len(&self) -> usize {
        self.pages.len() * PAGE - self.pruned + self.newest.len()
    }

    pub(crate) fn revision(&self) -> Revision {
        Revision(self.start + self.len() as u64)
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

    /// Notes that a text of `before` bytes changed from byte `from` on.
    pub(crate) fn note_text(&mut self, stamp: &mut Stamp, block: u32, from: u32, before: u32) {
        if !self.is_fresh(*stamp) {
            let slot = Slot::Text(block);
            return self.push(stamp, Record { slot, from });
        }
        // What was logged lies within the text: one that only grew changed behind it.
        if from < before {
            self.lower(*stamp, from);
        }
    }

    #[cold]
    fn lower(&mut self, stamp: Stamp, from: u32) {
        // A record that was pruned is behind every cursor that could ask for it.
        let Some(place) = (stamp.0.get() - 1).checked_sub(self.start) else {
            return;
        };
        let place = place as usize + self.pruned;
        if let Some(page) = self.pages.get_mut(place / PAGE) {
            let mut records: Vec<Kept> = page.records().collect();
            if let Some(record) = records.get_mut(place % PAGE) {
                record.lower(from);
            }
            *page = Page::of(records.into_iter());
        } else if let Some(record) = self.newest.get_mut(place - self.pages.len() * PAGE) {
            record.lower(from);
        }
    }

    fn push(&mut self, stamp: &mut Stamp, record: Record) {
        if self.len() == HISTORY {
            self.start += 1;
            self.pruned += 1;
            if self.pruned == PAGE {
                self.pages.pop_front();
                self.pruned = 0;
            }
        }
        if self.newest.len() == 2 * PAGE {
            let page = Page::of(self.newest.drain(..PAGE));
            self.pages.push_back(page);
        }
        self.newest.push(Kept::new(record));
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
        if cursor.0 > revision {
            return None;
        }
        let place = from as usize + self.pruned;
        let page = self.pages.len().min(place / PAGE);
        let pages = self.pages.range(page..).flat_map(Page::records);
        let records = pages.chain(self.newest.iter().copied());
        Some(records.skip(place - page * PAGE).map(Kept::record))
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
        log.note_text(&mut stamp, 4, 10, 10);
        log.note_text(&mut stamp, 4, 20, 20);
        log.note_text(&mut stamp, 4, 7, 30);
        assert_eq!(read(&mut log, 0), Some(vec![(Slot::Text(4), 7)]));
    }

    #[test]
    fn a_text_that_was_logged_long_ago_remembers_it_too() {
        let (mut log, mut stamp) = (Log::default(), Stamp::default());
        log.note_text(&mut stamp, 4, 1000, 1000);
        for n in 0..10_000 {
            log.note(&mut Stamp::default(), Slot::Call(n));
        }
        log.note_text(&mut stamp, 4, 300, 2000);
        let records = read(&mut log, 0).expect("a short history");
        assert_eq!((records[0], records.len()), ((Slot::Text(4), 300), 10_001));
    }

    #[test]
    fn what_was_logged_long_ago_comes_back_from_any_place() {
        let mut log = Log::default();
        let mut seed: u32 = 1;
        let mut slots = Vec::new();
        for n in 0..10 * PAGE as u32 {
            seed = seed.wrapping_mul(0x9e37_79b1).wrapping_add(n);
            let id = if seed >> 30 == 0 { seed >> 2 } else { n };
            let from = seed >> (seed % 32);
            let slot = match seed >> 8 & 7 {
                0 => Slot::Stats,
                1 | 2 => Slot::Text(id),
                3 => Slot::Entry(id),
                4 => Slot::Call(id),
                5 => Slot::Permission(id),
                _ => Slot::Block(id),
            };
            let is_text = matches!(slot, Slot::Text(_));
            slots.push((slot, if is_text { beginning(from) } else { 0 }));
            if is_text {
                log.note_text(&mut Stamp::default(), id, from, from);
            } else {
                log.note(&mut Stamp::default(), slot);
            }
        }
        for cursor in (0..=slots.len()).step_by(37) {
            let records = read(&mut log, cursor as u64);
            assert_eq!(records.as_deref(), slots.get(cursor..), "{cursor}");
        }
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
