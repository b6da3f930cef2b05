//! Refusals for lack of rights. The server reports them apart from the request, which is not answered.

use async_nats::{Event, ServerError};
use tokio::sync::{broadcast, watch};

/// Maximum number of refusals that a request has not read.
const QUEUE: usize = 64;

/// What the connection reports apart from replies.
#[derive(Clone, Debug)]
pub(super) struct Reports {
    refusals: broadcast::Sender<String>,
    connects: watch::Sender<u64>,
}

impl Default for Reports {
    fn default() -> Self {
        Self {
            refusals: broadcast::channel(QUEUE).0,
            connects: watch::Sender::new(0),
        }
    }
}

impl Reports {
    /// Handles an event of the client.
    pub(super) fn on_event(&self, event: Event) {
        match event {
            Event::Connected => self.connects.send_modify(|it| *it += 1),
            Event::ServerError(ServerError::Other(text)) => {
                tracing::warn!(%text, "the NATS server refused a request");
                // An error means that no request waits.
                let _ = self.refusals.send(text);
            }
            event => tracing::debug!(%event, "NATS connection"),
        }
    }

    /// Returns how often the connection was made.
    pub(super) fn connects(&self) -> watch::Receiver<u64> {
        self.connects.subscribe()
    }

    /// Returns the refusals from now on.
    pub(super) fn refusals(&self) -> Refusals {
        Refusals(self.refusals.subscribe())
    }
}

/// The refusals since a request was prepared.
#[derive(Debug)]
pub(super) struct Refusals(broadcast::Receiver<String>);

impl Refusals {
    /// Waits for a refusal that names a subject.
    pub(super) async fn of(&mut self, subject: &str) {
        let name = format!("\"{subject}\"");
        loop {
            match self.0.recv().await {
                Ok(text) if text.contains(&name) => return,
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}
