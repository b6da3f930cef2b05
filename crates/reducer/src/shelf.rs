//! Records by number, of which the older ones are packed.
//!
//! A transcript holds some records for each thing that is said, and few of them ever change again.
//! They are kept in sheets of 64: the newest as they are, older ones packed into a few bytes each
//! (see [`columns`]). A record that is read from a packed sheet is made anew; one that changes there
//! has its sheet unpacked for a while. Sheets are shared by every copy.

mod columns;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::sync::Arc;

pub(crate) use columns::{Columns, Packed, Row, SHEET};

use crate::store::Store;

/// Sheets that are looked at, once so many records of a new one are there: the first of them change
/// what was the last.
const LOOKS: usize = 4;
const LOOKED_AT: usize = 8;

/// Sheets that are begun before one is looked at again of which something is open, and before one
/// that was unpacked is packed again. What changes one record of a sheet often changes another.
const OPEN: u32 = 2;
const UNPACKED: u32 = 64;

/// Records that the sheet which is being filled grows by, and those of a short session.
const STEP: usize = 16;
const FIRST: usize = 4;

/// What records were appended, by their number.
#[derive(Clone, Debug)]
pub(crate) struct Shelf<T> {
    sheets: Store<Sheet<T>>,
    /// Number of the first record of the first sheet.
    base: usize,
    /// The sheet that is being filled, and the number of its first record.
    tail: Vec<T>,
    start: usize,
    /// Number of the first record that was not given up.
    first: usize,
    /// Records before it that are kept all the same.
    kept: Arc<BTreeMap<usize, T>>,
    /// Sheets to pack.
    waiting: VecDeque<Waiting>,
}

#[derive(Clone, Debug)]
enum Sheet<T> {
    Open(Arc<Vec<T>>),
    Packed(Columns),
    GivenUp,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    sheet: u32,
    /// How many sheets there are to be before it is packed.
    ripe: u32,
}

/// A record: where it lies, or as it was made from what is packed.
#[derive(Debug)]
pub(crate) enum Ref<'a, T> {
    Here(&'a T),
    Made(T),
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Self::Here(record) => record,
            Self::Made(record) => record,
        }
    }
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self {
            sheets: Store::default(),
            base: 0,
            tail: Vec::new(),
            start: 0,
            first: 0,
            kept: Arc::default(),
            waiting: VecDeque::new(),
        }
    }
}

impl<T> Shelf<T> {
    /// Records appended so far: the number of the next one.
    pub(crate) const fn len(&self) -> usize {
        self.start + self.tail.len()
    }

    /// Whether a record is there.
    pub(crate) fn has(&self, at: usize) -> bool {
        at < self.len() && (at >= self.first || self.kept.contains_key(&at))
    }

    /// Numbers of the records that are there.
    pub(crate) fn numbers(&self) -> impl DoubleEndedIterator<Item = usize> + use<'_, T> {
        self.kept.keys().copied().chain(self.first..self.len())
    }

    /// Numbers of the records before `to` that are there.
    pub(crate) fn before(&self, to: usize) -> impl Iterator<Item = usize> + use<'_, T> {
        self.numbers().take_while(move |&at| at < to)
    }
}

