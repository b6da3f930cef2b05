//! An append-only sequence of records that is cheap to copy.
//!
//! Records are numbered in the order in which they are appended, never move, and are evicted from the
//! front. They are stored in shared pages (`Arc`): a copy of the store copies the page that is being
//! filled, and a record that changes afterwards copies its page once (copy-on-write).

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// Records in a page: the most that a copy of the store, or a change after one, has to copy.
const PAGE_LEN: usize = 64;

/// Pages in a group: 32,768 records, for which a store holds one pointer.
const GROUP_LEN: usize = 512;

type Page<T> = Arc<Vec<T>>;
type PageGroup<T> = Arc<Vec<Page<T>>>;

/// The number of a record, or an id that wraps it.
pub(crate) trait RecordKey: Copy {
    fn index(self) -> usize;
}

impl RecordKey for usize {
    #[inline]
    fn index(self) -> usize {
        self
    }
}

impl<K: RecordKey> RecordKey for &K {
    #[inline]
    fn index(self) -> usize {
        (*self).index()
    }
}

/// Records by number.
#[derive(Clone, Debug)]
pub(crate) struct Store<T> {
    groups: Arc<Vec<PageGroup<T>>>,
    /// Number of the first record of the first group.
    base: usize,
    /// The page that is being filled.
    tail: Vec<T>,
    /// Number of the first record in `tail`.
    tail_start: usize,
    /// Number of the first record that was not evicted.
    first: usize,
    /// Records before `first` that were pinned when the others were evicted.
    pinned: Arc<BTreeMap<usize, T>>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self {
            groups: Arc::default(),
            base: 0,
            tail: Vec::new(),
            tail_start: 0,
            first: 0,
            pinned: Arc::default(),
        }
    }
}

impl<T> Store<T> {
    /// Number of records appended so far, which is the number of the next one.
    pub(crate) const fn len(&self) -> usize {
        self.tail_start + self.tail.len()
    }

    /// Bytes of the records appended so far, without what they point to.
    pub(crate) const fn size(&self) -> u64 {
        (self.len() * size_of::<T>()) as u64
    }

    #[inline]
    pub(crate) fn get(&self, key: impl RecordKey) -> Option<&T> {
        #[cfg(test)]
        count_lookup();
        let at = key.index();
        if at >= self.tail_start.max(self.first) {
            return self.tail.get(at - self.tail_start);
        }
        self.get_older(at)
    }

    fn get_older(&self, at: usize) -> Option<&T> {
        if at < self.first {
            return self.pinned.get(&at);
        }
        let at = at - self.base;
        let group = self.groups.get(at / PAGE_LEN / GROUP_LEN)?;
        group.get(at / PAGE_LEN % GROUP_LEN)?.get(at % PAGE_LEN)
    }

    /// Whether the record has been appended and not evicted.
    pub(crate) fn contains(&self, key: impl RecordKey) -> bool {
        let at = key.index();
        at < self.len() && (at >= self.first || self.pinned.contains_key(&at))
    }

    /// Numbers of the records that are present.
    pub(crate) fn numbers(&self) -> impl DoubleEndedIterator<Item = usize> + use<'_, T> {
        self.pinned.keys().copied().chain(self.first..self.len())
    }

    /// Numbers of the records before `end` that are present.
    pub(crate) fn numbers_before(&self, end: usize) -> impl Iterator<Item = usize> + use<'_, T> {
        self.numbers().take_while(move |&at| at < end)
    }
}

impl<T: Clone> Store<T> {
    /// Appends a record and returns its number.
    pub(crate) fn push(&mut self, record: T) -> usize {
        if self.tail.len() == PAGE_LEN {
            self.seal_tail();
        }
        self.tail.push(record);
        self.len() - 1
    }

