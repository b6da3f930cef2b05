//! How many bytes wait to be written, counted so that each leaves the count exactly once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::WriteError;

/// The bytes that wait, and how many may.
#[derive(Debug)]
pub(crate) struct Claims {
    waiting: AtomicUsize,
    limit: usize,
}

impl Claims {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        let waiting = AtomicUsize::new(0);
        Arc::new(Self { waiting, limit })
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Counts `bytes` in. What comes alone may be of any length.
    pub(crate) fn claim(self: &Arc<Self>, bytes: usize) -> Result<Claim, WriteError> {
        let add = |waiting: usize| {
            let sum = waiting.checked_add(bytes)?;
            (waiting == 0 || sum <= self.limit).then_some(sum)
        };
        self.waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .map_err(|waiting| WriteError::QueueFull { waiting })?;
        let claims = Arc::clone(self);
        Ok(Claim { claims, bytes })
    }
}

/// Bytes of one write that wait. Dropped, they wait no more.
#[derive(Debug)]
pub(crate) struct Claim {
    claims: Arc<Claims>,
    bytes: usize,
}

impl Claim {
    /// Some of them were taken.
    pub(crate) fn shrink(&mut self, taken: usize) {
        let taken = taken.min(self.bytes);
        self.bytes -= taken;
        self.claims.waiting.fetch_sub(taken, Ordering::Relaxed);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_in_and_out_once() {
        let claims = Claims::new(10);
        let mut first = claims.claim(8).unwrap();
        assert!(matches!(
            claims.claim(3),
            Err(WriteError::QueueFull { waiting: 8 })
        ));
        let second = claims.claim(2).unwrap();
        first.shrink(5);
        assert_eq!(claims.waiting(), 5);
        drop(first);
        drop(second);
        assert_eq!(claims.waiting(), 0);
    }

    #[test]
    fn a_write_that_comes_alone_may_be_longer_than_the_queue() {
        let claims = Claims::new(10);
        let long = claims.claim(11).unwrap();
        assert!(claims.claim(0).is_err(), "nothing joins it");
        drop(long);
        assert!(claims.claim(0).is_ok());
    }
}
