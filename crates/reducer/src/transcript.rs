//! The transcript: the state of the fold, and what a dialect writes to it.

mod records;
mod touch;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use bowline_jsonl::RawJson;

use crate::arena::{Arena, Text};
use crate::dialect_name::DialectName;
use crate::index::{Index, IndexKey, IndexKind};
use crate::list::ListIter;
use crate::log::{ChangeLog, Revision};
use crate::names::NameTable;
use crate::position::{LogPosition, NextIds};
use crate::record::{
    BlockRecord, CallId, CallRecord, Counters, Draft, DraftBlocks, DraftedBlocks, EntryBody,
    EntryId, EntryRecord, ErrorRecord, Evidence, LineEnd, Millis, PermissionId, PermissionRecord,
    SessionRecord, TaskRecord, ThreadId, ThreadRecord, ToolResultRecord, UsageRecord,
};
use crate::repetition::Repetition;
use crate::segment::WindowState;
use crate::state::ErrorKind;
use crate::store::Store;
use crate::uuids::UuidSet;

/// A conversation, folded from its stream of lines.
///
/// Lines, host events and their arrival times are arguments of its methods. A line costs as much as
/// its own length, whatever the length of the transcript. The crate documentation has an example.
pub struct Transcript {
    pub(crate) arena: Arena,
    pub(crate) index: Index,
    pub(crate) uuids: UuidSet,
    pub(crate) repetition: Repetition,
    pub(crate) log: ChangeLog,
    pub(crate) names: NameTable,
    pub(crate) threads: Store<ThreadRecord>,
    pub(crate) entries: Store<EntryRecord>,
    pub(crate) blocks: Store<BlockRecord>,
    pub(crate) calls: Store<CallRecord>,
    pub(crate) results: Store<ToolResultRecord>,
    pub(crate) tasks: Store<TaskRecord>,
    pub(crate) permissions: Store<PermissionRecord>,
    /// Messages that stream; a thread has at most one.
    pub(crate) drafts: BTreeMap<ThreadId, Draft>,
    pub(crate) drafted: DraftedBlocks,
    /// Blocks of long messages that may stream again, by their message.
    pub(crate) suspended: BTreeMap<EntryId, DraftBlocks>,
    /// Prompts that the host sent without a uuid, not echoed yet, in order.
    pub(crate) unconfirmed: VecDeque<EntryId>,
    /// Prompts of the host that the agent took up after entries that follow them, and the last of those.
    pub(crate) taken_up: BTreeMap<EntryId, EntryId>,
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
    pub(crate) window: Option<Box<WindowState<Self>>>,
    /// Numbers of the first records after the last segment boundary of the window.
    pub(crate) segment_start: NextIds,
    /// The incomplete line at the end of the input, until it arrives complete.
    pub(crate) partial_line: Option<PartialLine>,
    /// The line that is being applied.
    pub(crate) line: LineContext,
    /// The dialect of the stream; `None` for Claude Code's.
    pub(crate) dialect: Option<Box<dyn Dialect>>,
    pub(crate) dialect_name: DialectName,
    /// Whether the agent repeats its own history.
    pub(crate) is_history: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PartialLine {
    pub(crate) entry: EntryId,
    pub(crate) kind: ErrorKind,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// Position and arrival time of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineContext {
    pub(crate) offset: u64,
    pub(crate) end: u64,
    /// Offset after its JSON, which does not depend on whether its LF has come.
    pub(crate) json_end: u64,
    pub(crate) at_ms: u64,
}

impl LineContext {
    /// A host event between two lines.
    pub(crate) const fn between(offset: u64, at_ms: u64) -> Self {
        Self {
            offset,
            end: offset,
            json_end: offset,
            at_ms,
        }
    }

    pub(crate) const fn line_end(self) -> LineEnd {
        LineEnd::new(self.json_end)
    }

    pub(crate) const fn at(self) -> Millis {
        Millis::new(self.at_ms)
    }
}

/// The fold of an agent's protocol.
///
/// Both methods get whole lines that are JSON objects, each once, in the order in which they were
/// written; lines that are not are errors of the transcript, and a line that is repeated by its
/// offset is skipped before. A recording may hold the output without the input, or begin in the
/// middle: a response whose request is unknown must still make sense.
///
/// A transcript with a window copies the dialect at each of its checkpoints, so its state must be
/// small.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// Folds a line of the agent's output.
    fn output(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>);

    /// Folds a line that the host wrote to the agent. Agents without such lines need nothing.
    fn input(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        let _ = (line, fold);
    }

    /// Forgets what the process that ended can no longer answer. What is open in the transcript is
    /// closed afterwards.
    fn end(&mut self, fold: &mut Fold<'_>) {
        let _ = fold;
    }

    /// Returns a copy with the same state.
    fn copy(&self) -> Box<dyn Dialect>;
}

