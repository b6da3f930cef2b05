//! Copyable views that borrow a transcript and serialize as its JSON.

mod asked;
mod call;
mod entry;
mod handle;
mod raw;
mod session;
mod status;
mod task;
mod thread;
mod tool;

pub use asked::Asked;
pub use call::{Subagent, ToolCalls, ToolResult};
pub use entry::{BlockKind, Blocks, EntryKind};
pub use handle::{Block, Entry, Thread, ToolCall};
pub use raw::Raw;
pub use session::{ModelUsage, Session, Stats, Usage};
pub use status::{OpenWork, Status};
pub use task::{Permission, Task};
pub use tool::Shown;

use crate::arena::ShortText;
use crate::names::Name;
use crate::record::{BlockId, CallId, CallPresence, EntryId, PermissionId, TaskId, ThreadId};
use crate::transcript::Transcript;

impl Transcript {
    /// Returns the main thread.
    #[must_use]
    pub const fn main(&self) -> Thread<'_> {
        Thread::new(self, ThreadId::MAIN)
    }

    /// Returns the threads of sub-agents, in the order in which they came. One is evicted with its call.
    pub fn threads(&self) -> impl DoubleEndedIterator<Item = Thread<'_>> {
        let threads = self.threads.numbers();
        let ids = threads.map(|at| ThreadId::new(at as u32));
        let is_there = |&id: &ThreadId| match self.threads[id].call {
            Some(call) => self.tool_call_by_id(call).is_some(),
            None => id != ThreadId::MAIN,
        };
        ids.filter(is_there).map(|id| Thread::new(self, id))
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

    /// Returns a block of any message; `None` if it or the message was retracted.
    #[must_use]
    pub fn block_by_id(&self, id: BlockId) -> Option<Block<'_>> {
        let record = self.blocks.get(id).filter(|it| !it.is_removed())?;
        self.entry_by_id(record.entry)?;
        Some(Block::new(self, id))
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
        open.map(|id| Permission::new(self, id))
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
}
