//! The recordings of a build without them: none is opened.

use std::sync::Arc;

use crate::change::ChangeBatch;
use crate::core::reducer::Snapshot;
use crate::core::reducer::dialect::DialectName;
use crate::error::{BowlineError, Result};

/// A past conversation.
pub(crate) enum Past {}

/// A recording.
pub(crate) enum RecordingFold {}

impl RecordingFold {
    pub(crate) fn open(path: String, _dialect: Option<DialectName>) -> Result<Self> {
        Err(BowlineError::absent(&format!("read {path}")))
    }

    pub(crate) fn past(past: Past) -> Self {
        match past {}
    }

    pub(crate) fn path(&self) -> &str {
        match *self {}
    }

    pub(crate) async fn next(
        self: Arc<Self>,
        _cursor: u64,
        _max_count: u32,
    ) -> Result<Option<ChangeBatch>> {
        match *self {}
    }

    pub(crate) async fn complete(self: Arc<Self>) -> Result<Snapshot> {
        match *self {}
    }
}
