//! Cancels waiting calls from outside of the task that waits.

use std::sync::Arc;

use tokio::sync::watch;

use crate::error::{BowlineError, Result};

/// A token that cancels waiting calls.
///
/// Cancelling a Swift task or a Kotlin coroutine ends the call that it awaits. Use a token to end
/// several calls at once, or a call whose task is to go on.
#[derive(Debug, uniffi::Object)]
pub struct Cancellation {
    cancelled: watch::Sender<bool>,
}

#[uniffi::export]
impl Cancellation {
    /// Creates a token that is not cancelled.
    #[uniffi::constructor]
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            cancelled: watch::Sender::new(false),
        })
    }

    /// Cancels every call that was given this token, now or later. They fail with `Cancelled`.
    pub fn cancel(&self) {
        self.cancelled.send_replace(true);
    }

    /// Returns whether `cancel` was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }
}

impl Cancellation {
    async fn cancelled(&self) {
        // `self` owns the sender, so that waiting cannot fail.
        let _ = self.cancelled.subscribe().wait_for(|it| *it).await;
    }
}

/// Awaits `future`, or fails with `Cancelled` once the token is cancelled.
pub(crate) async fn cancellable<T>(
    cancellation: Option<Arc<Cancellation>>,
    future: impl Future<Output = Result<T>>,
) -> Result<T> {
    let Some(cancellation) = cancellation else {
        return future.await;
    };
    tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(BowlineError::cancelled()),
        output = future => output,
    }
}