    /// Moves the full tail into the shared pages.
    #[cold]
    fn seal_tail(&mut self) {
        let page = std::mem::replace(&mut self.tail, Vec::with_capacity(PAGE_LEN));
        let group = (self.tail_start - self.base) / PAGE_LEN / GROUP_LEN;
        let groups = Arc::make_mut(&mut self.groups);
        self.tail_start += page.len();
        if group == groups.len() {
            groups.push(Arc::default());
        }
        if let Some(group) = groups.get_mut(group) {
            Arc::make_mut(group).push(Arc::new(page));
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: impl RecordKey) -> Option<&mut T> {
        #[cfg(test)]
        count_lookup();
        let at = key.index();
        if at >= self.tail_start.max(self.first) {
            return self.tail.get_mut(at - self.tail_start);
        }
        self.get_older_mut(at)
    }

    #[cold]
    fn get_older_mut(&mut self, at: usize) -> Option<&mut T> {
        if at < self.first {
            return Arc::make_mut(&mut self.pinned).get_mut(&at);
        }
        let at = at - self.base;
        let group = Arc::make_mut(&mut self.groups).get_mut(at / PAGE_LEN / GROUP_LEN)?;
        let page = Arc::make_mut(group).get_mut(at / PAGE_LEN % GROUP_LEN)?;
        Arc::make_mut(page).get_mut(at % PAGE_LEN)
    }

    /// Evicts the records before `end`, except those that are pinned. Costs as much as what is
    /// evicted.
    pub(crate) fn evict(&mut self, end: usize, is_pinned: impl Fn(usize) -> bool) {
        let first = end.min(self.len()).max(self.first);
        let pinned = self
            .numbers_before(first)
            .filter(|&at| at >= end || is_pinned(at));
        let pinned = pinned.filter_map(|at| Some((at, self.get(at)?.clone())));
        self.pinned = Arc::new(pinned.collect());
        let page = |at: usize| at.min(self.tail_start).saturating_sub(self.base) / PAGE_LEN;
        let pages = page(self.first)..page(first);
        self.first = first;
        if first == self.len() {
            (self.base, self.tail_start) = (first, first);
            (self.groups, self.tail) = Default::default();
            return;
        }
        let empty = self.evicted_page().unwrap_or_default();
        for page in pages {
            let group = Arc::make_mut(&mut self.groups).get_mut(page / GROUP_LEN);
            let page = group.and_then(|group| Arc::make_mut(group).get_mut(page % GROUP_LEN));
            if let Some(page) = page {
                *page = Arc::clone(&empty);
            }
        }
        let evicted = (self.first.min(self.tail_start) - self.base) / PAGE_LEN / GROUP_LEN;
        if evicted > 0 {
            Arc::make_mut(&mut self.groups).drain(..evicted);
            self.base += evicted * PAGE_LEN * GROUP_LEN;
        }
    }

    /// The empty page that stands for every evicted one, if a group holds one already.
    fn evicted_page(&self) -> Option<Page<T>> {
        let oldest = self.groups.first()?.first()?;
        oldest.is_empty().then(|| Arc::clone(oldest))
    }
}

impl<T, K: RecordKey> Index<K> for Store<T> {
    type Output = T;

    #[inline]
    fn index(&self, key: K) -> &T {
        self.get(key).expect("ids name records that are present")
    }
}

impl<T: Clone, K: RecordKey> IndexMut<K> for Store<T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        self.get_mut(key)
            .expect("ids name records that are present")
    }
}

#[cfg(test)]
thread_local! {
    static LOOKUPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
fn count_lookup() {
    LOOKUPS.set(LOOKUPS.get() + 1);
}

/// Number of records that this thread has looked up: a measure of what a fold costs.
#[cfg(test)]
pub(crate) fn lookups() -> u64 {
    LOOKUPS.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(len: usize) -> Store<usize> {
        let mut store = Store::default();
        for number in 0..len {
            assert_eq!(store.push(number), number);
        }
        store
    }

    #[test]
    fn records_are_found_by_number() {
        let len = PAGE_LEN * GROUP_LEN + 3 * PAGE_LEN + 5;
        let mut store = store(len);
        assert!((0..len).all(|at| store[at] == at));
        assert_eq!((store.get(len), store.len()), (None, len));
        for at in [0, PAGE_LEN - 1, PAGE_LEN * GROUP_LEN, len - 1] {
            store[at] += 1;
            assert_eq!(store[at], at + 1);
        }
    }

    #[test]
    fn copy_shares_full_pages_and_never_changes() {
        let mut store = store(10 * PAGE_LEN + 1);
        let copy = store.clone();
        store[0] = 7;
        store[10 * PAGE_LEN] = 7;
        store.push(7);
        assert!((0..copy.len()).all(|at| copy[at] == at));
        let is_shared = |at: usize| Arc::ptr_eq(&store.groups[0][at], &copy.groups[0][at]);
        assert!(!is_shared(0) && (1..10).all(is_shared));
    }

    #[test]
    fn evicted_pages_take_no_memory() {
        let mut store = Store::default();
        for at in 0..3 * PAGE_LEN * GROUP_LEN + 5 {
            assert_eq!(store.push(at), at);
            store.evict((at + 1).saturating_sub(2 * PAGE_LEN), |_| false);
            assert!(store.groups.len() <= 2);
            assert!((store.first..=at).all(|at| store[at] == at));
        }
        let pages = store.groups.iter().flat_map(|group| group.iter());
        let evicted: Vec<_> = pages.filter(|page| page.is_empty()).collect();
        assert!(evicted.iter().all(|page| Arc::ptr_eq(page, evicted[0])));
    }

    #[test]
    fn eviction_keeps_pinned_records() {
        let len = 10 * PAGE_LEN + 3;
        let mut store = store(len);
        let copy = store.clone();
        let is_pinned = |at: usize| at % 100 == 7;
        for end in [
            1,
            PAGE_LEN - 1,
            PAGE_LEN,
            5 * PAGE_LEN + 9,
            10 * PAGE_LEN + 1,
            len,
        ] {
            store.evict(end, is_pinned);
            let present: Vec<_> = (0..len).filter(|&at| at >= end || is_pinned(at)).collect();
            assert_eq!(store.numbers().collect::<Vec<_>>(), present);
            assert!((0..len).all(|at| store.get(at).is_none_or(|&it| it == at)));
            assert!((0..len).all(|at| store.contains(at) == store.get(at).is_some()));
            store[107] = 107;
        }
        for at in len..len + 2 * PAGE_LEN {
            assert_eq!((store.push(at), store[at]), (at, at));
        }
        assert!((0..copy.len()).all(|at| copy[at] == at));
    }
}
