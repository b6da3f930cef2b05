//! Events as they come, for any number of readers.

use tokio::sync::broadcast::{self, error::RecvError};

use super::HookEvent;

/// A reader of events. It sees those that come after it was made.
#[derive(Debug)]
pub struct HookSubscription(pub(super) broadcast::Receiver<HookEvent>);

/// What a reader is given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HookNews {
    /// An event.
    Event(Box<HookEvent>),
    /// The reader was too slow, and this many events are gone.
    Missed(u64),
}

impl HookSubscription {
    /// The next news, or none when the server is stopped. Cancel safe.
    pub async fn next(&mut self) -> Option<HookNews> {
        match self.0.recv().await {
            Ok(event) => Some(HookNews::Event(Box::new(event))),
            Err(RecvError::Lagged(missed)) => Some(HookNews::Missed(missed)),
            Err(RecvError::Closed) => None,
        }
    }
}
