//! Two pieces of evidence, each waited for in its time.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{sleep, timeout};

/// How long each piece of evidence may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// Until the first of the two; none for ever.
    pub(super) run: Option<Duration>,
    /// The exit, behind the session's end.
    pub(super) exit: Duration,
    /// The session's end, behind the exit.
    pub(super) hook: Duration,
}

/// What came in time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen<T> {
    pub(super) exit: Option<T>,
    pub(super) has_exited: bool,
    pub(super) end: Option<String>,
}

impl<T> Seen<T> {
    const fn new(exit: Option<T>, end: Option<String>) -> Self {
        Self {
            has_exited: exit.is_some(),
            exit,
            end,
        }
    }
}

/// Waits for the exit of a process and the end of its session, in either order.
pub(super) async fn both<T>(
    exit: impl Future<Output = T>,
    end: impl Future<Output = String>,
    waits: Waits,
) -> Seen<T> {
    let (mut exit, mut end) = (pin!(exit), pin!(end));
    tokio::select! {
        biased;
        exited = &mut exit => Seen::new(Some(exited), timeout(waits.hook, end).await.ok()),
        ended = &mut end => Seen::new(timeout(waits.exit, exit).await.ok(), Some(ended)),
        () = at_most(waits.run) => Seen::new(None, None),
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

    const WAITS: Waits = Waits {
        run: Some(Duration::from_secs(100)),
        exit: Duration::from_secs(10),
        hook: Duration::from_secs(2),
    };

    /// What is seen, and after how many seconds, when the two come after so many; none for never.
    async fn seen(exit: Option<u64>, end: Option<u64>, waits: Waits) -> (bool, bool, u64) {
        let after = |seconds: Option<u64>| at_most(seconds.map(Duration::from_secs));
        let start = Instant::now();
        let end = async {
            after(end).await;
            "other".to_owned()
        };
        let seen = both(after(exit), end, waits).await;
        (
            seen.exit.is_some(),
            seen.end.is_some(),
            start.elapsed().as_secs(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn seed_003_both_are_waited_for_in_either_order() {
        assert_eq!(seen(Some(5), Some(6), WAITS).await, (true, true, 6));
        assert_eq!(seen(Some(6), Some(5), WAITS).await, (true, true, 6));
        assert_eq!(seen(Some(5), Some(5), WAITS).await, (true, true, 5));
    }

    #[tokio::test(start_paused = true)]
    async fn seed_003_a_hook_that_never_comes_does_not_hang() {
        assert_eq!(seen(Some(5), None, WAITS).await, (true, false, 7));
        assert_eq!(seen(Some(5), Some(8), WAITS).await, (true, false, 7));
    }

    #[tokio::test(start_paused = true)]
    async fn seed_003_a_process_that_never_exits_does_not_hang() {
        assert_eq!(seen(None, Some(5), WAITS).await, (false, true, 15));
    }

    #[tokio::test(start_paused = true)]
    async fn a_command_that_gives_no_sign_is_given_up() {
        assert_eq!(seen(None, None, WAITS).await, (false, false, 100));
        let patient = Waits { run: None, ..WAITS };
        assert_eq!(
            seen(Some(9999), Some(9999), patient).await,
            (true, true, 9999)
        );
    }
}
