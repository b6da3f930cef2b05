//! A queue of requests whose senders wait for a reply.

use std::thread::yield_now;

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{
    Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel,
};

/// The receiving end of a queue of requests, each of which holds the sender of its reply.
///
/// Once it is dropped, no request is left in the queue, so that each reply that was not sent has been
/// dropped. Tokio's receiver does not promise this: a message that another thread is sending at that moment
/// stays in the channel until the last sender is dropped, and the caller never receives its reply.
#[derive(Debug)]
pub struct Inbox<T>(Queue<T>);

#[derive(Debug)]
enum Queue<T> {
    Bounded(Receiver<T>),
    Unbounded(UnboundedReceiver<T>),
}

impl<T> Inbox<T> {
    /// Creates a queue. It has no bound: the senders limit what they queue, or wait for the reply.
    #[must_use]
    pub fn new() -> (UnboundedSender<T>, Self) {
        let (sender, receiver) = unbounded_channel();
        (sender, Self(Queue::Unbounded(receiver)))
    }

    /// Creates a queue of at most `capacity` requests; a sender waits while it is full.
    ///
    /// # Panics
    ///
    /// Panics if `capacity` is 0.
    #[must_use]
    pub fn bounded(capacity: usize) -> (Sender<T>, Self) {
        let (sender, receiver) = channel(capacity);
        (sender, Self(Queue::Bounded(receiver)))
    }

    /// Returns the next request, or `None` once all senders were dropped. Cancel safe.
    pub async fn recv(&mut self) -> Option<T> {
        match &mut self.0 {
            Queue::Bounded(queue) => queue.recv().await,
            Queue::Unbounded(queue) => queue.recv().await,
        }
    }

    fn close(&mut self) {
        match &mut self.0 {
            Queue::Bounded(queue) => queue.close(),
            Queue::Unbounded(queue) => queue.close(),
        }
    }

    fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match &mut self.0 {
            Queue::Bounded(queue) => queue.try_recv(),
            Queue::Unbounded(queue) => queue.try_recv(),
        }
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        self.close();
        loop {
            match self.try_recv() {
                Ok(request) => drop(request),
                Err(TryRecvError::Disconnected) => return,
                // A request is counted and not there yet: its sender needs a moment.
                Err(TryRecvError::Empty) => yield_now(),
            }
        }
    }
}
