//! Deadlines from times that a host is free to choose, `Duration::MAX` among them.

use std::time::Duration;

use tokio::time::Instant;

/// What takes longer than this takes for ever: 30 years. Clocks overflow beyond.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// The time, or as much of it as a clock can count.
pub(crate) fn countable(time: Duration) -> Duration {
    time.min(FOR_EVER)
}

/// The instant that comes so long after another one.
pub(crate) fn after(start: Instant, time: Duration) -> Instant {
    start + countable(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_time_without_end_is_far_away() {
        let now = Instant::now();
        assert_eq!(after(now, FOR_EVER), after(now, Duration::MAX));
        assert!(after(now, Duration::MAX) > after(now, Duration::from_secs(1)));
        let waited = tokio::time::sleep_until(after(now, Duration::MAX));
        let in_a_year = tokio::time::sleep(Duration::from_secs(365 * 24 * 60 * 60));
        tokio::select! {
            () = waited => panic!("it is far away"),
            () = in_a_year => {}
        }
    }
}
