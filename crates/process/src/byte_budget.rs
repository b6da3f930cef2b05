//! Limit on the number of bytes that are queued to be written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::WriteError;

/// Counter of reserved bytes, with a limit.
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

    /// Reserves `bytes`. Any number is accepted while nothing is reserved.
    ///
    /// # Errors
    ///
    /// [`WriteError::QueueFull`] if the limit would be exceeded.
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

/// Reserved bytes of one write. Returned to the budget when dropped.
#[derive(Debug)]
pub struct ReservedBytes {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl ReservedBytes {
    /// Returns `taken` bytes to the budget.
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
    fn reserved_bytes_are_returned_once() {
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
    fn single_write_may_exceed_limit() {
        let budget = ByteBudget::new(10);
        let long = budget.reserve(11).unwrap();
        assert!(budget.reserve(0).is_err(), "nothing joins it");
        drop(long);
        assert!(budget.reserve(0).is_ok());
    }
}
