//! Reading a session's transcript while it runs, and after its end.

use std::sync::Arc;
use std::time::Duration;

use bowline_reducer::{Changes, Cursor, Revision, Snapshot, Transcript};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::driver::Message;
use super::{DialogueSession, EndedSession};
use crate::machine::Machine;
use crate::watchdog::{ActivitySource, WorkPhase};

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

impl DialogueSession {
    /// Runs `read` on the transcript, in the task that owns it, or on the transcript of an ended
    /// session.
    ///
    /// The session waits for `read`, so it should be short. Later changes get a newer revision:
    /// [`changed_since`](Self::changed_since) waits for them.
    ///
    /// # Panics
    ///
    /// When `read` panics. The session continues.
    pub async fn inspect<T, F>(&self, read: F) -> T
    where
        T: Send + 'static,
        F: FnOnce(&Transcript) -> T + Send + 'static,
    {
        self.read(|transcript| read(transcript)).await
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Transcript) -> T + Send + 'static,
    ) -> T {
        let result = self.reader.read(read).await;
        result.expect("a reader of the transcript must not panic")
    }

    /// Returns the transcript as it is now. The snapshot shares its data with the session, and does
    /// not change.
    pub async fn snapshot(&self) -> Snapshot {
        self.read(Transcript::snapshot).await
    }

    /// Runs `read` on the changes since `cursor`. Returns the cursor for the next call, with the
    /// result of `read`.
    ///
    /// Reading consumes nothing: any number of readers, each with a cursor of its own, see all
    /// changes. The changes borrow the transcript; [`changes`](Self::changes) returns owned ones.
    ///
    /// # Panics
    ///
    /// When `read` panics. The session continues.
    pub async fn changes_since<T, F>(&self, cursor: Cursor, read: F) -> (Cursor, T)
    where
        T: Send + 'static,
        F: FnOnce(&Changes<'_>) -> T + Send + 'static,
    {
        self.changes_up_to(cursor, usize::MAX, read).await
    }

    /// Like [`changes_since`](Self::changes_since), with at most `max_count` changes; a reset is not
    /// divided.
    ///
    /// # Panics
    ///
    /// When `read` panics. The session continues.
    pub async fn changes_up_to<T, F>(
        &self,
        cursor: Cursor,
        max_count: usize,
        read: F,
    ) -> (Cursor, T)
    where
        T: Send + 'static,
        F: FnOnce(&Changes<'_>) -> T + Send + 'static,
    {
        self.read(move |transcript| {
            let changes = transcript.changes_up_to(cursor, max_count);
            (changes.cursor(), read(&changes))
        })
        .await
    }

    /// Waits until the transcript is newer than `revision`, or the session has ended.
    ///
    /// After the end of the session, read the changes once more: the last ones come with the end.
    ///
    /// Cancel safe.
    pub async fn changed_since(&self, revision: Revision) {
        self.reader.changed_since(revision).await;
    }

    /// Returns the last sign of life: a line of the agent, or a prompt or answer of the host.
    pub async fn last_activity(&self) -> LastActivity {
        let (reply, activity) = oneshot::channel();
        if self.messages.send(Message::Activity(reply)).is_err() {
            let last = self.last().await;
            return LastActivity::of(&last.machine.lock(), last.start);
        }
        let activity = activity.await;
        activity.expect("the driver answers every message that it accepted")
    }
}

/// The last sign of life of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastActivity {
    /// Where it came from.
    pub source: ActivitySource,
    /// What the session is busy with now.
    pub phase: WorkPhase,
    /// Time since then by a monotonic clock, without the time that the machine was suspended.
    pub age: Duration,
}

impl LastActivity {
    pub(super) fn of(machine: &Machine, start: Instant) -> Self {
        let last = machine.last_activity();
        Self {
            source: last.source,
            phase: last.phase,
            age: start.elapsed().saturating_sub(last.at),
        }
    }
}
