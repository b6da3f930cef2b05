//! How everything that serves a client hears that the daemon ends, and how the daemon knows when
//! all of it is gone.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// Held by everything that serves a client.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    ending: watch::Receiver<bool>,
    _held: mpsc::Sender<Infallible>,
}

impl Life {
    /// Waits until the daemon ends.
    pub(crate) async fn ending(&mut self) {
        // A sender that is gone says the same.
        let _ = self.ending.wait_for(|ending| *ending).await;
    }

    /// Whether the daemon ends.
    pub(crate) fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }
}

/// Held by the daemon.
#[derive(Debug)]
pub(super) struct Lives {
    ending: watch::Sender<bool>,
    held: mpsc::Receiver<Infallible>,
}

impl Lives {
    pub(super) fn new() -> (Self, Life) {
        let (ending, heard) = watch::channel(false);
        let (hold, held) = mpsc::channel(1);
        let life = Life {
            ending: heard,
            _held: hold,
        };
        (Self { ending, held }, life)
    }

    /// Tells everybody, and waits for them. Gives whether all were gone in time.
    pub(super) async fn end(mut self, patience: Duration) -> bool {
        self.ending.send_replace(true);
        timeout(patience, self.held.recv()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_end_waits_for_those_who_serve() {
        let (lives, mut life) = Lives::new();
        assert!(!life.is_ending());
        let task = tokio::spawn(async move { life.ending().await });
        assert!(lives.end(Duration::from_secs(5)).await);
        task.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_does_not_wait_for_ever() {
        let (lives, life) = Lives::new();
        assert!(!lives.end(Duration::from_secs(5)).await);
        assert!(life.is_ending());
    }
}
