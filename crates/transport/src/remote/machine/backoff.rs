//! Delays between attempts.

use std::time::Duration;

/// Upper bound of the first delay.
const BASE: Duration = Duration::from_millis(100);

/// Upper bound of all delays.
const CAP: Duration = Duration::from_secs(5);

/// Exponential backoff with equal jitter: a delay between half of a bound and the bound, which doubles with
/// each attempt, so that hosts that lost the same runner do not reconnect at once, and a runner that drops
/// every connection is tried less than 30 times a minute.
#[derive(Debug)]
pub(crate) struct Backoff {
    attempt: u32,
    random: SplitMix,
}

impl Backoff {
    pub(crate) fn new(initial: u64) -> Self {
        Self {
            attempt: 0,
            random: SplitMix(initial),
        }
    }

    /// Returns the number of attempts since the last reset.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Counts an attempt and returns the delay before it.
    pub(crate) fn next(&mut self) -> Duration {
        let bound = BASE.saturating_mul(1 << self.attempt.min(6)).min(CAP);
        self.attempt = self.attempt.saturating_add(1);
        let half = bound / 2;
        let micros = u64::try_from(half.as_micros()).unwrap_or(u64::MAX);
        half + Duration::from_micros(self.random.next() % micros)
    }

    /// Starts over, because the link works or may work again.
    pub(crate) fn reset(&mut self) {
        self.attempt = 0;
    }

    /// Returns a random number, which distinguishes this host's ids.
    pub(crate) fn salt(&mut self) -> u64 {
        self.random.next()
    }
}

/// Splitmix64 of Steele, Lea and Flood (2014). Not cryptographic.
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ (it >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_spread_over_doubling_bound() {
        let mut extremes = [(Duration::MAX, Duration::ZERO); 9];
        for initial in 0..500 {
            let mut backoff = Backoff::new(initial);
            for (shortest, longest) in &mut extremes {
                let delay = backoff.next();
                (*shortest, *longest) = (delay.min(*shortest), delay.max(*longest));
            }
            assert_eq!(backoff.attempt(), 9);
        }
        for (attempt, (shortest, longest)) in extremes.into_iter().enumerate() {
            let bound = (BASE * (1 << attempt)).min(CAP);
            assert!(
                longest < bound && longest > bound * 19 / 20,
                "{attempt}: {longest:?}"
            );
            assert!(
                shortest >= bound / 2 && shortest < bound * 11 / 20,
                "{attempt}: {shortest:?}"
            );
        }
    }
}
