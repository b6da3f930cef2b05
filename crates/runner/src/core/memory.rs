//! Which requests were seen: the newest so many ids, and what became of each.

use std::collections::{HashMap, VecDeque};

/// Ids that are remembered. A client that repeats a request does so within seconds.
const IDS: usize = 4_096;

/// Bytes of the longest id that is taken.
pub(super) const ID_BYTES: usize = 128;

#[derive(Debug)]
pub(super) struct Memory<T> {
    known: HashMap<String, T>,
    order: VecDeque<String>,
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T> Memory<T> {
    pub(super) fn find(&self, id: &str) -> Option<&T> {
        self.known.get(id)
    }

    /// Notes what became of a request. The oldest is forgotten for it.
    pub(super) fn remember(&mut self, id: &str, what: T) {
        if self.known.insert(id.to_owned(), what).is_some() {
            return;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > IDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_ids_are_remembered() {
        let mut memory = Memory::default();
        for id in 0..=IDS {
            memory.remember(&id.to_string(), id);
        }
        memory.remember("1", 7);
        assert_eq!(memory.find("0"), None);
        assert_eq!((memory.find("1"), memory.known.len()), (Some(&7), IDS));
    }
}
