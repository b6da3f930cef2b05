//! Copyable views that borrow a transcript and serialize as its JSON.

mod call;
mod entry;
mod session;
mod task;

pub(crate) use call::{CallSummary, Entries};
pub use call::{Subagent, ToolCall, ToolCalls, ToolResult};
pub use entry::{Block, BlockKind, Blocks, Entry, EntryKind};
pub use session::{ModelUsage, Session, Stats, Usage};
pub use task::{Permission, Task};

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::arena::{ShortText, Text, TextRef};
use crate::names::Name;
use crate::record::{CallId, CallPresence, EntryId, PermissionId, TaskId, ThreadId};
use crate::transcript::Transcript;

/// A JSON value as the agent wrote it; lone surrogates are replaced.
///
/// It serializes as the value itself. A value that would nest the transcript's JSON deeper than 120
/// levels serializes as a string of its JSON text, since common parsers stop at 128. See
/// [`ToolCall::input`].
#[derive(Clone, Copy)]
pub struct Raw<'a> {
    text: TextRef<'a>,
    /// Levels of arrays and objects around it in the transcript's JSON.
    outer: usize,
}

/// Deepest nesting of the transcript's JSON. `serde_json` and others stop at 128; the rest is for
/// what a host wraps around it.
const DEEPEST: usize = 120;

/// Levels of JSON that each sub-agent adds: the call, the sub-agent, its list.
const AGENT_LEVELS: usize = 3;

impl<'a> Raw<'a> {
    /// Returns the JSON text.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        self.text.to_cow()
    }

    /// Returns the length of the JSON text in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        self.text.len()
    }

    /// Returns whether there is no text.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.text.is_empty()
    }
}

impl fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text, f)
    }
}

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.text();
        if is_deeper(&text, DEEPEST.saturating_sub(self.outer)) {
            return serializer.serialize_str(&text);
        }
        let value: &RawValue = serde_json::from_str(&text).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

/// Whether arrays and objects nest deeper than `levels`.
fn is_deeper(json: &str, levels: usize) -> bool {
    // Each level is opened and closed.
    if json.len() <= 2 * levels {
        return false;
    }
    let mut depth = 0;
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth > levels {
            return true;
        }
    }
    false
}

/// Skips the rest of a string.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

/// A sequence of entries: the main thread, or that of a sub-agent. See [`Transcript::main`].
#[derive(Clone, Copy, Debug)]
pub struct Thread<'a> {
    transcript: &'a Transcript,
    id: ThreadId,
}

impl<'a> Thread<'a> {
    pub(crate) const fn new(transcript: &'a Transcript, id: ThreadId) -> Self {
        Self { transcript, id }
    }

    /// Returns its id.
    #[must_use]
    pub const fn id(self) -> ThreadId {
        self.id
    }

    /// Returns the call that started the sub-agent; `None` for the main thread.
    #[must_use]
    pub fn call(self) -> Option<ToolCall<'a>> {
        let holder = self.transcript.threads[self.id].call?;
        Some(ToolCall::new(self.transcript, holder))
    }

    /// Returns the sub-agent's id, which is the `task_id` of its task.
    #[must_use]
    pub fn agent_id(self) -> Option<&'a str> {
        self.transcript
            .id_of(self.transcript.threads[self.id].agent_id)
    }

    /// Returns the type of sub-agent, such as `general-purpose`.
    #[must_use]
    pub fn agent_type(self) -> Option<&'a str> {
        self.transcript
            .name(self.transcript.threads[self.id].agent_type)
    }

    /// Returns its entries in order.
    pub fn entries(self) -> impl DoubleEndedIterator<Item = Entry<'a>> + use<'a> {
        let transcript = self.transcript;
        let entries = transcript.entries_of(self.id);
        let entries = entries.filter(|id| !transcript.entries[id].is_removed);
        entries.map(|id| Entry::new(transcript, id))
    }

    /// Returns its tool calls in the order of announcement.
    #[must_use]
    pub const fn tool_calls(self) -> ToolCalls<'a> {
        ToolCalls::new(self.transcript, self.id)
    }
}

