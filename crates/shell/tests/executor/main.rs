//! Runs agents in visible terminals.

mod agent;
mod cleanup;
mod crash;
mod criteria;
mod fake;
mod pty;
mod secrecy;

use std::time::Duration;

/// Waits for `work`, but not for ever.
pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(Duration::from_secs(60), work).await;
    done.unwrap_or_else(|_| panic!("no {what} in time"))
}
