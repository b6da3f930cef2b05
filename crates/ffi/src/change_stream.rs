//! The stream of a transcript's changes, read by cursor.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::change::ChangeBatch;
use crate::change_reader::{ChangeReader, ChangeSource, Handover, ReadRequest};
use crate::counters::{CountGuard, ObjectKind};
use crate::cursor::CursorSpace;
use crate::error::{BowlineError, Result};
use crate::runtime::{Tracked, block_on};

/// A reader of one transcript's changes.
///
/// Reading does not consume: each call names the cursor to read from, and the same cursor can be read
/// again. Any number of streams can read one transcript.
#[derive(uniffi::Object)]
pub struct ChangeStream {
    source: Tracked<ChangeSource>,
    cursors: CursorSpace,
    stopped: watch::Sender<bool>,
    handover: Arc<Handover>,
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
            handover: Arc::default(),
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
    /// quick succession arrive as one. A call that follows the last one within this time waits for the rest
    /// of it only. A batch has at most `maxCount` changes, except that a reset
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
        let request = Self::request(cursor, max_count, coalesce_for_ms)?;
        let batch = self.reader().next(request);
        // Releasing the last handle ends the read.
        drop(self);
        batch.await
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
        let request = Self::request(cursor, max_count, coalesce_for_ms)?;
        let mut reader = self.reader();
        let guard = CountGuard::new(ObjectKind::Read);
        let limit = Duration::from_millis(timeout_ms.into());
        block_on(async move {
            let _guard = guard;
            let read = timeout(limit, reader.read(&request, false)).await;
            read.unwrap_or_else(|_| {
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
    fn request(cursor: u64, max_count: u32, coalesce_for_ms: u32) -> Result<ReadRequest> {
        if max_count == 0 {
            return Err(BowlineError::invalid(
                "read 0 changes: pass a maxCount of at least 1",
            ));
        }
        Ok(ReadRequest {
            cursor,
            max_count,
            coalesce_for: Duration::from_millis(coalesce_for_ms.into()),
        })
    }

    fn reader(&self) -> ChangeReader {
        ChangeReader {
            source: ChangeSource::clone(&self.source),
            cursors: self.cursors,
            stopped: self.stopped.subscribe(),
            handover: Arc::clone(&self.handover),
        }
    }
}

impl ChangeSource {
    /// Returns whether more changes may come, as opposed to a recording, which is read to its end.
    pub(crate) const fn is_live(&self) -> bool {
        matches!(self, Self::Session(_))
    }

    /// Waits until no more changes may come.
    pub(crate) async fn ended(&self) {
        if let Self::Session(session) = self {
            session.ended().await;
        }
    }
}
