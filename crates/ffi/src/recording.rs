//! Recorded streams.

use std::sync::Arc;

use crate::change_reader::ChangeSource;
use crate::change_stream::ChangeStream;
use crate::counters::ObjectKind;
use crate::cursor::CursorSpace;
use crate::error::Result;
use crate::recording_fold::RecordingFold;
use crate::runtime::{Tracked, call, uncancelled};
use crate::snapshot::TranscriptSnapshot;

/// A recorded stream or a past conversation.
///
/// A recorded stream consists of lines as written by `bowline run --record` or by any agent, of a trace of
/// both directions, or of a journal: one file, or the folder of its segments. Files may be compressed
/// with gzip.
///
/// The file is read on demand, and the same code builds the transcript as for a live session. Reading
/// one change at a time therefore shows the state after each line.
#[derive(uniffi::Object)]
pub struct Recording {
    fold: Tracked<Arc<RecordingFold>>,
    cursors: CursorSpace,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording")
            .field("path", &self.fold.path())
            .finish()
    }
}

impl Recording {
    pub(crate) fn new(fold: RecordingFold) -> Arc<Self> {
        Arc::new(Self {
            fold: Tracked::new(ObjectKind::Recording, Arc::new(fold)),
            cursors: CursorSpace::unique(),
        })
    }
}

#[uniffi::export]
impl Recording {
    /// Returns a stream of the transcript's changes from the beginning.
    pub fn change_stream(&self) -> Result<Arc<ChangeStream>> {
        call(|| {
            let source = ChangeSource::Recording(Arc::clone(&self.fold));
            Ok(ChangeStream::new(source, self.cursors))
        })
    }

    /// Reads the rest of the recording and returns the complete transcript.
    ///
    /// # Errors
    ///
    /// `Io` if the file cannot be read to its end.
    pub async fn snapshot(&self) -> Result<Arc<TranscriptSnapshot>> {
        let (fold, cursors) = (Arc::clone(&self.fold), self.cursors);
        uncancelled(async move { Ok(TranscriptSnapshot::new(fold.complete().await?, cursors)) })
            .await
    }
}
