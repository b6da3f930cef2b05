//! Reading a session's transcript while it runs, and after its end.

use bowline_reducer::{ChangeParts, Changes, Cursor, Revision, Snapshot, Transcript};
use tokio::sync::oneshot;

use super::handle::DialogueSession;
use crate::agent::{AgentCapabilities, AgentVersion};
use crate::message::Message;
use crate::watchdog::{LastActivity, Silence};

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

    /// Returns what the agent's version offers, once the agent has named its version with its first turn.
    /// Agents older than 2.0.77 do not name it.
    pub async fn capabilities(&self) -> Option<AgentCapabilities> {
        let parse = |transcript: &Transcript| {
            let version = transcript.session().cli_version();
            version.and_then(AgentVersion::parse)
        };
        self.inspect(parse).await.map(AgentCapabilities::of)
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

    /// Returns the whole transcript as changes, a reset first, to be read in parts. Read on at
    /// [`cursor`](ChangeParts::cursor) of them.
    pub async fn change_parts(&self) -> ChangeParts {
        self.read(Transcript::change_parts).await
    }

    /// Returns the revision of the transcript that was published last. The transcript may be newer already.
    #[must_use]
    pub fn revision(&self) -> Revision {
        *self.reader.revision.borrow()
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
        // An error drops the sender of the reply.
        let _ = self.messages.send(Message::Activity(reply));
        if let Ok(activity) = activity.await {
            return activity;
        }
        let last = self.last().await;
        let activity = last.machine.lock().last_activity();
        activity.aged(last.start.elapsed())
    }

    /// Returns the current silence, if it is so long that the watchdog of this session makes an inquiry. `None`
    /// for a session that has ended, or that a runner drives, which watches it.
    pub async fn silence(&self) -> Option<Silence> {
        let (reply, silence) = oneshot::channel();
        self.messages.send(Message::Silence(reply)).ok()?;
        silence.await.ok().flatten()
    }
}
