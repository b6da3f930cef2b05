//! A token bucket per key. Time is an argument.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Number of remembered keys above which keys with a full bucket are dropped.
const MAX_KEYS: usize = 4096;

/// Limits the rate of an action per key with token buckets.
#[derive(Debug)]
pub(crate) struct RateLimiter<K> {
    burst: u32,
    /// Time to refill one permit.
    refill: Duration,
    /// When the bucket of a key is full again.
    full_at: HashMap<K, Instant>,
}

/// What a key may still do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Permits of a full bucket.
    pub(crate) burst: u32,
    /// Time in which an empty bucket fills.
    pub(crate) window: Duration,
    /// Permits that are left.
    pub(crate) remaining: u32,
    /// Time until the bucket is full.
    pub(crate) reset: Duration,
}

impl<K: Hash + Eq> RateLimiter<K> {
    /// Allows `burst` permits at once and `per_second` after that. Zero counts as one.
    pub(crate) fn new(burst: u32, per_second: u32) -> Self {
        Self {
            burst: burst.max(1),
            refill: Duration::from_secs(1) / per_second.max(1),
            full_at: HashMap::new(),
        }
    }

    /// Takes one permit of a key.
    ///
    /// # Errors
    ///
    /// Returns the time until the next permit if the bucket is empty.
    pub(crate) fn acquire(&mut self, key: K, now: Instant) -> Result<(), Duration> {
        self.drop_full_buckets(now);
        let full_at = self.full_at.entry(key).or_insert(now);
        let missing = full_at.saturating_duration_since(now);
        let max_missing = self.refill * (self.burst - 1);
        if missing > max_missing {
            return Err(missing - max_missing);
        }
        *full_at = now + missing + self.refill;
        Ok(())
    }

    /// Returns what a key may still do, without taking a permit.
    pub(crate) fn quota(&self, key: &K, now: Instant) -> Quota {
        let full_at = self.full_at.get(key);
        let reset = full_at.map_or(Duration::ZERO, |it| it.saturating_duration_since(now));
        let used = reset.as_nanos().div_ceil(self.refill.as_nanos());
        Quota {
            burst: self.burst,
            window: self.refill * self.burst,
            remaining: self.burst - u32::try_from(used).map_or(self.burst, |it| it.min(self.burst)),
            reset,
        }
    }

    fn drop_full_buckets(&mut self, now: Instant) {
        if self.full_at.len() >= MAX_KEYS {
            self.full_at.retain(|_, full_at| *full_at > now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_is_followed_by_steady_rate() {
        let now = Instant::now();
        let mut limiter = RateLimiter::new(5, 5);
        for _ in 0..5 {
            assert_eq!(limiter.acquire("a", now), Ok(()));
        }
        let wait = limiter.acquire("a", now).unwrap_err();
        assert_eq!(wait, Duration::from_millis(200));
        assert_eq!(limiter.acquire("b", now), Ok(()), "keys are independent");
        assert_eq!(limiter.acquire("a", now + wait), Ok(()));
        assert!(limiter.acquire("a", now + wait).is_err());
        let refilled = now + Duration::from_secs(60);
        assert!((0..5).all(|_| limiter.acquire("a", refilled).is_ok()));
        assert!(limiter.acquire("a", refilled).is_err());
    }

    #[test]
    fn quota_is_what_is_left() {
        let now = Instant::now();
        let mut limiter = RateLimiter::new(2, 1);
        let quota = |remaining, reset| Quota {
            burst: 2,
            window: Duration::from_secs(2),
            remaining,
            reset: Duration::from_millis(reset),
        };
        assert_eq!(limiter.quota(&"a", now), quota(2, 0));
        limiter.acquire("a", now).unwrap();
        assert_eq!(limiter.quota(&"a", now), quota(1, 1000));
        limiter.acquire("a", now).unwrap();
        assert_eq!(limiter.quota(&"a", now), quota(0, 2000));
        assert_eq!(limiter.quota(&"b", now), quota(2, 0));
        let later = now + Duration::from_millis(999);
        assert_eq!(limiter.quota(&"a", later), quota(0, 1001));
        assert!(limiter.acquire("a", later).is_err());
        let refilled = now + Duration::from_secs(1);
        assert_eq!(limiter.quota(&"a", refilled), quota(1, 1000));
        assert!(limiter.acquire("a", refilled).is_ok());
    }

    #[test]
    fn full_buckets_are_dropped() {
        let now = Instant::now();
        let mut limiter = RateLimiter::new(1, 1);
        for key in 0..MAX_KEYS {
            assert_eq!(limiter.acquire(key, now), Ok(()));
        }
        let later = now + Duration::from_secs(2);
        assert_eq!(limiter.acquire(MAX_KEYS, later), Ok(()));
        assert_eq!(limiter.full_at.len(), 1);
    }
}
