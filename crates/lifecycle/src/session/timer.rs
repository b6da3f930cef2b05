//! The timer of a session.

use std::future::pending;
use std::pin::Pin;

use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that stays in place while its deadline moves away, as it does with each line of output.
#[derive(Debug, Default)]
pub(super) struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    /// Waits for a deadline; forever without one. Cancel safe.
    pub(super) async fn until(&mut self, deadline: Option<Instant>) {
        let Some(deadline) = deadline else {
            self.0 = None;
            return pending().await;
        };
        let sleep = self
            .0
            .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        loop {
            sleep.as_mut().await;
            if sleep.deadline() >= deadline {
                break;
            }
            // It was set for an earlier deadline, which has moved away.
            sleep.as_mut().reset(deadline);
        }
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn is_pending(waiting: impl Future<Output = ()>) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        pin!(waiting).poll(&mut context).is_pending()
    }

    #[tokio::test(start_paused = true)]
    async fn timer_stays_while_its_deadline_moves_away() {
        let start = Instant::now();
        let mut timer = Timer::default();
        for seconds in 1..1_000 {
            let deadline = start + SECOND * seconds;
            assert!(is_pending(timer.until(Some(deadline))));
            let set = timer.0.as_ref().map(|it| it.deadline());
            assert_eq!(set, Some(start + SECOND), "it was set anew");
        }
        timer.until(Some(start + 3 * SECOND)).await;
        assert_eq!(start.elapsed(), 3 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_deadline_is_kept_and_none_drops_the_timer() {
        let start = Instant::now();
        let mut timer = Timer::default();
        assert!(is_pending(timer.until(Some(start + 60 * SECOND))));
        timer.until(Some(start + SECOND)).await;
        assert_eq!(start.elapsed(), SECOND);
        assert!(is_pending(timer.until(Some(start + 60 * SECOND))));
        assert!(is_pending(timer.until(None)));
        assert!(timer.0.is_none());
    }
}
