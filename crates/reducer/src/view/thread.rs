//! Threads.

use std::borrow::Cow;

use crate::model::ThreadState;
use crate::record::{ThreadDetail, ThreadId};
use crate::view::call::ToolCalls;
use crate::view::handle::{Entry, Thread, ToolCall};
use crate::view::session::ModelUsage;

impl<'a> Thread<'a> {
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

    /// Returns its id: that of the sub-agent, else of the call that started it; `None` for the main
    /// thread.
    #[must_use]
    pub fn name(self) -> Option<&'a str> {
        if self.id == ThreadId::MAIN {
            return None;
        }
        self.agent_id().or_else(|| self.call().map(ToolCall::id))
    }

    /// The name by which changes refer to it: the id of the call that holds it, else its own.
    pub(crate) fn key(self) -> Option<&'a str> {
        match self.call() {
            Some(call) => Some(call.id()),
            None => self.name(),
        }
    }

    /// Returns what it works on.
    #[must_use]
    pub fn title(self) -> Option<Cow<'a, str>> {
        let title = self.detail()?.title;
        (!title.is_empty()).then(|| self.transcript.arena.text(title).to_cow())
    }

    /// Returns its progress; `None` if the agent does not report it.
    #[must_use]
    pub fn state(self) -> Option<ThreadState> {
        self.detail()?.state
    }

    /// Returns what its agent has used; `None` if the agent does not report it.
    #[must_use]
    pub fn usage(self) -> Option<ModelUsage> {
        self.detail()?.usage.map(ModelUsage::of)
    }

    fn detail(self) -> Option<&'a ThreadDetail> {
        self.transcript.threads[self.id].detail.as_deref()
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
