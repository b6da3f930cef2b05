//! The host's prompts without an answer.

use std::collections::{BTreeMap, BTreeSet};

/// Names of prompts in the order in which they were sent. The turn of the first one runs.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenPrompts {
    names: BTreeMap<u64, String>,
    /// The places of each name: an id may be used again before its answer.
    orders: BTreeSet<(String, u64)>,
}

impl OpenPrompts {
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(super) fn first(&self) -> Option<(u64, &str)> {
        let (&order, name) = self.names.first_key_value()?;
        Some((order, name))
    }

    /// Adds a prompt after all others; returns its place.
    pub(super) fn push(&mut self, name: String) -> u64 {
        let last = self.names.last_key_value();
        let order = last.map_or(0, |(order, _)| order + 1);
        self.orders.insert((name.clone(), order));
        self.names.insert(order, name);
        order
    }

    /// Removes the prompts with a name; returns their places.
    pub(super) fn remove(&mut self, name: &str) -> Vec<u64> {
        let its = (name.to_owned(), 0)..=(name.to_owned(), u64::MAX);
        let removed: Vec<_> = self.orders.extract_if(its, |_| true).collect();
        let places = removed.into_iter().map(|(_, order)| order);
        places
            .inspect(|order| drop(self.names.remove(order)))
            .collect()
    }
}
