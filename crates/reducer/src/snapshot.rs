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

    /// Returns a copy into which lines are folded apart from this transcript: a place from which a fold is
    /// continued later, more than once.
    ///
    /// Like a snapshot it shares text and records, and it also copies the ids by which lines are matched, some
    /// bytes for each message, call and line with content. The copy has no window: it keeps what is folded into it.
    ///
    /// ```
    /// use bowline_jsonl::Framer;
    /// use bowline_reducer::{Meta, Transcript};
    ///
    /// let fold = |transcript: &mut Transcript, text: &'static str, at: u64| {
    ///     let mut framer = Framer::at(1 << 20, at, 1);
    ///     framer.push(text.into());
    ///     while let Some(frame) = framer.next_frame() {
    ///         frame.items().for_each(|item| transcript.apply(&item, Meta::default()));
    ///     }
    /// };
    /// let mut transcript = Transcript::new();
    /// let line = "{\"type\":\"keep_alive\"}\n";
    /// fold(&mut transcript, line, 0);
    /// let mut fork = transcript.fork();
    /// fold(&mut transcript, line, line.len() as u64);
    /// assert_eq!((fork.stats().lines(), transcript.stats().lines()), (1, 2));
    /// fold(&mut fork, line, line.len() as u64);
    /// assert_eq!(fork.to_json(), transcript.to_json());
    /// ```
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self {
            index: self.index.clone(),
            uuids: self.uuids.clone(),
            repetition: self.repetition.clone(),
            drafts: self.drafts.clone(),
            drafted: self.drafted.clone(),
            suspended: self.suspended.clone(),
            unconfirmed: self.unconfirmed.clone(),
            run: self.run,
            is_page: self.is_page,
            segment_start: self.segment_start,
            partial_line: self.partial_line,
            line: self.line,
            dialect: self.dialect.clone(),
            is_history: self.is_history,
            ..self.share()
        }
    }

    /// Returns roughly the memory that a fork does not share with its origin, in bytes.
    #[must_use]
    pub fn fork_size(&self) -> u64 {
        self.index.size() + self.uuids.size()
    }

    /// Returns roughly the memory of the text and the records that were stored so far, in bytes, with those that a
    /// window has evicted.
    #[must_use]
    pub fn content_size(&self) -> u64 {
        let records = [
            self.threads.size(),
            self.entries.size(),
            self.blocks.size(),
            self.calls.size(),
            self.results.size(),
            self.tasks.size(),
            self.permissions.size(),
        ];
        self.arena.written() + records.iter().sum::<u64>()
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