impl<T: Packed> Shelf<T> {
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<Ref<'_, T>> {
        if at >= self.start.max(self.first) {
            return self.tail.get(at - self.start).map(Ref::Here);
        }
        self.older(at)
    }

    #[inline(never)]
    fn older(&self, at: usize) -> Option<Ref<'_, T>> {
        if at < self.first {
            return self.kept.get(&at).map(Ref::Here);
        }
        let place = at - self.base;
        match self.sheets.get(place / SHEET)? {
            Sheet::Open(records) => records.get(place % SHEET).map(Ref::Here),
            Sheet::Packed(columns) => {
                let row = columns.row(place % SHEET);
                Some(Ref::Made(T::of_row(at, &row)))
            }
            Sheet::GivenUp => None,
        }
    }

    /// The record with this number, which is there.
    #[inline]
    pub(crate) fn at(&self, at: usize) -> Ref<'_, T> {
        self.get(at).expect("ids name records that are there")
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        if at >= self.start.max(self.first) {
            return self.tail.get_mut(at - self.start);
        }
        self.older_mut(at)
    }

    #[cold]
    fn older_mut(&mut self, at: usize) -> Option<&mut T> {
        if at < self.first {
            return Arc::make_mut(&mut self.kept).get_mut(&at);
        }
        let place = at - self.base;
        let (number, ripe) = (place / SHEET, self.sheets.len() as u32 + UNPACKED);
        let sheet = self.sheets.get_mut(number)?;
        if let Sheet::Packed(columns) = sheet {
            let first = self.base + number * SHEET;
            let made = |at| T::of_row(first + at, &columns.row(at));
            *sheet = Sheet::Open(Arc::new((0..SHEET).map(made).collect()));
            let sheet = number as u32;
            self.waiting.push_back(Waiting { sheet, ripe });
        }
        match sheet {
            Sheet::Open(records) => Arc::make_mut(records).get_mut(place % SHEET),
            _ => None,
        }
    }

    /// The record with this number, which is there.
    #[inline]
    pub(crate) fn at_mut(&mut self, at: usize) -> &mut T {
        self.get_mut(at).expect("ids name records that are there")
    }

    /// Appends a record and gives its number.
    pub(crate) fn push(&mut self, record: T) -> usize {
        match self.tail.len() {
            SHEET => self.turn(),
            LOOKED_AT if !self.waiting.is_empty() => self.pack_all(),
            _ => {}
        }
        let len = self.tail.len();
        if len == self.tail.capacity() {
            let more = STEP.min(len.max(FIRST)).min(SHEET - len);
            self.tail.reserve_exact(more);
        }
        self.tail.push(record);
        self.len() - 1
    }

    /// Begins a new sheet.
    #[cold]
    fn turn(&mut self) {
        let full = std::mem::replace(&mut self.tail, Vec::with_capacity(STEP));
        self.start += full.len();
        let sheet = self.sheets.push(Sheet::Open(Arc::new(full))) as u32;
        self.waiting.push_back(Waiting { sheet, ripe: 0 });
    }

    /// Packs what is to be packed by now.
    #[cold]
    fn pack_all(&mut self) {
        for _ in 0..self.waiting.len().min(LOOKS) {
            if let Some(next) = self.waiting.pop_front() {
                self.pack(next);
            }
        }
    }

    /// Packs a sheet, unless something in it is open.
    fn pack(&mut self, mut next: Waiting) {
        let (number, now) = (next.sheet as usize, self.sheets.len() as u32);
        let Some(Sheet::Open(records)) = self.sheets.get(number) else {
            return;
        };
        if next.ripe > now {
            return self.waiting.push_back(next);
        }
        if !records.iter().all(T::is_settled) {
            next.ripe = now + OPEN;
            return self.waiting.push_back(next);
        }
        let columns = Columns::of(self.base + number * SHEET, records);
        if let (Some(columns), Some(sheet)) = (columns, self.sheets.get_mut(number)) {
            *sheet = Sheet::Packed(columns);
        }
    }

    /// Gives up the records before `to`, but for those that are kept. The cost is that of what is
    /// given up.
    pub(crate) fn evict(&mut self, to: usize, is_kept: impl Fn(usize) -> bool) {
        let first = to.min(self.len()).max(self.first);
        let kept = self.before(first).filter(|&at| at >= to || is_kept(at));
        let kept = kept.filter_map(|at| Some((at, self.get(at)?.clone())));
        self.kept = Arc::new(kept.collect());
        let sheet = |at: usize| at.min(self.start).saturating_sub(self.base) / SHEET;
        let sheets = sheet(self.first)..sheet(first);
        self.first = first;
        if first == self.len() {
            (self.base, self.start) = (first, first);
            (self.sheets, self.tail) = Default::default();
            self.waiting = VecDeque::new();
            return;
        }
        let end = sheets.end;
        for sheet in sheets {
            if let Some(sheet) = self.sheets.get_mut(sheet) {
                *sheet = Sheet::GivenUp;
            }
        }
        self.sheets.evict(end, |_| false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number, and whether nothing of it is open.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Thing(usize, bool);

    impl Packed for Thing {
        const COLUMNS: usize = 2;

        fn is_settled(&self) -> bool {
            self.1
        }

        fn to_row(&self, _: usize, row: &mut Row) {
            (row[0], row[1]) = (self.0 as u64, u64::from(self.1));
        }

        fn of_row(_: usize, row: &Row) -> Self {
            Self(row[0] as usize, row[1] == 1)
        }
    }

    fn shelf(len: usize) -> Shelf<Thing> {
        let mut shelf = Shelf::default();
        for number in 0..len {
            assert_eq!(shelf.push(Thing(number, true)), number);
        }
        shelf
    }

    fn packed(shelf: &Shelf<Thing>) -> usize {
        let sheets = shelf.sheets.numbers();
        sheets
            .filter(|&at| matches!(shelf.sheets[at], Sheet::Packed(_)))
            .count()
    }

    #[test]
    fn records_are_found_by_their_number_packed_or_not() {
        let len = 200 * SHEET + 9;
        let mut shelf = shelf(len);
        assert_eq!((packed(&shelf), shelf.len()), (200, len));
        assert!((0..len).all(|at| shelf.at(at).0 == at));
        assert!(shelf.get(len).is_none());
        for at in [0, SHEET - 1, 70 * SHEET, 199 * SHEET + 1, len - 1] {
            shelf.at_mut(at).0 += 1;
            assert_eq!(shelf.at(at).0, at + 1);
        }
        assert_eq!(packed(&shelf), 197);
        for number in len..len + (UNPACKED as usize + 2) * SHEET {
            shelf.push(Thing(number, true));
        }
        assert_eq!(packed(&shelf), shelf.sheets.len());
        assert_eq!(shelf.at(70 * SHEET).0, 70 * SHEET + 1);
    }

    #[test]
    fn what_is_open_is_not_packed() {
        let mut shelf = Shelf::default();
        shelf.push(Thing(0, false));
        for number in 1..30 * SHEET {
            shelf.push(Thing(number, true));
        }
        assert!(matches!(shelf.sheets[0], Sheet::Open(_)));
        shelf.at_mut(0).1 = true;
        for number in 30 * SHEET..40 * SHEET {
            shelf.push(Thing(number, true));
        }
        assert!(matches!(shelf.sheets[0], Sheet::Packed(_)));
    }

    #[test]
    fn a_copy_never_changes() {
        let mut shelf = shelf(10 * SHEET + 1);
        let copy = shelf.clone();
        for at in [0, 9 * SHEET, 10 * SHEET] {
            shelf.at_mut(at).0 = 7;
        }
        shelf.push(Thing(7, true));
        assert!((0..copy.len()).all(|at| copy.at(at).0 == at));
    }

    #[test]
    fn records_are_given_up_from_the_front() {
        let len = 10 * SHEET + 3;
        let mut shelf = shelf(len);
        let copy = shelf.clone();
        let is_kept = |at: usize| at % 100 == 7;
        for to in [1, SHEET - 1, SHEET, 5 * SHEET + 9, 10 * SHEET + 1, len] {
            shelf.evict(to, is_kept);
            let there: Vec<_> = shelf.numbers().collect();
            assert!(
                there
                    .into_iter()
                    .eq((0..len).filter(|&at| at >= to || is_kept(at)))
            );
            let is_right = |at: usize| shelf.get(at).is_none_or(|it| it.0 == at);
            assert!((0..len).all(is_right));
            assert!((0..len).all(|at| shelf.has(at) == shelf.get(at).is_some()));
            shelf.at_mut(107).0 = 107;
        }
        for at in len..len + 2 * SHEET {
            assert_eq!((shelf.push(Thing(at, true)), shelf.at(at).0), (at, at));
        }
        assert!((0..copy.len()).all(|at| copy.at(at).0 == at));
    }

    #[test]
    fn what_was_given_up_takes_no_room() {
        let mut shelf = Shelf::default();
        for at in 0..200 * SHEET {
            shelf.push(Thing(at, true));
            shelf.evict((at + 1).saturating_sub(2 * SHEET), |_| false);
            let there = shelf.sheets.numbers();
            let full = there.filter(|&at| !matches!(shelf.sheets[at], Sheet::GivenUp));
            assert!(full.count() <= 3 && shelf.waiting.len() <= 3);
            assert!((shelf.first..=at).all(|at| shelf.at(at).0 == at));
        }
    }
}
