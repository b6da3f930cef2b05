//! Records by number, in pages.
//!
//! Records are appended, never moved, and given up from the front. A page that is full is shared: a
//! copy of the store costs the page that is being filled, and a record that changes later costs a
//! copy of its page, once a copy.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// Records of a page: what a copy of the store has to copy at most, and a change behind one.
const PAGE: usize = 64;

/// Pages of a book: 32,768 records, for which a store holds one pointer.
const BOOK: usize = 512;

type Page<T> = Arc<Vec<T>>;
type Book<T> = Arc<Vec<Page<T>>>;

/// What records were appended, by their number.
#[derive(Clone, Debug)]
pub(crate) struct Store<T> {
    books: Arc<Vec<Book<T>>>,
    /// Number of the first record of the first book.
    base: usize,
    /// The page that is being filled.
    tail: Vec<T>,
    /// Number of its first record.
    start: usize,
    /// Number of the first record that was not given up.
    first: usize,
    /// Records before it that are kept all the same.
    kept: Arc<BTreeMap<usize, T>>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self {
            books: Arc::default(),
            base: 0,
            tail: Vec::new(),
            start: 0,
            first: 0,
            kept: Arc::default(),
        }
    }
}

impl<T> Store<T> {
    /// Records appended so far: the number of the next one.
    pub(crate) const fn len(&self) -> usize {
        self.start + self.tail.len()
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        if at < self.first {
            return self.kept.get(&at);
        }
        if at >= self.start {
            return self.tail.get(at - self.start);
        }
        let at = at - self.base;
        let book = self.books.get(at / PAGE / BOOK)?;
        book.get(at / PAGE % BOOK)?.get(at % PAGE)
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

impl<T: Clone> Store<T> {
    /// Appends a record and gives its number.
    pub(crate) fn push(&mut self, record: T) -> usize {
        if self.tail.len() == PAGE {
            self.turn();
        }
        self.tail.push(record);
        self.len() - 1
    }

    /// Begins a new page.
    #[cold]
    fn turn(&mut self) {
        let page = std::mem::replace(&mut self.tail, Vec::with_capacity(PAGE));
        let book = (self.start - self.base) / PAGE / BOOK;
        let books = Arc::make_mut(&mut self.books);
        self.start += page.len();
        if book == books.len() {
            books.push(Arc::default());
        }
        if let Some(book) = books.get_mut(book) {
            Arc::make_mut(book).push(Arc::new(page));
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        if at >= self.start && at >= self.first {
            return self.tail.get_mut(at - self.start);
        }
        self.older_mut(at)
    }

    #[cold]
    fn older_mut(&mut self, at: usize) -> Option<&mut T> {
        if at < self.first {
            return Arc::make_mut(&mut self.kept).get_mut(&at);
        }
        let at = at - self.base;
        let book = Arc::make_mut(&mut self.books).get_mut(at / PAGE / BOOK)?;
        let page = Arc::make_mut(book).get_mut(at / PAGE % BOOK)?;
        Arc::make_mut(page).get_mut(at % PAGE)
    }

    /// Gives up the records before `to`, but for those that are kept. The cost is that of what is
    /// given up.
    pub(crate) fn evict(&mut self, to: usize, is_kept: impl Fn(usize) -> bool) {
        let first = to.min(self.len()).max(self.first);
        let kept = self.before(first).filter(|&at| at >= to || is_kept(at));
        let kept = kept.filter_map(|at| Some((at, self.get(at)?.clone())));
        self.kept = Arc::new(kept.collect());
        let page = |at: usize| at.min(self.start).saturating_sub(self.base) / PAGE;
        let pages = page(self.first)..page(first);
        self.first = first;
        if first == self.len() {
            (self.base, self.start) = (first, first);
            (self.books, self.tail) = Default::default();
            return;
        }
        let empty = self.given_up().unwrap_or_default();
        for page in pages {
            let book = Arc::make_mut(&mut self.books).get_mut(page / BOOK);
            let page = book.and_then(|book| Arc::make_mut(book).get_mut(page % BOOK));
            if let Some(page) = page {
                *page = Arc::clone(&empty);
            }
        }
        self.close_books();
    }

    /// A page that was given up, if one is still in a book: all of them may be the same.
    fn given_up(&self) -> Option<Page<T>> {
        let oldest = self.books.first()?.first()?;
        oldest.is_empty().then(|| Arc::clone(oldest))
    }

    /// Drops the books whose records were all given up.
    fn close_books(&mut self) {
        let gone = (self.first.min(self.start) - self.base) / PAGE / BOOK;
        if gone > 0 {
            Arc::make_mut(&mut self.books).drain(..gone);
            self.base += gone * PAGE * BOOK;
        }
    }
}

impl<T> Index<usize> for Store<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        self.get(at).expect("ids name records that are there")
    }
}

impl<T: Clone> IndexMut<usize> for Store<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        self.get_mut(at).expect("ids name records that are there")
    }
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
    fn records_are_found_by_their_number() {
        let len = PAGE * BOOK + 3 * PAGE + 5;
        let mut store = store(len);
        assert!((0..len).all(|at| store[at] == at));
        assert_eq!((store.get(len), store.len()), (None, len));
        for at in [0, PAGE - 1, PAGE * BOOK, len - 1] {
            store[at] += 1;
            assert_eq!(store[at], at + 1);
        }
    }

    #[test]
    fn a_copy_shares_every_full_page_and_never_changes() {
        let mut store = store(10 * PAGE + 1);
        let copy = store.clone();
        store[0] = 7;
        store[10 * PAGE] = 7;
        store.push(7);
        assert!((0..copy.len()).all(|at| copy[at] == at));
        let shared = |at: usize| Arc::ptr_eq(&store.books[0][at], &copy.books[0][at]);
        assert!(!shared(0) && (1..10).all(shared));
    }

    #[test]
    fn what_was_given_up_takes_no_room() {
        let mut store = Store::default();
        for at in 0..3 * PAGE * BOOK + 5 {
            assert_eq!(store.push(at), at);
            store.evict((at + 1).saturating_sub(2 * PAGE), |_| false);
            assert!(store.books.len() <= 2);
            assert!((store.first..=at).all(|at| store[at] == at));
        }
        let pages = store.books.iter().flat_map(|book| book.iter());
        let given_up: Vec<_> = pages.filter(|page| page.is_empty()).collect();
        assert!(given_up.iter().all(|page| Arc::ptr_eq(page, given_up[0])));
    }

    #[test]
    fn records_are_given_up_from_the_front() {
        let len = 10 * PAGE + 3;
        let mut store = store(len);
        let copy = store.clone();
        let is_kept = |at: usize| at % 100 == 7;
        for to in [1, PAGE - 1, PAGE, 5 * PAGE + 9, 10 * PAGE + 1, len] {
            store.evict(to, is_kept);
            let there: Vec<_> = store.numbers().collect();
            assert!(
                there
                    .into_iter()
                    .eq((0..len).filter(|&at| at >= to || is_kept(at)))
            );
            assert!((0..len).all(|at| store.get(at).is_none_or(|&it| it == at)));
            store[107] = 107;
        }
        assert_eq!((store.push(len), store.len()), (len, len + 1));
        for at in len + 1..len + 2 * PAGE {
            assert_eq!((store.push(at), store[at]), (at, at));
        }
        assert!((0..copy.len()).all(|at| copy[at] == at));
    }
}
