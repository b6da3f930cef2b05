//! Doubly linked lists of records, in the order of their ids.
//!
//! Each thread has a list of its entries and one of its calls. The links are in the records, so that
//! a snapshot shares them with the pages of the store.

use crate::record::{CallId, CallRecord, EntryId, EntryRecord, ListEnds, ListLinks};
use crate::store::{RecordKey, Store};

/// A record that is part of a list.
pub(crate) trait Listed: Clone {
    type Id: RecordKey + Ord;

    fn links(&self) -> &ListLinks<Self::Id>;

    fn links_mut(&mut self) -> &mut ListLinks<Self::Id>;
}

macro_rules! listed {
    ($record:ty, $id:ty) => {
        impl Listed for $record {
            type Id = $id;

            fn links(&self) -> &ListLinks<$id> {
                &self.links
            }

            fn links_mut(&mut self) -> &mut ListLinks<$id> {
                &mut self.links
            }
        }
    };
}

listed!(EntryRecord, EntryId);
listed!(CallRecord, CallId);

/// Inserts a record in its place, which is nearly always the end.
pub(crate) fn insert<R: Listed>(store: &mut Store<R>, ends: &mut ListEnds<R::Id>, id: R::Id) {
    let (mut previous, mut next) = (ends.last, None);
    while let Some(last) = previous.filter(|&last| last > id) {
        next = previous;
        previous = store[last].links().previous;
    }
    *store[id].links_mut() = ListLinks { previous, next };
    connect(store, ends, previous, Some(id));
    connect(store, ends, Some(id), next);
}

/// Removes a record from its list.
pub(crate) fn remove<R: Listed>(store: &mut Store<R>, ends: &mut ListEnds<R::Id>, id: R::Id) {
    let ListLinks { previous, next } = *store[id].links();
    connect(store, ends, previous, next);
}

/// Makes two records neighbours; `None` stands for an end of the list.
fn connect<R: Listed>(
    store: &mut Store<R>,
    ends: &mut ListEnds<R::Id>,
    previous: Option<R::Id>,
    next: Option<R::Id>,
) {
    match previous {
        Some(previous) => store[previous].links_mut().next = next,
        None => ends.first = next,
    }
    match next {
        Some(next) => store[next].links_mut().previous = previous,
        None => ends.last = previous,
    }
}

/// Iterator over the ids of a list.
#[derive(Debug)]
pub(crate) struct ListIter<'a, R: Listed> {
    store: &'a Store<R>,
    ends: ListEnds<R::Id>,
}

impl<'a, R: Listed> ListIter<'a, R> {
    pub(crate) const fn new(store: &'a Store<R>, ends: ListEnds<R::Id>) -> Self {
        Self { store, ends }
    }

    /// The ends of what is left, to continue with another iterator.
    pub(crate) const fn ends(&self) -> ListEnds<R::Id> {
        self.ends
    }

    /// Whether `id` is the only one left.
    fn is_last(&self, id: R::Id) -> bool {
        self.ends.first == self.ends.last && self.ends.first == Some(id)
    }
}

impl<R: Listed> Iterator for ListIter<'_, R> {
    type Item = R::Id;

    fn next(&mut self) -> Option<R::Id> {
        let id = self.ends.first?;
        if self.is_last(id) {
            self.ends = ListEnds::default();
        } else {
            self.ends.first = self.store[id].links().next;
        }
        Some(id)
    }
}

impl<R: Listed> DoubleEndedIterator for ListIter<'_, R> {
    fn next_back(&mut self) -> Option<R::Id> {
        let id = self.ends.last?;
        if self.is_last(id) {
            self.ends = ListEnds::default();
        } else {
            self.ends.last = self.store[id].links().previous;
        }
        Some(id)
    }
}
