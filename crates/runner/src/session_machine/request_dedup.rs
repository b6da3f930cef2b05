//! Deduplication of requests by their ids.

use std::collections::{HashMap, VecDeque};

/// Number of ids that are remembered. A client repeats a request within seconds.
const CAPACITY: usize = 4_096;

/// Maximal length of an id in bytes.
pub(super) const MAX_ID_BYTES: usize = 128;

/// The most recent request ids with the outcome of each.
#[derive(Debug)]
pub(crate) struct RequestDedup<T> {
    outcomes: HashMap<String, T>,
    /// Ids, oldest first.
    order: VecDeque<String>,
}

impl<T> Default for RequestDedup<T> {
    fn default() -> Self {
        Self {
            outcomes: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T> RequestDedup<T> {
    /// Returns the outcome of a request, if its id is known.
    pub(crate) fn get(&self, id: &str) -> Option<&T> {
        self.outcomes.get(id)
    }

    /// Returns the outcome of a request to change it, if its id is known.
    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.outcomes.get_mut(id)
    }

    /// Sets the outcome of a request. Evicts the oldest id at capacity.
    pub(crate) fn insert(&mut self, id: &str, outcome: T) {
        if self.outcomes.insert(id.to_owned(), outcome).is_some() {
            return;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > CAPACITY
            && let Some(oldest) = self.order.pop_front()
        {
            self.outcomes.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_id_is_evicted_at_capacity() {
        let mut requests = RequestDedup::default();
        for id in 0..=CAPACITY {
            requests.insert(&id.to_string(), id);
        }
        requests.insert("1", 7);
        assert_eq!(requests.get("0"), None);
        assert_eq!(
            (requests.get("1"), requests.outcomes.len()),
            (Some(&7), CAPACITY)
        );
    }
}