impl Clone for Box<dyn Dialect> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

/// The transcript while one line is folded into it: what a [`Dialect`] writes to.
///
/// It knows the line's arrival time and its byte range in the output stream, and stamps everything
/// that the line adds or changes with them, so that no method takes them.
///
/// | to | call |
/// |---|---|
/// | find the thread of a line | [`main`](Self::main), [`thread`](Self::thread), [`hold_thread`](Self::hold_thread) |
/// | write a prompt, or confirm the host's | [`prompt`](Self::prompt) |
/// | write text or reasoning | [`append`](Self::append), [`set_text`](Self::set_text), [`close_message`](Self::close_message) |
/// | announce, change or end a tool call | [`upsert_call`](Self::upsert_call), [`append_output`](Self::append_output), [`end_call`](Self::end_call) |
/// | ask the host | [`open_request`](Self::open_request), [`answer_request`](Self::answer_request), [`withdraw_request`](Self::withdraw_request) |
/// | begin and end a turn | [`begin_turn`](Self::begin_turn), [`end_turn`](Self::end_turn) |
/// | describe the session | the setters: [`set_plan`](Self::set_plan), [`set_context`](Self::set_context), … |
/// | say something beside the conversation | [`notice`](Self::notice) |
/// | skip a line | [`unknown`](Self::unknown), [`is_duplicate`](Self::is_duplicate) |
///
/// # Ids
///
/// Ids of calls and requests are unique in a session. An agent whose ids are unique only within a
/// thread or a process needs them qualified, such as `thread:item` or `run:id` with
/// [`run`](Self::run).
///
/// # Order
///
/// Nothing depends on an order that an agent may change: a call may come first with its permission,
/// its sub-agent or its end; a thread may come before the call that holds it; a message may be
/// continued after another one.
#[derive(Debug)]
pub struct Fold<'t> {
    pub(crate) it: &'t mut Transcript,
}

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
            repetition: Repetition::default(),
            log: ChangeLog::default(),
            names: NameTable::default(),
            threads: Store::default(),
            entries: Store::default(),
            blocks: Store::default(),
            calls: Store::default(),
            results: Store::default(),
            tasks: Store::default(),
            permissions: Store::default(),
            drafts: BTreeMap::new(),
            drafted: DraftedBlocks::default(),
            suspended: BTreeMap::new(),
            unconfirmed: VecDeque::new(),
            taken_up: BTreeMap::new(),
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
            line: LineContext::default(),
            dialect: None,
            dialect_name: DialectName::Claude,
            is_history: false,
        }
    }

    /// Returns the offset after the last applied line, in bytes: where to continue reading.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.applied
    }

    /// Position of the next line.
    pub(crate) const fn position(&self) -> LogPosition {
        LogPosition {
            run: self.run,
            offset: self.applied,
        }
    }

    pub(crate) fn ids(&self) -> NextIds {
        NextIds {
            thread: self.threads.len(),
            entry: self.entries.len(),
            block: self.blocks.len(),
            call: self.calls.len(),
            result: self.results.len(),
            task: self.tasks.len(),
            permission: self.permissions.len(),
        }
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

    /// Resets the stream position: the next stream begins at offset 0.
    pub(crate) fn restart_stream(&mut self) {
        self.applied = 0;
        self.partial_line = None;
        self.repetition = Repetition::default();
        self.run += 1;
        self.end_segment();
    }

    pub(crate) fn error(&mut self, error: ErrorKind, text: &str, context: LineContext) -> EntryId {
        let text = self.arena.store(text);
        let body = EntryBody::Error(ErrorRecord {
            error,
            text,
            line_end: context.line_end(),
        });
        self.entry(ThreadId::MAIN, body, context)
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

    pub(crate) fn find_permission(&self, request_id: &str) -> Option<PermissionId> {
        if self.index.is_absent() {
            let is_match =
                |&at: &usize| self.arena.str(self.permissions[at].request_id) == request_id;
            let found = self.permissions.numbers().rev().find(is_match);
            return found.map(|at| PermissionId::new(at as u32));
        }
        self.find_permission_by_key(
            IndexKey::new(IndexKind::Permission, 0, request_id),
            request_id,
        )
    }

    pub(crate) fn find_permission_by_key(
        &self,
        key: IndexKey,
        request_id: &str,
    ) -> Option<PermissionId> {
        let is_match = |id: u32| {
            let permission = self.permissions.get(id as usize);
            permission.is_some_and(|it| self.arena.str(it.request_id) == request_id)
        };
        self.index.find(key, is_match).map(PermissionId::new)
    }

    /// Returns the call that a request is for.
    pub(crate) fn call_of(&self, id: PermissionId) -> Option<CallId> {
        let tool_use_id = self.permissions[id].tool_use_id?;
        self.find_call(self.arena.str(tool_use_id))
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
