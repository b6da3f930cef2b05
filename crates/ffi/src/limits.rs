//! Numbers of the host as sizes and durations.
//!
//! A host may pass the largest number of a type to mean "no limit". Numbers are clamped to values that no
//! session reaches, and that the library can add up and multiply without an overflow.

use std::time::Duration;

use crate::error::{BowlineError, Result};

/// The largest size, in bytes or items: 1 TiB.
const MAX_SIZE: usize = if usize::BITS < 64 { 1 << 28 } else { 1 << 40 };

/// The longest duration, in milliseconds: about 10 years.
const MAX_MILLIS: u64 = 10 * 365 * 24 * 60 * 60 * 1000;

/// Converts a size in bytes or items.
pub(crate) fn size(number: u64) -> usize {
    usize::try_from(number).map_or(MAX_SIZE, |it| it.min(MAX_SIZE))
}

/// Converts a size for which 0 is not valid. `name` is the field's name in Swift and Kotlin.
pub(crate) fn positive_size(name: &str, number: u64) -> Result<usize> {
    if number == 0 {
        return Err(BowlineError::Configuration {
            reason: format!("apply {name} 0: nothing would be delivered; pass at least 1"),
        });
    }
    Ok(size(number))
}

/// Converts a duration in milliseconds.
pub(crate) fn duration(millis: u64) -> Duration {
    Duration::from_millis(millis.min(MAX_MILLIS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_numbers_leave_room_for_arithmetic() {
        assert!(size(u64::MAX) <= tokio::sync::Semaphore::MAX_PERMITS);
        assert!(size(u64::MAX).checked_mul(64).is_some());
        let longest = duration(u64::MAX);
        assert!(std::time::Instant::now().checked_add(longest * 2).is_some());
        assert!(i64::try_from(longest.as_nanos()).is_ok());
    }

    #[test]
    fn size_of_zero_is_refused() {
        let refused = positive_size("maxLine", 0);
        assert!(matches!(refused, Err(BowlineError::Configuration { .. })));
        assert!(matches!(positive_size("maxLine", 7), Ok(7)));
    }
}
