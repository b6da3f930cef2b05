//! The fold itself: lines and host events in, a transcript that can be read at any time.

mod records;

use std::collections::VecDeque;
use std::fmt;

use bowline_jsonl::{Event, Item, ParseError, ParseErrorKind, Position};

use crate::arena::{Arena, Text};
use crate::fold::{Draft, Evidence, SessionRecord, Tally, UsageRecord};
use crate::host::Meta;
use crate::ident::Named;
use crate::index::{Index, Key, Kind};
use crate::list::Walk;
use crate::log::{Log, Revision, Slot};
use crate::names::Names;
use crate::record::{
    BlockRecord, CallId, CallRecord, EntryBody, EntryId, EntryRecord, PermissionRecord, TaskRecord,
    ThreadId, ThreadRecord, ToolResultRecord,
};
use crate::shelf::Shelf;
use crate::state::ErrorKind;
use crate::store::Store;
use crate::uuids::Uuids;
use crate::window::{Ids, Keeper, What};

/// A conversation, folded from its stream.
///
/// It knows no clock, file or thread: lines, host events and the time they came in are arguments.
/// Every line costs its own size, whatever the length of the transcript.
pub struct Transcript {
    pub(crate) arena: Arena,
    pub(crate) index: Index,
    pub(crate) uuids: Uuids,
    pub(crate) log: Log,
    pub(crate) names: Names,
    pub(crate) threads: Store<ThreadRecord>,
    pub(crate) entries: Shelf<EntryRecord>,
    pub(crate) blocks: Shelf<BlockRecord>,
    pub(crate) calls: Shelf<CallRecord>,
    pub(crate) results: Shelf<ToolResultRecord>,
    pub(crate) tasks: Store<TaskRecord>,
    pub(crate) permissions: Store<PermissionRecord>,
    pub(crate) drafts: Vec<Draft>,
    /// Prompts of the host without a uuid that the agent has not echoed yet, nor any later one.
    pub(crate) unconfirmed: VecDeque<EntryId>,
    pub(crate) session: SessionRecord,
    pub(crate) usage: UsageRecord,
    pub(crate) tally: Tally,
    pub(crate) evidence: Evidence,
    /// Offset behind the last line that was applied: what lies before it is known.
    pub(crate) applied: u64,
    /// How often the process was started again.
    pub(crate) run: u32,
    /// Whether it folds lines once more, of which those that came twice are known.
    pub(crate) is_page: bool,
    /// What is given up of it, when it keeps no more than a window.
    pub(crate) keeper: Option<Box<Keeper>>,
    /// The first records behind the last cut of the window.
    pub(crate) marked: Ids,
    /// The bad line at the end of the input, until it comes whole.
    pub(crate) cut: Option<Cut>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) entry: EntryId,
    kind: ErrorKind,
    offset: u64,
    bytes: u64,
}

/// Where and when a line came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    pub(crate) offset: u64,
    pub(crate) end: u64,
    pub(crate) at_ms: u64,
}

/// Longest sample of a bad line in an error entry, in bytes of the line.
const SAMPLE: usize = 80;

impl Default for Transcript {
    fn default() -> Self {
        Self::new()
    }
}

impl Transcript {
    /// An empty transcript.
    #[must_use]
    pub fn new() -> Self {
        let mut transcript = Self::bare();
        transcript.threads.push(ThreadRecord::default());
        transcript.touch_header();
        transcript
    }

    /// Nothing at all, not even a main thread.
    pub(crate) fn bare() -> Self {
        Self {
            arena: Arena::default(),
            index: Index::default(),
            uuids: Uuids::default(),
            log: Log::default(),
            names: Names::default(),
            threads: Store::default(),
            entries: Shelf::default(),
            blocks: Shelf::default(),
            calls: Shelf::default(),
            results: Shelf::default(),
            tasks: Store::default(),
            permissions: Store::default(),
            drafts: Vec::new(),
            unconfirmed: VecDeque::new(),
            session: SessionRecord::default(),
            usage: UsageRecord::default(),
            tally: Tally::default(),
            evidence: Evidence::default(),
            applied: 0,
            run: 0,
            is_page: false,
            keeper: None,
            marked: Ids::default(),
            cut: None,
        }
    }

