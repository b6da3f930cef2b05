//! Mach time, in which macOS counts processor time. Pure, so that it is tested on every system.

use std::time::Duration;

/// Returns the duration of `ticks`, each of `numerator / denominator` nanoseconds. The denominator is not 0.
pub(super) fn duration(ticks: u64, numerator: u32, denominator: u32) -> Duration {
    let nanos = u128::from(ticks) * u128::from(numerator) / u128::from(denominator);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_both_kinds_of_processors_are_converted() {
        assert_eq!(duration(1_500_000_000, 1, 1), Duration::from_millis(1500));
        assert_eq!(duration(24_000_000, 125, 3), Duration::from_secs(1));
        assert_eq!(duration(1, 125, 3), Duration::from_nanos(41));
    }

    #[test]
    fn long_times_do_not_overflow() {
        assert_eq!(duration(u64::MAX, 125, 3), Duration::from_nanos(u64::MAX));
        assert_eq!(
            duration(u64::MAX / 125, 125, 125),
            Duration::from_nanos(u64::MAX / 125)
        );
    }
}
