//! A transcript as it stood at one moment, for hosts that page through it.

use std::sync::Arc;

use crate::core::reducer::{BlockKind, Entry, EntryKind, Page, Snapshot, Thread, ToolCall};

use crate::change::{self, Change};
use crate::counters::Kind;
use crate::error::{BowlineError, Outcome};
use crate::runtime::{Held, call};

/// A transcript as it stood at one moment. It never changes and costs next to nothing: it shares
/// its text with the session.
#[derive(Debug, uniffi::Object)]
pub struct TranscriptSnapshot {
    snapshot: HeldSnapshot,
}

type HeldSnapshot = Held<Snapshot>;

impl std::fmt::Debug for HeldSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, f)
    }
}

/// Some entries of one thread with their blocks and tool calls.
#[derive(Clone, Debug, uniffi::Record)]
pub struct SnapshotPage {
    /// The entries in order, each followed by its blocks and the calls that these name.
    pub changes: Vec<Change>,
    /// Whether there are older entries.
    pub has_older: bool,
    /// The oldest entry of the page, to ask for what is before it.
    pub first: Option<u32>,
}

impl TranscriptSnapshot {
    pub(crate) fn new(snapshot: Snapshot) -> Arc<Self> {
        Arc::new(Self {
            snapshot: Held::new(Kind::Snapshot, snapshot),
        })
    }
}

#[uniffi::export]
impl TranscriptSnapshot {
    /// The transcript as one line of JSON, schema 1.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn json(&self) -> Outcome<String> {
        call(|| Ok(self.snapshot.to_json()))
    }

    /// The cursor to read on with: what changed since is behind it.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn cursor(&self) -> Outcome<u64> {
        call(|| Ok(self.snapshot.revision().number()))
    }

    /// How many entries a thread has: the main one, or that of the sub-agent of a tool call.
    ///
    /// # Errors
    ///
    /// [`BowlineError::NotFound`] when there is no such sub-agent.
    pub fn entry_count(&self, thread: Option<String>) -> Outcome<u64> {
        call(|| Ok(self.thread(thread.as_deref())?.entries().count() as u64))
    }

    /// The last `most` entries of a thread that stand before the entry `before`; the newest ones
    /// without it.
    ///
    /// # Errors
    ///
    /// [`BowlineError::NotFound`] when there is no such sub-agent.
    #[uniffi::method(default(thread = None, before = None, most = 50))]
    pub fn page(
        &self,
        thread: Option<String>,
        before: Option<u32>,
        most: u32,
    ) -> Outcome<SnapshotPage> {
        call(|| {
            let entries = self.thread(thread.as_deref())?.entries().rev();
            let is_before = |entry: &Entry<'_>| before.is_none_or(|it| entry.id().number() < it);
            let mut entries = entries.filter(is_before);
            let mut page: Vec<_> = entries.by_ref().take(most as usize).collect();
            page.reverse();
            Ok(SnapshotPage {
                changes: page.iter().flat_map(|it| self.lower(*it)).collect(),
                has_older: entries.next().is_some(),
                first: page.first().map(|it| it.id().number()),
            })
        })
    }

    /// A tool call with what it gave back, whatever thread it is in.
    ///
    /// # Errors
    ///
    /// [`BowlineError::NotFound`].
    pub fn tool_call(&self, tool_use_id: String) -> Outcome<Change> {
        call(|| {
            let found = self.snapshot.tool_call(&tool_use_id).map(change::call);
            found.ok_or_else(|| BowlineError::NotFound {
                reason: format!("find the tool call {tool_use_id}: there is none, check its id"),
            })
        })
    }
}

impl TranscriptSnapshot {
    fn thread(&self, call: Option<&str>) -> Outcome<Thread<'_>> {
        let Some(id) = call else {
            return Ok(self.snapshot.main());
        };
        let call = self.snapshot.tool_call(id);
        call.and_then(|it| it.subagent())
            .ok_or_else(|| BowlineError::NotFound {
                reason: format!("find the sub-agent of {id}: there is none, check the call's id"),
            })
    }

    fn lower(&self, entry: Entry<'_>) -> Vec<Change> {
        lower(entry, |id| self.snapshot.tool_call(id))
    }
}

/// An entry with its blocks, and the calls that these name.
fn lower<'a>(entry: Entry<'a>, call: impl Fn(&str) -> Option<ToolCall<'a>>) -> Vec<Change> {
    let mut changes = vec![change::entry(entry)];
    if let EntryKind::Assistant { blocks, .. } = entry.kind() {
        for block in blocks.iter() {
            changes.push(change::block(block));
            if let BlockKind::ToolCall { id } = block.kind() {
                changes.extend(call(&id).map(change::call));
            }
        }
    }
    changes
}

/// A page of what was given up. The first stretch that was begins with the first entry.
pub(crate) fn older_page(page: &Page) -> SnapshotPage {
    let first = page.entries().next().map(|it| it.id().number());
    let entries = page.entries().flat_map(|it| lower(it, |_| None));
    // A call may be on another page than the message that made it.
    let calls = page.tool_calls().map(change::call);
    SnapshotPage {
        changes: entries.chain(calls).collect(),
        has_older: first.is_some_and(|first| first > 0),
        first,
    }
}
