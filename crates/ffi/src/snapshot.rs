//! A transcript at one moment, read page by page.

use std::sync::Arc;

use crate::change::{self, Change};
use crate::core::reducer::{BlockKind, Entry, EntryKind, Page, Schema, Snapshot, Thread, ToolCall};
use crate::counters::ObjectKind;
use crate::cursor::CursorSpace;
use crate::error::{BowlineError, Result};
use crate::mirror::mirror_into;
use crate::runtime::{Tracked, call};

/// A transcript at one moment. It never changes and shares its text with the session.
#[derive(uniffi::Object)]
pub struct TranscriptSnapshot {
    snapshot: Tracked<Snapshot>,
    cursors: CursorSpace,
}

impl std::fmt::Debug for TranscriptSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&*self.snapshot, f)
    }
}

mirror_into! {
    /// A version of the transcript as JSON.
    TranscriptSchema = Schema {
        /// The first version.
        One,
        /// Version 1 and the fields that agents of all kinds have in common.
        Two,
    }
}

/// Consecutive entries with their blocks and tool calls.
#[derive(Clone, Debug, uniffi::Record)]
pub struct SnapshotPage {
    /// The changes that add the entries, in order, each followed by its blocks and their tool calls.
    pub changes: Vec<Change>,
    /// Whether there are earlier entries.
    pub has_older: bool,
    /// The number of the page's first entry, to read the page before it.
    pub first_entry: Option<u32>,
}

impl TranscriptSnapshot {
    pub(crate) fn new(snapshot: Snapshot, cursors: CursorSpace) -> Arc<Self> {
        Arc::new(Self {
            cursors,
            snapshot: Tracked::new(ObjectKind::Snapshot, snapshot),
        })
    }
}

#[uniffi::export]
impl TranscriptSnapshot {
    /// Returns the transcript as one line of JSON, in schema 2 when `schema` is absent.
    #[uniffi::method(default(schema = None))]
    pub fn json(&self, schema: Option<TranscriptSchema>) -> Result<String> {
        let schema = schema.map(Schema::from).unwrap_or_default();
        call(|| Ok(self.snapshot.json(schema).to_string()))
    }

    /// Returns the cursor from which to read later changes.
    pub fn cursor(&self) -> Result<u64> {
        call(|| Ok(self.cursors.cursor(self.snapshot.revision().number())))
    }

    /// Returns the number of entries of the main thread, or of the sub-agent that the tool call
    /// `thread` started, or whose thread has this name.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such sub-agent.
    pub fn entry_count(&self, thread: Option<String>) -> Result<u64> {
        call(|| Ok(self.thread(thread.as_deref())?.entries().count() as u64))
    }

    /// Returns the last `maxCount` entries of a thread before the entry `before`, or the newest ones
    /// if it is absent.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such sub-agent; `Invalid` if `maxCount` is 0.
    #[uniffi::method(default(thread = None, before = None, max_count = 50))]
    pub fn page(
        &self,
        thread: Option<String>,
        before: Option<u32>,
        max_count: u32,
    ) -> Result<SnapshotPage> {
        call(|| {
            if max_count == 0 {
                return Err(BowlineError::invalid(
                    "read a page of 0 entries: pass a maxCount of at least 1",
                ));
            }
            let entries = self.thread(thread.as_deref())?.entries().rev();
            let is_before = |entry: &Entry<'_>| before.is_none_or(|it| entry.id().number() < it);
            let mut entries = entries.filter(is_before);
            let mut page: Vec<_> = entries.by_ref().take(max_count as usize).collect();
            page.reverse();
            let call = |id: &str| self.snapshot.tool_call(id);
            Ok(SnapshotPage {
                changes: page.iter().flat_map(|it| changes(*it, call)).collect(),
                has_older: entries.next().is_some(),
                first_entry: page.first().map(|it| it.id().number()),
            })
        })
    }

    /// Returns a tool call of any thread as the change that adds it.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such call.
    pub fn tool_call(&self, tool_use_id: String) -> Result<Change> {
        call(|| {
            let found = self.snapshot.tool_call(&tool_use_id).map(change::call);
            found.ok_or_else(|| BowlineError::NotFound {
                reason: format!("find tool call {tool_use_id}: no such call; check its id"),
            })
        })
    }
}

impl TranscriptSnapshot {
    fn thread(&self, call: Option<&str>) -> Result<Thread<'_>> {
        let Some(id) = call else {
            return Ok(self.snapshot.main());
        };
        let call = self.snapshot.tool_call(id);
        let mut unheld = self.snapshot.threads().filter(|it| it.call().is_none());
        call.and_then(|it| it.subagent())
            .or_else(|| unheld.find(|it| it.name() == Some(id)))
            .ok_or_else(|| BowlineError::NotFound {
                reason: format!("find the sub-agent of tool call {id}: it has none; check the id"),
            })
    }
}

/// Returns the changes that add an entry, its blocks and the tool calls that these name.
fn changes<'a>(entry: Entry<'a>, call: impl Fn(&str) -> Option<ToolCall<'a>>) -> Vec<Change> {
    let mut changes = vec![change::entry(entry)];
    if let EntryKind::Assistant { blocks, .. } = entry.kind() {
        for block in blocks.iter() {
            changes.push(change::block(block));
            if let BlockKind::ToolCall { id } = block.kind() {
                changes.extend(call(id).map(change::call));
            }
        }
    }
    changes
}

impl SnapshotPage {
    /// Converts a page that was read from a recording. Entry 0 is the first of all.
    pub(crate) fn of_recording(page: &Page) -> Self {
        let first_entry = page.entries().next().map(|it| it.id().number());
        let entries = page.entries().flat_map(|it| changes(it, |_| None));
        // A call can be on another page than the message that made it.
        let calls = page.tool_calls().map(change::call);
        Self {
            changes: entries.chain(calls).collect(),
            has_older: first_entry.is_some_and(|first| first > 0),
            first_entry,
        }
    }
}
