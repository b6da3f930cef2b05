//! Request to terminate a session: when it was first made, and its current policy.

use tokio::sync::watch;
use tokio::time::Instant;

use crate::termination::TerminationPolicy;

#[derive(Debug)]
pub(super) struct TerminationRequest {
    requests: watch::Receiver<Option<TerminationPolicy>>,
    policy: TerminationPolicy,
    since: Option<Instant>,
}

impl TerminationRequest {
    pub(super) fn new(requests: watch::Receiver<Option<TerminationPolicy>>) -> Self {
        Self {
            requests,
            policy: TerminationPolicy::default(),
            since: None,
        }
    }

    /// Returns the strictest policy requested so far.
    pub(super) fn policy(&self) -> TerminationPolicy {
        self.policy
    }

    /// Returns the time of the first request.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Waits until termination is requested. Resolves at once if every handle was dropped.
    pub(super) async fn received(&mut self) {
        let latest = self
            .requests
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|latest| *latest);
        self.policy = latest.unwrap_or(TerminationPolicy::AT_ONCE);
        self.since = self.since.or_else(|| Some(Instant::now()));
    }

    /// Waits until a stricter policy is requested.
    pub(super) async fn tightened(&mut self) {
        let changed = self.requests.changed().await;
        let latest = changed
            .ok()
            .and_then(|()| *self.requests.borrow_and_update());
        self.policy = latest.unwrap_or(TerminationPolicy::AT_ONCE);
    }
}
