//! Lists whose records point at each other, in the order of their ids.

use crate::record::{Beside, CallId, CallRecord, Ends, EntryId, EntryRecord};
use crate::shelf::{Packed, Shelf};

/// A record that stands in a list.
pub(crate) trait Listed: Packed {
    type Id: Copy + Ord;

    fn at(id: Self::Id) -> usize;

    fn beside(&self) -> &Beside<Self::Id>;

    fn beside_mut(&mut self) -> &mut Beside<Self::Id>;
}

macro_rules! listed {
    ($record:ty, $id:ty) => {
        impl Listed for $record {
            type Id = $id;

            fn at(id: $id) -> usize {
                id.at()
            }

            fn beside(&self) -> &Beside<$id> {
                &self.beside
            }

            fn beside_mut(&mut self) -> &mut Beside<$id> {
                &mut self.beside
            }
        }
    };
}

listed!(EntryRecord, EntryId);
listed!(CallRecord, CallId);

/// Puts a record into its place in a list, which is the end nearly always.
pub(crate) fn insert<R: Listed>(store: &mut Shelf<R>, ends: &mut Ends<R::Id>, id: R::Id) {
    let (mut before, mut next) = (ends.last, None);
    while let Some(last) = before.filter(|&last| last > id) {
        next = before;
        before = store.at(R::at(last)).beside().before;
    }
    *store.at_mut(R::at(id)).beside_mut() = Beside { before, next };
    join(store, ends, before, Some(id));
    join(store, ends, Some(id), next);
}

/// Takes a record out of its list.
pub(crate) fn remove<R: Listed>(store: &mut Shelf<R>, ends: &mut Ends<R::Id>, id: R::Id) {
    let Beside { before, next } = *store.at(R::at(id)).beside();
    join(store, ends, before, next);
}

/// Makes two neighbours; none stands for what is beyond an end.
fn join<R: Listed>(
    store: &mut Shelf<R>,
    ends: &mut Ends<R::Id>,
    before: Option<R::Id>,
    next: Option<R::Id>,
) {
    match before {
        Some(before) => store.at_mut(R::at(before)).beside_mut().next = next,
        None => ends.first = next,
    }
    match next {
        Some(next) => store.at_mut(R::at(next)).beside_mut().before = before,
        None => ends.last = before,
    }
}

/// The ids of a list.
#[derive(Debug)]
pub(crate) struct Walk<'a, R: Listed> {
    store: &'a Shelf<R>,
    ends: Ends<R::Id>,
}

impl<'a, R: Listed> Walk<'a, R> {
    pub(crate) const fn new(store: &'a Shelf<R>, ends: Ends<R::Id>) -> Self {
        Self { store, ends }
    }

    /// Both ends have met in `id`.
    fn is_last(&self, id: R::Id) -> bool {
        self.ends.first == self.ends.last && self.ends.first == Some(id)
    }
}

impl<R: Listed> Iterator for Walk<'_, R> {
    type Item = R::Id;

    fn next(&mut self) -> Option<R::Id> {
        let id = self.ends.first?;
        if self.is_last(id) {
            self.ends = Ends::default();
        } else {
            self.ends.first = self.store.at(R::at(id)).beside().next;
        }
        Some(id)
    }
}

impl<R: Listed> DoubleEndedIterator for Walk<'_, R> {
    fn next_back(&mut self) -> Option<R::Id> {
        let id = self.ends.last?;
        if self.is_last(id) {
            self.ends = Ends::default();
        } else {
            self.ends.last = self.store.at(R::at(id)).beside().before;
        }
        Some(id)
    }
}
