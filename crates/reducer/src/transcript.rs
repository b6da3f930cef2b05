//! The transcript: the state of the fold, and how a line enters it.

mod records;

use std::collections::VecDeque;
use std::fmt;

use bowline_jsonl::{Event, Item, ParseError, ParseErrorKind, Position};

use crate::arena::{Arena, Text};
use crate::fold::{Counters, Draft, Evidence, SessionRecord, UsageRecord};
use crate::host::Meta;
use crate::index::{Index, IndexKey, IndexKind};
use crate::list::ListIter;
use crate::log::{ChangeLog, ChangedItem, Revision};
use crate::names::NameTable;
use crate::record::{
    BlockRecord, CallId, CallRecord, EntryBody, EntryId, EntryRecord, PermissionRecord, TaskRecord,
    ThreadId, ThreadRecord, ToolResultRecord,
};
use crate::state::ErrorKind;
use crate::store::Store;
use crate::uuids::UuidSet;
use crate::window::{LoggedHostEvent, NextIds, WindowState};

/// A conversation, folded from its stream of lines.
///
/// Lines, host events and their arrival times are arguments of its methods. A line costs as much as
/// its own length, whatever the length of the transcript. The crate documentation has an example.
pub struct Transcript {
    pub(crate) arena: Arena,
    pub(crate) index: Index,
    pub(crate) uuids: UuidSet,
    pub(crate) log: ChangeLog,
    pub(crate) names: NameTable,
    pub(crate) threads: Store<ThreadRecord>,
    pub(crate) entries: Store<EntryRecord>,
    pub(crate) blocks: Store<BlockRecord>,
    pub(crate) calls: Store<CallRecord>,
    pub(crate) results: Store<ToolResultRecord>,
    pub(crate) tasks: Store<TaskRecord>,
    pub(crate) permissions: Store<PermissionRecord>,
    pub(crate) drafts: Vec<Draft>,
    /// Prompts that the host sent without a uuid, not echoed yet, in order.
    pub(crate) unconfirmed: VecDeque<EntryId>,
    pub(crate) session: SessionRecord,
    pub(crate) usage: UsageRecord,
    pub(crate) counters: Counters,
    pub(crate) evidence: Evidence,
    /// Offset after the last applied line; lines that begin before it are ignored.
    pub(crate) applied: u64,
    /// Number of restarts of the process.
    pub(crate) run: u32,
    /// Whether this is the fold of a [`Page`](crate::Page), for which duplicates are known in
    /// advance.
    pub(crate) is_page: bool,
    /// Window and evicted segments; `None` if everything is kept.
    pub(crate) window: Option<Box<WindowState>>,
    /// Numbers of the first records after the last segment boundary of the window.
    pub(crate) segment_start: NextIds,
    /// The incomplete line at the end of the input, until it arrives complete.
    pub(crate) partial_line: Option<PartialLine>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PartialLine {
    pub(crate) entry: EntryId,
    kind: ErrorKind,
    offset: u64,
    bytes: u64,
}

/// Position and arrival time of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineContext {
    pub(crate) offset: u64,
    pub(crate) end: u64,
    pub(crate) at_ms: u64,
}

/// Longest excerpt of a bad line in an error entry, in bytes of the line.
const MAX_EXCERPT: usize = 80;

impl Default for Transcript {
    fn default() -> Self {
        Self::new()
    }
}

impl Transcript {
    /// Returns an empty transcript.
    #[must_use]
    pub fn new() -> Self {
        let mut transcript = Self::bare();
        transcript.threads.push(ThreadRecord::default());
        transcript.touch_header();
        transcript
    }

    /// A transcript without even a main thread.
    pub(crate) fn bare() -> Self {
        Self {
            arena: Arena::default(),
            index: Index::default(),
            uuids: UuidSet::default(),
            log: ChangeLog::default(),
            names: NameTable::default(),
            threads: Store::default(),
            entries: Store::default(),
            blocks: Store::default(),
            calls: Store::default(),
            results: Store::default(),
            tasks: Store::default(),
            permissions: Store::default(),
            drafts: Vec::new(),
            unconfirmed: VecDeque::new(),
            session: SessionRecord::default(),
            usage: UsageRecord::default(),
            counters: Counters::default(),
            evidence: Evidence::default(),
            applied: 0,
            run: 0,
            is_page: false,
            window: None,
            segment_start: NextIds::default(),
            partial_line: None,
        }
    }

