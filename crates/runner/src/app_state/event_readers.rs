//! The number of connections that read events.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Counts the connections that read events.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventReaders(watch::Sender<usize>);

/// One of the connections, until it is dropped.
#[derive(Debug)]
pub(crate) struct CountedReader(watch::Sender<usize>);

impl EventReaders {
    /// Counts a connection.
    pub(crate) fn enter(&self) -> CountedReader {
        self.0.send_modify(|count| *count += 1);
        CountedReader(self.0.clone())
    }

    /// Waits until the last connection has been gone for `grace`. Before the first one, it waits without a limit.
    ///
    /// Cancel safe.
    pub(crate) async fn wait_until_unused(&self, grace: Duration) {
        let mut count = self.0.subscribe();
        // The sender lives as long as this does.
        let _ = count.wait_for(|count| *count > 0).await;
        loop {
            let _ = count.wait_for(|count| *count == 0).await;
            let again = count.wait_for(|count| *count > 0);
            if timeout(grace, again).await.is_err() {
                return;
            }
        }
    }
}

impl Drop for CountedReader {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::poll;
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn reload_within_grace_keeps_waiting() {
        let readers = EventReaders::default();
        let grace = Duration::from_secs(5);
        let mut left = pin!(readers.wait_until_unused(grace));
        advance(2 * grace).await;
        assert!(poll!(&mut left).is_pending(), "no reader came yet");
        let first = readers.enter();
        assert!(poll!(&mut left).is_pending());
        drop(first);
        assert!(poll!(&mut left).is_pending());
        advance(grace / 2).await;
        let second = readers.enter();
        assert!(poll!(&mut left).is_pending());
        advance(2 * grace).await;
        assert!(poll!(&mut left).is_pending(), "a reader is there");
        drop(second);
        assert!(poll!(&mut left).is_pending());
        advance(2 * grace).await;
        left.await;
    }
}
