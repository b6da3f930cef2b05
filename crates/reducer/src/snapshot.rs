//! A transcript as it stood at one moment, for other threads.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::index::Index;
use crate::log::Log;
use crate::transcript::Transcript;
use crate::uuids::Uuids;

/// A transcript as it stood at one moment. It never changes, may be read by any thread while the
/// fold goes on, and is copied for nothing.
///
/// It shares text and records with the transcript: taking one costs what was added last, some
/// kilobytes at most, whatever the length of the transcript; and a record that changes behind it
/// costs a copy of its page of 64. It answers every question that a [`Transcript`] answers, but
/// finds a tool call or a permission request by its name in a search from the newest back.
#[derive(Clone)]
pub struct Snapshot(Arc<Transcript>);

impl Transcript {
    /// The transcript as it stands now.
    pub fn snapshot(&mut self) -> Snapshot {
        Snapshot(Arc::new(self.share()))
    }

    /// Everything that a reader may ask for, and nothing that only the fold needs.
    pub(crate) fn share(&mut self) -> Self {
        Self {
            arena: self.arena.share(),
            index: Index::absent(),
            uuids: Uuids::default(),
            log: Log::at(self.log.revision()),
            names: self.names.clone(),
            threads: self.threads.clone(),
            entries: self.entries.clone(),
            blocks: self.blocks.clone(),
            calls: self.calls.clone(),
            results: self.results.clone(),
            tasks: self.tasks.clone(),
            permissions: self.permissions.clone(),
            session: self.session.clone(),
            usage: self.usage.clone(),
            tally: self.tally.clone(),
            evidence: self.evidence.clone(),
            applied: self.applied,
            ..Self::bare()
        }
    }
}

impl Deref for Snapshot {
    type Target = Transcript;

    fn deref(&self) -> &Transcript {
        &self.0
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Snapshot").field(&self.0).finish()
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
