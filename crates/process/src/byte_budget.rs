//! How many bytes wait to be written, counted so that each leaves the count exactly once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::WriteError;

/// The bytes that wait, and how many may.
#[derive(Debug)]
pub struct ByteBudget {
    waiting: AtomicUsize,
    limit: usize,
}

impl ByteBudget {
    /// Returns a budget of `limit` bytes.
    pub fn new(limit: usize) -> Arc<Self> {
        let waiting = AtomicUsize::new(0);
        Arc::new(Self { waiting, limit })
    }

    /// Returns the number of bytes that are reserved.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Counts `bytes` in. What comes alone may be of any length.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Result<ReservedBytes, WriteError> {
        let add = |waiting: usize| {
            let sum = waiting.checked_add(bytes)?;
            (waiting == 0 || sum <= self.limit).then_some(sum)
        };
        self.waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .map_err(|waiting| WriteError::QueueFull { waiting })?;
        let budget = Arc::clone(self);
        Ok(ReservedBytes { budget, bytes })
    }
}

/// Bytes of one write that wait. Dropped, they wait no more.
#[derive(Debug)]
pub struct ReservedBytes {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl ReservedBytes {
    /// Some of them were taken.
    pub fn shrink(&mut self, taken: usize) {
        let taken = taken.min(self.bytes);
        self.bytes -= taken;
        self.budget.waiting.fetch_sub(taken, Ordering::Relaxed);
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_in_and_out_once() {
        let budget = ByteBudget::new(10);
        let mut first = budget.reserve(8).unwrap();
        assert!(matches!(
            budget.reserve(3),
            Err(WriteError::QueueFull { waiting: 8 })
        ));
        let second = budget.reserve(2).unwrap();
        first.shrink(5);
        assert_eq!(budget.waiting(), 5);
        drop(first);
        drop(second);
        assert_eq!(budget.waiting(), 0);
    }

    #[test]
    fn a_write_that_comes_alone_may_be_longer_than_the_queue() {
        let budget = ByteBudget::new(10);
        let long = budget.reserve(11).unwrap();
        assert!(budget.reserve(0).is_err(), "nothing joins it");
        drop(long);
        assert!(budget.reserve(0).is_ok());
    }
}
