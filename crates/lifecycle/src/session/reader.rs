//! Reads a session's transcript without keeping the session alive.

use std::sync::Arc;

use bowline_reducer::{Revision, Transcript};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use super::end::EndedSession;
use crate::message::Message;

/// Reads the transcript of a session, without keeping the session alive.
#[derive(Clone, Debug)]
pub(super) struct TranscriptReader {
    pub(super) messages: mpsc::WeakUnboundedSender<Message>,
    pub(super) revision: watch::Receiver<Revision>,
    pub(super) ended: watch::Receiver<Option<Arc<EndedSession>>>,
}

impl TranscriptReader {
    /// Runs `read` in the task that owns the transcript, or on the transcript of the ended session.
    /// Returns `None` if it panicked.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Transcript) -> T + Send + 'static,
    ) -> Option<T> {
        // Taken by the task that runs it. If the session ends first, the message is dropped and
        // `read` is still here.
        let read = Arc::new(Mutex::new(Some(read)));
        let (reply, result) = oneshot::channel();
        if let Some(messages) = self.messages.upgrade() {
            let read = Arc::clone(&read);
            // An error drops the message as well.
            let _ = messages.send(Message::Read(Box::new(move |transcript| {
                if let Some(read) = take(&read) {
                    // The caller may have stopped waiting.
                    let _ = reply.send(read(transcript));
                }
            })));
        } else {
            drop(reply);
        }
        if let Ok(value) = result.await {
            return Some(value);
        }
        let read = take(&read)?;
        let last = self.last().await?;
        let mut machine = last.machine.lock();
        Some(read(machine.transcript_mut()))
    }

    /// Waits until the transcript is newer than `revision`, or the session has ended.
    pub(super) async fn changed_since(&self, revision: Revision) {
        let mut newest = self.revision.clone();
        // The driver drops the sender when the session has ended.
        let _ = newest.wait_for(|newest| *newest > revision).await;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Returns the session's end, if it has ended.
    pub(super) fn ended(&self) -> Option<Arc<EndedSession>> {
        self.ended.borrow().clone()
    }

    /// Waits for the end of the session.
    pub(super) async fn last(&self) -> Option<Arc<EndedSession>> {
        let mut ended = self.ended.clone();
        let last = ended.wait_for(Option::is_some).await.ok()?;
        last.clone()
    }
}

/// Takes the value without holding the lock afterwards.
fn take<T>(value: &Mutex<Option<T>>) -> Option<T> {
    value.lock().take()
}
