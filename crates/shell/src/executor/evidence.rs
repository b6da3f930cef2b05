//! Collects the evidence of a command's end: the process exit and the `SessionEnd` hook.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{sleep, timeout};

/// Time limits of the evidence.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvidenceTimeouts {
    /// Until the first of the two; `None` for no limit.
    pub(super) run: Option<Duration>,
    /// The exit after the session end.
    pub(super) exit: Duration,
    /// The session end after the exit.
    pub(super) hook: Duration,
}

/// The evidence that arrived in time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Collected<T> {
    pub(super) exit: Option<T>,
    pub(super) has_exited: bool,
    pub(super) end: Option<String>,
}

impl<T> Collected<T> {
    const fn new(exit: Option<T>, end: Option<String>) -> Self {
        Self {
            has_exited: exit.is_some(),
            exit,
            end,
        }
    }
}

/// Waits for the exit of the process and the end of its session, in either order.
pub(super) async fn collect<T>(
    exit: impl Future<Output = T>,
    end: impl Future<Output = String>,
    timeouts: EvidenceTimeouts,
) -> Collected<T> {
    let (mut exit, mut end) = (pin!(exit), pin!(end));
    tokio::select! {
        biased;
        exited = &mut exit => Collected::new(Some(exited), timeout(timeouts.hook, end).await.ok()),
        ended = &mut end => Collected::new(timeout(timeouts.exit, exit).await.ok(), Some(ended)),
        () = at_most(timeouts.run) => Collected::new(None, None),
    }
}

async fn at_most(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const TIMEOUTS: EvidenceTimeouts = EvidenceTimeouts {
        run: Some(Duration::from_secs(100)),
        exit: Duration::from_secs(10),
        hook: Duration::from_secs(2),
    };

    /// Returns whether exit and end arrived, and the seconds taken, when they occur after these times.
    async fn seen(
        exit: Option<u64>,
        end: Option<u64>,
        timeouts: EvidenceTimeouts,
    ) -> (bool, bool, u64) {
        let after = |seconds: Option<u64>| at_most(seconds.map(Duration::from_secs));
        let start = Instant::now();
        let end = async {
            after(end).await;
            "other".to_owned()
        };
        let seen = collect(after(exit), end, timeouts).await;
        (
            seen.exit.is_some(),
            seen.end.is_some(),
            start.elapsed().as_secs(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn exit_and_session_end_are_awaited_in_either_order() {
        assert_eq!(seen(Some(5), Some(6), TIMEOUTS).await, (true, true, 6));
        assert_eq!(seen(Some(6), Some(5), TIMEOUTS).await, (true, true, 6));
        assert_eq!(seen(Some(5), Some(5), TIMEOUTS).await, (true, true, 5));
    }

    #[tokio::test(start_paused = true)]
    async fn missing_hook_times_out() {
        assert_eq!(seen(Some(5), None, TIMEOUTS).await, (true, false, 7));
        assert_eq!(seen(Some(5), Some(8), TIMEOUTS).await, (true, false, 7));
    }

    #[tokio::test(start_paused = true)]
    async fn missing_exit_times_out() {
        assert_eq!(seen(None, Some(5), TIMEOUTS).await, (false, true, 15));
    }

    #[tokio::test(start_paused = true)]
    async fn silent_command_times_out() {
        assert_eq!(seen(None, None, TIMEOUTS).await, (false, false, 100));
        let patient = EvidenceTimeouts {
            run: None,
            ..TIMEOUTS
        };
        assert_eq!(
            seen(Some(9999), Some(9999), patient).await,
            (true, true, 9999)
        );
    }
}
