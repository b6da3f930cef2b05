//! A queue of requests whose senders wait for a reply.

use std::thread::yield_now;

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The receiving end of a queue of requests, each of which holds the sender of its reply.
///
/// Once it is dropped, no request is left in the queue, so that each reply that was not sent has been
/// dropped. Tokio's receiver does not promise this: a message that another thread is sending at that moment
/// stays in the channel until the last sender is dropped, and the caller waits for its reply for ever.
#[derive(Debug)]
pub struct Inbox<T>(UnboundedReceiver<T>);

impl<T> Inbox<T> {
    /// Creates a queue. It has no bound: the senders limit what they queue, or wait for the reply.
    #[must_use]
    pub fn new() -> (UnboundedSender<T>, Self) {
        let (sender, receiver) = unbounded_channel();
        (sender, Self(receiver))
    }

    /// Returns the next request, or `None` once all senders were dropped. Cancel safe.
    pub async fn recv(&mut self) -> Option<T> {
        self.0.recv().await
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        self.0.close();
        loop {
            match self.0.try_recv() {
                Ok(request) => drop(request),
                Err(TryRecvError::Disconnected) => return,
                // A request is counted and not there yet: its sender needs a moment.
                Err(TryRecvError::Empty) => yield_now(),
            }
        }
    }
}
