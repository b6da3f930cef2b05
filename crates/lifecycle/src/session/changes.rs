//! The changes of a session's transcript as a stream of owned values.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bowline_reducer::{Cursor, TranscriptChange};
use futures_core::Stream;

use super::handle::DialogueSession;
use super::reader::TranscriptReader;

/// Maximum number of changes that are read at once, so that a reader far behind holds up neither the
/// session nor its own memory.
const BATCH: usize = 256;

/// The changes of a session's transcript, from [`DialogueSession::changes`].
///
/// It is a [`Stream`] that begins with [`TranscriptChange::Reset`], and ends after the last change
/// of an ended session. It does not keep the session alive.
pub struct DialogueChanges {
    reader: TranscriptReader,
    cursor: Cursor,
    buffer: VecDeque<TranscriptChange>,
    /// The read of the next batch. Kept over polls, so that no change is lost when a caller stops
    /// waiting.
    reading: Option<Pin<Box<dyn Future<Output = Option<Batch>> + Send>>>,
    has_ended: bool,
}

struct Batch {
    cursor: Cursor,
    changes: VecDeque<TranscriptChange>,
}

impl DialogueSession {
    /// Returns the changes of the transcript as a stream of owned values, from the beginning.
    ///
    /// Changes are coalesced: a slow consumer gets fewer, larger ones, and misses none. Any number of
    /// streams are independent of each other. To read borrowed changes at a position of the caller's
    /// choice, see [`changes_since`](Self::changes_since).
    #[must_use]
    pub fn changes(&self) -> DialogueChanges {
        DialogueChanges {
            reader: self.reader.clone(),
            cursor: Cursor::default(),
            buffer: [TranscriptChange::Reset].into(),
            reading: None,
            has_ended: false,
        }
    }
}

impl DialogueChanges {
    /// Waits for the next change. Returns `None` when the session is over and all changes were
    /// taken.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<TranscriptChange> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for DialogueChanges {
    type Item = TranscriptChange;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let it = self.get_mut();
        loop {
            if let Some(change) = it.buffer.pop_front() {
                return Poll::Ready(Some(change));
            }
            if it.has_ended {
                return Poll::Ready(None);
            }
            let reading = it
                .reading
                .get_or_insert_with(|| Box::pin(next_batch(it.reader.clone(), it.cursor)));
            let batch = ready!(reading.as_mut().poll(context));
            it.reading = None;
            match batch {
                Some(batch) => {
                    it.cursor = batch.cursor;
                    it.buffer = batch.changes;
                }
                None => it.has_ended = true,
            }
        }
    }
}

impl fmt::Debug for DialogueChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DialogueChanges")
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

/// Waits for changes after `cursor`. Returns `None` when the session has ended and there are none.
async fn next_batch(reader: TranscriptReader, cursor: Cursor) -> Option<Batch> {
    loop {
        // Before the read: what an ended session has is final, and then nothing is missed.
        let has_ended = reader.has_ended();
        let read = reader.read(move |transcript| {
            let changes = transcript.changes_up_to(cursor, BATCH);
            Batch {
                cursor: changes.cursor(),
                changes: changes.iter().map(Into::into).collect(),
            }
        });
        let batch = read.await?;
        if !batch.changes.is_empty() {
            return Some(batch);
        }
        if has_ended {
            return None;
        }
        reader.changed_since(cursor.revision()).await;
    }
}
