//! How often something may happen. Time is an argument.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Keys that are remembered; beyond that, those that are at rest are forgotten.
const MOST: usize = 4096;

/// A number of permits that come back at a steady pace: a token bucket for each key.
#[derive(Debug)]
pub(crate) struct Pace<K> {
    burst: u32,
    /// The time that one permit takes to come back.
    each: Duration,
    /// When all permits of a key are back.
    full_at: HashMap<K, Instant>,
}

impl<K: Hash + Eq> Pace<K> {
    /// `burst` at once, and `per_second` from then on, both at least 1.
    pub(crate) fn new(burst: u32, per_second: u32) -> Self {
        Self {
            burst: burst.max(1),
            each: Duration::from_secs(1) / per_second.max(1),
            full_at: HashMap::new(),
        }
    }

    /// Takes a permit of a key.
    ///
    /// # Errors
    ///
    /// There is none; the time until there will be one.
    pub(crate) fn take(&mut self, key: K, now: Instant) -> Result<(), Duration> {
        self.forget(now);
        let full_at = self.full_at.entry(key).or_insert(now);
        let missing = full_at.saturating_duration_since(now);
        let most = self.each * (self.burst - 1);
        if missing > most {
            return Err(missing - most);
        }
        *full_at = now + missing + self.each;
        Ok(())
    }

    fn forget(&mut self, now: Instant) {
        if self.full_at.len() >= MOST {
            self.full_at.retain(|_, full_at| *full_at > now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_followed_by_the_pace() {
        let now = Instant::now();
        let mut pace = Pace::new(5, 5);
        for _ in 0..5 {
            assert_eq!(pace.take("a", now), Ok(()));
        }
        let wait = pace.take("a", now).unwrap_err();
        assert_eq!(wait, Duration::from_millis(200));
        assert_eq!(pace.take("b", now), Ok(()), "keys are apart");
        assert_eq!(pace.take("a", now + wait), Ok(()));
        assert!(pace.take("a", now + wait).is_err());
        let rested = now + Duration::from_secs(60);
        assert!((0..5).all(|_| pace.take("a", rested).is_ok()));
        assert!(pace.take("a", rested).is_err());
    }

    #[test]
    fn keys_at_rest_are_forgotten() {
        let now = Instant::now();
        let mut pace = Pace::new(1, 1);
        for key in 0..MOST {
            assert_eq!(pace.take(key, now), Ok(()));
        }
        assert_eq!(pace.take(MOST, now + Duration::from_secs(2)), Ok(()));
        assert_eq!(pace.full_at.len(), 1);
    }
}
