//! The past conversations of a build without them: none is read.

use super::{HistoryConfiguration, HistoryListing, HistoryQuery};
use crate::core;
use crate::error::{BowlineError, Result};
use crate::recording_fold::Past;

/// Which past conversations are listed.
pub(super) struct Query;

impl TryFrom<HistoryQuery> for Query {
    type Error = BowlineError;

    fn try_from(_: HistoryQuery) -> Result<Self> {
        Ok(Self)
    }
}

/// Reads past conversations.
#[derive(Clone, Debug)]
pub(super) struct Reader;

impl Reader {
    pub(super) fn list(&self, _query: &Query) -> Result<HistoryListing> {
        Err(BowlineError::absent("list past conversations"))
    }

    pub(super) fn open(&self, _id: &str) -> Result<Past> {
        Err(BowlineError::absent("open a past conversation"))
    }
}

impl From<HistoryConfiguration> for Reader {
    fn from(_: HistoryConfiguration) -> Self {
        Self
    }
}

impl HistoryConfiguration {
    pub(crate) async fn add_past(self, _: &mut core::DialogueConfiguration) -> Result<()> {
        Err(BowlineError::absent("read the past of a conversation"))
    }
}