    /// A reader that begins at the beginning is told what an empty transcript says.
    fn touch_header(&mut self) {
        self.touch_session();
        self.touch_status();
        self.touch_usage();
        self.touch_tally();
    }

    /// Takes the next line of the stream, good or bad.
    ///
    /// A line that begins before [`Transcript::applied`] is known already and changes nothing, so
    /// that a replay may begin anywhere.
    pub fn apply(&mut self, item: &Item<'_>, at: Meta) {
        if item.at.offset < self.applied {
            return self.extend(item.at.end);
        }
        self.mend(item.at.offset);
        if self.keeper.is_some() {
            self.slide();
        }
        let here = Here {
            offset: item.at.offset,
            end: item.at.end,
            at_ms: at.at_ms,
        };
        self.applied = here.end;
        self.count(item.at);
        match &item.event {
            Ok(event) => self.event(event, here),
            Err(error) => self.bad_line(error, item, here),
        }
    }

    /// A last line without an LF that comes again with one is longer by it.
    fn extend(&mut self, end: u64) {
        if end > self.applied {
            self.tally.bytes += end - self.applied;
            self.applied = end;
            self.touch_tally();
        }
    }

    /// Offset behind the last line that was applied, in bytes: where to read on.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.applied
    }

    /// The revision that the transcript is at; it grows with every change that a reader may not
    /// have seen.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.log.revision()
    }

    /// Counts what stands now as read: the next change gets a revision of its own.
    ///
    /// [`Transcript::changes_since`] does so by itself. A reader that looks at the views instead and
    /// then waits for a newer revision needs it, because changes that nobody has read in between
    /// are logged as one.
    pub fn seal(&mut self) {
        self.log.seal();
    }

    fn count(&mut self, at: Position) {
        self.tally.bytes += at.end - at.offset;
        self.tally.lines += 1;
        self.touch_tally();
    }

    fn event(&mut self, event: &Event<'_>, here: Here) {
        self.tally.events += 1;
        self.hear();
        self.dispatch(event, here);
    }

    fn bad_line(&mut self, error: &ParseError, item: &Item<'_>, here: Here) {
        let raw = item.raw;
        let (kind, text) = match error.kind() {
            ParseErrorKind::Truncated => {
                let text = format!("the input ended {} bytes into {}", raw.len(), sample(raw));
                (ErrorKind::Truncated, text)
            }
            kind => (ErrorKind::Parse, format!("{kind}, got {}", sample(raw))),
        };
        let entry = self.error(kind, &text, here);
        match kind {
            ErrorKind::Parse => self.tally.parse_errors += 1,
            _ => self.tally.is_truncated = true,
        }
        // Without an LF it is the end of the input, and may come whole from a reader that begins
        // again at its first byte.
        if item.at.is_tail {
            self.applied = here.offset;
            let bytes = here.end - here.offset;
            let at = Meta { at_ms: here.at_ms };
            let text = || text.into_boxed_str();
            self.note_told(
                || What::Cut {
                    kind,
                    text: text(),
                    bytes,
                },
                at,
            );
            self.cut = Some(Cut {
                entry,
                kind,
                offset: here.offset,
                bytes,
            });
        }
    }

    /// Forgets a cut line when the line at its place comes.
    fn mend(&mut self, offset: u64) {
        let Some(cut) = self.cut.take_if(|cut| cut.offset == offset) else {
            return;
        };
        self.remove_entry(cut.entry);
        self.tally.bytes -= cut.bytes;
        self.tally.lines -= 1;
        match cut.kind {
            ErrorKind::Parse => self.tally.parse_errors -= 1,
            _ => self.tally.is_truncated = false,
        }
    }

    /// Forgets where the stream stands: the next one begins at offset 0.
    pub(crate) fn rewind(&mut self) {
        self.applied = 0;
        self.cut = None;
        self.run += 1;
        self.cut_run();
    }

    /// Passes over a line that is known to have come before.
    pub(crate) fn pass(&mut self, item: &Item<'_>) {
        if item.at.offset >= self.applied {
            self.applied = item.at.end;
            self.count(item.at);
            self.tally.events += 1;
            self.tally.duplicates += 1;
        }
    }

    /// Half a line at the end of the input comes again.
    pub(crate) fn cut_again(&mut self, kind: ErrorKind, text: &str, bytes: u64, at: Meta) {
        let here = Here {
            offset: self.applied,
            end: self.applied + bytes,
            at_ms: at.at_ms,
        };
        self.tally.bytes += bytes;
        self.tally.lines += 1;
        match kind {
            ErrorKind::Parse => self.tally.parse_errors += 1,
            _ => self.tally.is_truncated = true,
        }
        let entry = self.error(kind, text, here);
        self.cut = Some(Cut {
            entry,
            kind,
            offset: here.offset,
            bytes,
        });
    }

    pub(crate) fn error(&mut self, error: ErrorKind, text: &str, here: Here) -> EntryId {
        let text = self.arena.store(text);
        self.entry(ThreadId::MAIN, EntryBody::Error { error, text }, here)
    }

    pub(crate) fn touch_tally(&mut self) {
        self.log.note(&mut self.tally.stamp, Slot::Stats);
    }

    // Names.

    pub(crate) fn message_named(
        &self,
        key: Key,
        thread: ThreadId,
        id: Named<'_>,
    ) -> Option<EntryId> {
        let is_it = |entry: u32| match self.entries.get(entry as usize).as_deref() {
            Some(EntryRecord {
                thread: its,
                body: EntryBody::Assistant(message),
                ..
            }) => *its == thread && self.arena.is(message.message_id, id),
            _ => false,
        };
        self.index.find(key, is_it).map(EntryId::new)
    }

    pub(crate) fn call_named(&self, id: &str) -> Option<CallId> {
        let id = Named::of(id);
        if self.index.is_absent() {
            let is_it = |&at: &usize| self.arena.is(self.calls.at(at).id, id);
            let found = self.calls.numbers().rev().find(is_it);
            return found.map(|at| CallId::new(at as u32));
        }
        self.call_by(Key::of_id(Kind::Call, 0, id), id)
    }

    pub(crate) fn call_by(&self, key: Key, id: Named<'_>) -> Option<CallId> {
        let is_it = |call: u32| {
            let call = self.calls.get(call as usize);
            call.is_some_and(|call| self.arena.is(call.id, id))
        };
        self.index.find(key, is_it).map(CallId::new)
    }

    /// The entries of a thread, the removed ones too.
    pub(crate) fn entries_of(&self, thread: ThreadId) -> Walk<'_, EntryRecord> {
        Walk::new(&self.entries, self.threads[thread.at()].entries)
    }

    /// The calls of a thread, the removed ones too.
    pub(crate) fn calls_of(&self, thread: ThreadId) -> Walk<'_, CallRecord> {
        Walk::new(&self.calls, self.threads[thread.at()].calls)
    }

    /// Texts are stored by several folds in the same way.
    pub(crate) fn keep(&mut self, text: &str) -> Text {
        self.arena.store(text)
    }
}

// What it says is for its readers, and may be long.
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

/// The beginning of a bad line, escaped so that it can stand in a text.
fn sample(raw: &[u8]) -> String {
    let head = String::from_utf8_lossy(raw.get(..SAMPLE).unwrap_or(raw));
    let dots = if raw.len() > SAMPLE { "…" } else { "" };
    format!("\"{}{dots}\"", head.escape_debug())
}
