//! What is wrong with a session's files, for the REST API and its clients.

use std::io;

use bowline_transport::journal::{Damage, Folder, JournalReader};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::{SessionRecord, ShimStatus};

/// Why a part of a session's log, or its metadata, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Damage)]
#[non_exhaustive]
pub struct SessionDamage {
    /// The damaged segment of the log's journal, unless the metadata is damaged or the journal is of
    /// another version.
    pub segment: Option<u32>,
    /// Offset in the segment's file of the first byte that cannot be read.
    pub offset: Option<u64>,
    /// What is wrong, as text.
    pub reason: String,
}

impl SessionDamage {
    /// Damage that is not at an offset of the log.
    pub(super) const fn elsewhere(reason: String) -> Self {
        Self {
            segment: None,
            offset: None,
            reason,
        }
    }

    /// Reads the log of a session that has ended, and returns the first damage in it. The log of a
    /// running session is not read. Blocks.
    pub(crate) fn in_log_of(record: &SessionRecord) -> Option<Self> {
        if record.shim != ShimStatus::Gone || !record.info.has_journal {
            return None;
        }
        let verify = || -> io::Result<Option<Damage>> {
            let mut journal = JournalReader::open(Folder::at(record.session.journal()))?;
            journal.verify()?;
            Ok(journal.damage().next().cloned())
        };
        match verify() {
            Ok(damage) => damage.as_ref().map(Self::from),
            Err(error) => Some(Self::elsewhere(error.to_string())),
        }
    }
}

impl From<&Damage> for SessionDamage {
    fn from(damage: &Damage) -> Self {
        Self {
            segment: Some(damage.segment),
            offset: Some(damage.offset),
            reason: damage.to_string(),
        }
    }
}
