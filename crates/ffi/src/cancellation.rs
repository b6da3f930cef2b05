//! A way to give up waiting, for callers whose language does not drop futures.

use std::sync::Arc;

use tokio::sync::watch;

use crate::error::{BowlineError, Outcome};

/// Gives up a call that waits. Swift's tasks do not tell a call that they were cancelled, so that
/// the Swift surface hands one of these to each call that may wait; Kotlin needs none.
#[derive(Debug, uniffi::Object)]
pub struct Cancellation {
    cancelled: watch::Sender<bool>,
}

#[uniffi::export]
impl Cancellation {
    /// One that nothing was cancelled with.
    #[uniffi::constructor]
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            cancelled: watch::Sender::new(false),
        })
    }

    /// Gives up every call that has it, now and later.
    pub fn cancel(&self) {
        self.cancelled.send_replace(true);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }
}

impl Cancellation {
    async fn cancelled(&self) {
        // The sender is in `self`, so that waiting cannot fail.
        let _ = self.cancelled.subscribe().wait_for(|it| *it).await;
    }
}

/// Waits for `future` unless it is given up.
pub(crate) async fn unless<T>(
    cancellation: Option<Arc<Cancellation>>,
    future: impl Future<Output = Outcome<T>>,
) -> Outcome<T> {
    let Some(cancellation) = cancellation else {
        return future.await;
    };
    tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(BowlineError::Cancelled {
            reason: "wait: the call was given up, ask again".to_owned(),
        }),
        outcome = future => outcome,
    }
}