impl Transcript {
    /// Returns the main thread.
    #[must_use]
    pub const fn main(&self) -> Thread<'_> {
        Thread::new(self, ThreadId::MAIN)
    }

    /// Returns the entries of the main thread in order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> {
        self.main().entries()
    }

    /// Returns an entry of any thread; `None` if it was retracted.
    #[must_use]
    pub fn entry_by_id(&self, id: EntryId) -> Option<Entry<'_>> {
        let record = self.entries.get(id).filter(|it| !it.is_removed)?;
        debug_assert!(record.thread.index() < self.threads.len());
        Some(Entry::new(self, id))
    }

    /// Returns a tool call of any thread.
    #[must_use]
    pub fn tool_call(&self, tool_use_id: &str) -> Option<ToolCall<'_>> {
        let id = self.find_call(tool_use_id)?;
        self.tool_call_by_id(id)
    }

    /// Returns a tool call of any thread; `None` if it was retracted.
    #[must_use]
    pub fn tool_call_by_id(&self, id: CallId) -> Option<ToolCall<'_>> {
        self.calls
            .get(id)
            .filter(|it| it.presence != CallPresence::Removed)?;
        Some(ToolCall::new(self, id))
    }

    /// Returns the tasks in the order of announcement.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = Task<'_>> {
        let tasks = self.tasks.numbers();
        tasks.map(|at| Task::new(self, TaskId::new(at as u32)))
    }

    /// Returns the permission requests in order.
    pub fn permissions(&self) -> impl DoubleEndedIterator<Item = Permission<'_>> {
        let permissions = self.permissions.numbers();
        permissions.map(|at| Permission::new(self, PermissionId::new(at as u32)))
    }

    /// Returns the unanswered permission requests, the oldest first.
    pub fn pending_permissions(&self) -> impl ExactSizeIterator<Item = Permission<'_>> {
        let open = self.evidence.permissions.iter();
        open.map(|&id| Permission::new(self, id))
    }

    /// Returns a permission request.
    #[must_use]
    pub fn permission(&self, request_id: &str) -> Option<Permission<'_>> {
        let id = self.find_permission(request_id)?;
        Some(Permission::new(self, id))
    }

    /// Returns whether a turn is open.
    #[must_use]
    pub const fn has_open_turn(&self) -> bool {
        self.evidence.turn.is_open
    }

    /// Returns whether the stream has ended.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.evidence.ended.is_some()
    }

    /// Returns the session's conversation, model and mode.
    #[must_use]
    pub const fn session(&self) -> Session<'_> {
        Session::new(self)
    }

    /// Returns cost and tokens.
    #[must_use]
    pub const fn usage(&self) -> Usage<'_> {
        Usage::new(self)
    }

    /// Returns the statistics of the stream.
    #[must_use]
    pub const fn stats(&self) -> Stats<'_> {
        Stats::new(self)
    }

    /// The `tool_use` id of a call; empty if it was evicted.
    pub(crate) fn call_id(&self, id: CallId) -> &str {
        let call = self.calls.get(id);
        call.map(|call| self.arena.str(call.id)).unwrap_or_default()
    }

    /// An id; `None` if it is empty.
    pub(crate) fn id_of(&self, atom: ShortText) -> Option<&str> {
        (!atom.is_empty()).then(|| self.arena.str(atom))
    }

    /// A name; `None` if it is empty.
    pub(crate) fn name(&self, name: Name) -> Option<&str> {
        (!name.is_empty()).then(|| self.names.str(name))
    }

    pub(crate) fn raw(&self, text: Text) -> Raw<'_> {
        let text = self.arena.text(text);
        Raw { text, outer: 0 }
    }

    /// A value in a thread, `levels` deep if that is the main one.
    pub(crate) fn raw_in(&self, thread: ThreadId, levels: usize, text: Text) -> Raw<'_> {
        let holder = |&thread: &ThreadId| {
            let call = self.threads[thread].call?;
            Some(self.calls[call].thread)
        };
        let agents = std::iter::successors(Some(thread), holder).count() - 1;
        Raw {
            outer: levels + AGENT_LEVELS * agents,
            ..self.raw(text)
        }
    }
}
