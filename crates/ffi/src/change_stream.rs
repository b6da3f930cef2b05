//! The stream of a transcript's changes, read by cursor.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::change::{ChangeBatch, batch};
use crate::core::{self, reducer};
use crate::counters::{CountGuard, ObjectKind};
use crate::cursor::CursorSpace;
use crate::error::{BowlineError, Result};
use crate::recording_fold::RecordingFold;
use crate::runtime::{Tracked, abortable, block_on};

/// A reader of one transcript's changes.
///
/// Reading does not consume: each call names the cursor to read from, and the same cursor can be read
/// again. Any number of streams can read one transcript.
#[derive(uniffi::Object)]
pub struct ChangeStream {
    source: Tracked<ChangeSource>,
    cursors: CursorSpace,
    stopped: watch::Sender<bool>,
}

#[derive(Clone)]
pub(crate) enum ChangeSource {
    Session(core::DialogueSession),
    Recording(Arc<RecordingFold>),
}

impl std::fmt::Debug for ChangeStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeStream").finish_non_exhaustive()
    }
}

impl ChangeStream {
    pub(crate) fn new(source: ChangeSource, cursors: CursorSpace) -> Arc<Self> {
        Arc::new(Self {
            source: Tracked::new(ObjectKind::Stream, source),
            cursors,
            stopped: watch::Sender::new(false),
        })
    }
}

#[uniffi::export]
impl ChangeStream {
    /// Waits for changes after `cursor` and returns them as one batch.
    ///
    /// Pass 0 to begin with the whole transcript, and the cursor of the last batch from then on. A
    /// cursor of another transcript is read as 0.
    /// After the first change the call waits `coalesceForMs` milliseconds more, so that changes in
    /// quick succession arrive as one. A batch has at most `maxCount` changes, except that a reset
    /// is never split. Returns nothing once the stream was stopped or released, or the transcript has
    /// ended and was read completely.
    ///
    /// Cancel safe: no change is lost, since the cursor stays with the caller.
    ///
    /// # Errors
    ///
    /// `Invalid` if `maxCount` is 0; `Io` if a recording cannot be read.
    pub async fn next(
        self: Arc<Self>,
        cursor: u64,
        max_count: u32,
        coalesce_for_ms: u32,
    ) -> Result<Option<ChangeBatch>> {
        let read = self.read(cursor, max_count, coalesce_for_ms)?;
        // Releasing the last handle ends the read.
        drop(self);
        abortable(read).await
    }

    /// Waits for changes like `next`, but blocks the calling thread. This is the cheapest way to read
    /// on a JVM.
    ///
    /// # Errors
    ///
    /// As `next`; `NoAnswer` if no change arrives within `timeoutMs` milliseconds; `Invalid` if
    /// called from a callback. Use `stop` to end the call early: the stream is not released during it.
    pub fn next_blocking(
        &self,
        cursor: u64,
        max_count: u32,
        coalesce_for_ms: u32,
        timeout_ms: u32,
    ) -> Result<Option<ChangeBatch>> {
        let read = self.read(cursor, max_count, coalesce_for_ms)?;
        let limit = Duration::from_millis(timeout_ms.into());
        block_on(async move {
            timeout(limit, read).await.unwrap_or_else(|_| {
                Err(BowlineError::NoAnswer {
                    reason: format!(
                        "read changes: none within {timeout_ms} ms; call again with this cursor"
                    ),
                })
            })
        })
    }

    /// Stops the stream: pending and later calls of `next` return nothing.
    ///
    /// May be called more than once and from any thread. The session is not affected.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }
}

impl ChangeStream {
    fn read(
        &self,
        cursor: u64,
        max_count: u32,
        coalesce_for_ms: u32,
    ) -> Result<impl Future<Output = Result<Option<ChangeBatch>>> + Send + use<>> {
        if max_count == 0 {
            return Err(BowlineError::invalid(
                "read 0 changes: pass a maxCount of at least 1",
            ));
        }
        let (source, cursors) = (ChangeSource::clone(&self.source), self.cursors);
        let position = cursors.position(cursor).unwrap_or(0);
        let mut stopped = self.stopped.subscribe();
        let guard = CountGuard::new(ObjectKind::Read);
        Ok(async move {
            let _guard = guard;
            tokio::select! {
                biased;
                // An error means that the stream was dropped, which stops it as well.
                _ = stopped.wait_for(|it| *it) => Ok(None),
                batch = source.next(position, max_count, coalesce_for_ms) => {
                    let mut batch = batch?;
                    if let Some(batch) = &mut batch {
                        batch.cursor = cursors.cursor(batch.cursor);
                    }
                    Ok(batch)
                }
            }
        })
    }
}

impl ChangeSource {
    async fn next(
        &self,
        cursor: u64,
        max_count: u32,
        coalesce_for_ms: u32,
    ) -> Result<Option<ChangeBatch>> {
        match self {
            Self::Session(session) => {
                let coalesce_for = Duration::from_millis(coalesce_for_ms.into());
                Ok(next_of_session(session, cursor, max_count, coalesce_for).await)
            }
            Self::Recording(fold) => Arc::clone(fold).next(cursor, max_count).await,
        }
    }
}

async fn next_of_session(
    session: &core::DialogueSession,
    cursor: u64,
    max_count: u32,
    coalesce_for: Duration,
) -> Option<ChangeBatch> {
    let revision = reducer::Cursor::from_number(cursor).revision();
    loop {
        session.changed_since(revision).await;
        let has_ended = session.has_ended();
        if !has_ended && !coalesce_for.is_zero() {
            // Nothing follows the end, so it cuts the wait short.
            tokio::select! {
                () = sleep(coalesce_for) => {}
                _ = session.ended() => {}
            }
        }
        let from = reducer::Cursor::from_number(cursor);
        let read = move |changes: &reducer::Changes<'_>| batch(changes, cursor);
        let (_, batch) = session.changes_up_to(from, max_count as usize, read).await;
        if batch.is_some() || has_ended {
            return batch;
        }
    }
}
