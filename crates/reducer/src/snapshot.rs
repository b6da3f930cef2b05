//! Immutable copies of a transcript.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::index::Index;
use crate::log::ChangeLog;
use crate::transcript::Transcript;
use crate::uuids::UuidSet;

/// An immutable copy of a transcript that other threads can read while the fold continues.
///
/// It shares text and records with the transcript. Taking one copies what was appended last, some
/// kilobytes at most, whatever the length of the transcript; a record that changes afterwards
/// copies its page of 64 records. Cloning a snapshot is free. It has all views of a [`Transcript`],
/// but looks up a tool call or permission request by a linear search from the newest.
///
/// ```
/// use bowline_reducer::Transcript;
///
/// let mut transcript = Transcript::new();
/// let snapshot = transcript.snapshot();
/// let json = std::thread::spawn(move || snapshot.to_json()).join().unwrap();
/// assert_eq!(json, transcript.to_json());
/// ```
#[derive(Clone)]
pub struct Snapshot(Arc<Transcript>);

impl Transcript {
    /// Returns a snapshot of the current state. The next change gets a revision of its own.
    pub fn snapshot(&mut self) -> Snapshot {
        self.seal();
        Snapshot(Arc::new(self.share()))
    }

    /// Copies what views need, without the state of the fold.
    pub(crate) fn share(&mut self) -> Self {
        Self {
            arena: self.arena.share(),
            index: Index::absent(),
            uuids: UuidSet::default(),
            log: ChangeLog::at(self.log.revision()),
            names: self.names.clone(),
            threads: self.threads.clone(),
            entries: self.entries.clone(),
            blocks: self.blocks.clone(),
            calls: self.calls.clone(),
            results: self.results.clone(),
            tasks: self.tasks.clone(),
            permissions: self.permissions.clone(),
            taken_up: self.taken_up.clone(),
            session: self.session.clone(),
            usage: self.usage.clone(),
            counters: self.counters.clone(),
            evidence: self.evidence.clone(),
            applied: self.applied,
            dialect_name: self.dialect_name,
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
