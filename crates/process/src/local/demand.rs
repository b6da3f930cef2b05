//! The wish that a session end: when it was first made, and how hard it is by now.

use tokio::sync::watch;
use tokio::time::Instant;

use crate::ladder::Ladder;

#[derive(Debug)]
pub(super) struct Demand {
    requests: watch::Receiver<Option<Ladder>>,
    ladder: Ladder,
    since: Option<Instant>,
}

impl Demand {
    pub(super) fn new(requests: watch::Receiver<Option<Ladder>>) -> Self {
        Self {
            requests,
            ladder: Ladder::default(),
            since: None,
        }
    }

    /// The hardest ladder asked for so far.
    pub(super) fn ladder(&self) -> Ladder {
        self.ladder
    }

    /// When the end was first asked for.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Waits until the end is asked for. Without any handle left, that is at once.
    pub(super) async fn made(&mut self) {
        let asked = self
            .requests
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|asked| *asked);
        self.ladder = asked.unwrap_or(Ladder::AT_ONCE);
        self.since = self.since.or_else(|| Some(Instant::now()));
    }

    /// Waits until a harder end is asked for.
    pub(super) async fn harder(&mut self) {
        let changed = self.requests.changed().await;
        let asked = changed
            .ok()
            .and_then(|()| *self.requests.borrow_and_update());
        self.ladder = asked.unwrap_or(Ladder::AT_ONCE);
    }
}