    /// Logs the initial values, for readers that start at the default cursor.
    fn touch_header(&mut self) {
        self.touch_session();
        self.touch_status();
        self.touch_usage();
        self.touch_stats();
    }

    /// Applies the next line of the stream, whether it is an event or not.
    ///
    /// A line that begins before [`Transcript::applied`] is ignored, so that a replay may begin
    /// anywhere.
    pub fn apply(&mut self, item: &Item<'_>, at: Meta) {
        if item.at.offset < self.applied {
            return self.extend(item.at.end);
        }
        self.discard_partial_line(item.at.offset);
        if self.window.is_some() {
            self.maintain_window();
        }
        let context = LineContext {
            offset: item.at.offset,
            end: item.at.end,
            at_ms: at.at_ms,
        };
        self.applied = context.end;
        self.count(item.at);
        match &item.event {
            Ok(event) => self.event(event, context),
            Err(error) => self.bad_line(error, item, context),
        }
    }

    /// Handles a last line without LF that arrives again with one.
    fn extend(&mut self, end: u64) {
        if end > self.applied {
            self.counters.bytes += end - self.applied;
            self.applied = end;
            self.touch_stats();
        }
    }

    /// Returns the offset after the last applied line, in bytes: where to continue reading.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.applied
    }

    /// Returns the current revision. It grows with each change that a reader may not have seen.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.log.revision()
    }

    /// Gives the next change a revision of its own, as if a reader had read now.
    ///
    /// [`Transcript::changes_since`] does so itself. It is needed by a reader that uses the views
    /// and waits for a newer revision, because changes without a read in between are logged once.
    pub fn seal(&mut self) {
        self.log.seal();
    }

    fn count(&mut self, at: Position) {
        self.counters.bytes += at.end - at.offset;
        self.counters.lines += 1;
        self.touch_stats();
    }

    fn event(&mut self, event: &Event<'_>, context: LineContext) {
        self.counters.events += 1;
        self.note_output();
        self.dispatch(event, context);
    }

    fn bad_line(&mut self, error: &ParseError, item: &Item<'_>, context: LineContext) {
        let raw = item.raw;
        let (kind, text) = match error.kind() {
            ParseErrorKind::Truncated => {
                let text = format!("the input ended {} bytes into {}", raw.len(), excerpt(raw));
                (ErrorKind::Truncated, text)
            }
            kind => (ErrorKind::Parse, format!("{kind}, got {}", excerpt(raw))),
        };
        let entry = self.error(kind, &text, context);
        match kind {
            ErrorKind::Parse => self.counters.parse_errors += 1,
            _ => self.counters.is_truncated = true,
        }
        // Without an LF it is the end of the input. A reader that continues at its first byte may
        // deliver the complete line.
        if item.at.is_tail {
            self.applied = context.offset;
            let bytes = context.end - context.offset;
            let at = Meta {
                at_ms: context.at_ms,
            };
            let text = || text.into_boxed_str();
            self.log_host_event(
                || LoggedHostEvent::PartialLine {
                    kind,
                    text: text(),
                    bytes,
                },
                at,
            );
            self.partial_line = Some(PartialLine {
                entry,
                kind,
                offset: context.offset,
                bytes,
            });
        }
    }

    /// Removes the incomplete line when the line at its offset arrives.
    fn discard_partial_line(&mut self, offset: u64) {
        let Some(partial_line) = self
            .partial_line
            .take_if(|partial_line| partial_line.offset == offset)
        else {
            return;
        };
        self.remove_entry(partial_line.entry);
        self.counters.bytes -= partial_line.bytes;
        self.counters.lines -= 1;
        match partial_line.kind {
            ErrorKind::Parse => self.counters.parse_errors -= 1,
            _ => self.counters.is_truncated = false,
        }
    }

    /// Resets the stream position: the next stream begins at offset 0.
    pub(crate) fn restart_stream(&mut self) {
        self.applied = 0;
        self.partial_line = None;
        self.run += 1;
        self.end_segment();
    }

    /// Skips a line that is known to be a duplicate.
    pub(crate) fn skip_duplicate(&mut self, item: &Item<'_>) {
        if item.at.offset >= self.applied {
            self.applied = item.at.end;
            self.count(item.at);
            self.counters.events += 1;
            self.counters.duplicates += 1;
        }
    }

    /// Adds an incomplete line at the end of the input again, for a page.
    pub(crate) fn replay_partial_line(
        &mut self,
        kind: ErrorKind,
        text: &str,
        bytes: u64,
        at: Meta,
    ) {
        let context = LineContext {
            offset: self.applied,
            end: self.applied + bytes,
            at_ms: at.at_ms,
        };
        self.counters.bytes += bytes;
        self.counters.lines += 1;
        match kind {
            ErrorKind::Parse => self.counters.parse_errors += 1,
            _ => self.counters.is_truncated = true,
        }
        let entry = self.error(kind, text, context);
        self.partial_line = Some(PartialLine {
            entry,
            kind,
            offset: context.offset,
            bytes,
        });
    }

    pub(crate) fn error(&mut self, error: ErrorKind, text: &str, context: LineContext) -> EntryId {
        let text = self.arena.store(text);
        self.entry(ThreadId::MAIN, EntryBody::Error { error, text }, context)
    }

    pub(crate) fn touch_stats(&mut self) {
        self.log
            .record(&mut self.counters.stamp, ChangedItem::Stats);
    }

    pub(crate) fn find_message(
        &self,
        key: IndexKey,
        thread: ThreadId,
        id: &str,
    ) -> Option<EntryId> {
        let is_match = |entry: u32| match self.entries.get(entry as usize) {
            Some(EntryRecord {
                thread: its,
                body: EntryBody::Assistant(message),
                ..
            }) => *its == thread && self.arena.str(message.message_id) == id,
            _ => false,
        };
        self.index.find(key, is_match).map(EntryId::new)
    }

    pub(crate) fn find_call(&self, id: &str) -> Option<CallId> {
        if self.index.is_absent() {
            let is_match = |&at: &usize| self.arena.str(self.calls[at].id) == id;
            let found = self.calls.numbers().rev().find(is_match);
            return found.map(|at| CallId::new(at as u32));
        }
        self.find_call_by_key(IndexKey::new(IndexKind::Call, 0, id), id)
    }

    pub(crate) fn find_call_by_key(&self, key: IndexKey, id: &str) -> Option<CallId> {
        let is_match = |call: u32| {
            let call = self.calls.get(call as usize);
            call.is_some_and(|call| self.arena.str(call.id) == id)
        };
        self.index.find(key, is_match).map(CallId::new)
    }

    /// The entries of a thread, including removed ones.
    pub(crate) fn entries_of(&self, thread: ThreadId) -> ListIter<'_, EntryRecord> {
        ListIter::new(&self.entries, self.threads[thread].entries)
    }

    /// The calls of a thread, including removed ones.
    pub(crate) fn calls_of(&self, thread: ThreadId) -> ListIter<'_, CallRecord> {
        ListIter::new(&self.calls, self.threads[thread].calls)
    }

    /// Texts are stored by several folds in the same way.
    pub(crate) fn keep(&mut self, text: &str) -> Text {
        self.arena.store(text)
    }
}

// The content may be long and is available through the views.
impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcript")
            .field("applied", &self.applied)
            .field("revision", &self.log.revision())
            .field("entries", &self.entries.len())
            .field("calls", &self.calls.len())
            .finish_non_exhaustive()
    }
}

/// An escaped excerpt of a bad line.
fn excerpt(raw: &[u8]) -> String {
    let head = String::from_utf8_lossy(raw.get(..MAX_EXCERPT).unwrap_or(raw));
    let dots = if raw.len() > MAX_EXCERPT { "…" } else { "" };
    format!("\"{}{dots}\"", head.escape_debug())
}
