//! Deadlines from durations that a host chooses, up to `Duration::MAX`.

use std::time::Duration;

use tokio::time::Instant;

/// Longest duration that a deadline is computed from: 30 years. Clocks overflow beyond.
const MAX_DURATION: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Returns `start` plus `time`, or a time in the far future.
#[must_use]
pub fn deadline_after(start: Instant, time: Duration) -> Instant {
    start + time.min(MAX_DURATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn maximum_duration_is_in_the_far_future() {
        let now = Instant::now();
        assert_eq!(
            deadline_after(now, MAX_DURATION),
            deadline_after(now, Duration::MAX)
        );
        assert!(deadline_after(now, Duration::MAX) > deadline_after(now, Duration::from_secs(1)));
        let never = tokio::time::sleep_until(deadline_after(now, Duration::MAX));
        let in_a_year = tokio::time::sleep(Duration::from_secs(365 * 24 * 60 * 60));
        tokio::select! {
            () = never => panic!("the deadline has passed"),
            () = in_a_year => {}
        }
    }
}
