//! Reads a session's transcript without keeping the session alive.

use std::sync::Arc;

use bowline_reducer::{Revision, Transcript};
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
    /// Returns `None` if it panicked, or if the task was dropped with its runtime.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Transcript) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, result) = oneshot::channel();
        // The caller may have stopped waiting.
        let read = move |transcript: &mut Transcript| drop(reply.send(read(transcript)));
        let message = Message::Read(Box::new(read));
        let unsent = match self.messages.upgrade() {
            Some(messages) => messages.send(message).err().map(|error| error.0),
            None => Some(message),
        };
        if let Some(Message::Read(read)) = unsent {
            let last = self.last().await?;
            read(last.machine.lock().transcript_mut());
        }
        result.await.ok()
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

    /// Waits for the end of the session. Returns `None` if its task was dropped with its runtime.
    pub(super) async fn last(&self) -> Option<Arc<EndedSession>> {
        let mut ended = self.ended.clone();
        let last = ended.wait_for(Option::is_some).await.ok()?;
        last.clone()
    }
}
