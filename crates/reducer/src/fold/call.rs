//! Tool calls, their results and sub-agents.

use bowline_jsonl::{RawJson, Str, ToolResult, ToolUse, User};

use crate::arena::{Arena, ShortText, Text, TextRef};
use crate::fold::content;
use crate::index::{IndexKey, IndexKind};
use crate::list;
use crate::log::LogStamp;
use crate::names::Name;
use crate::record::{
    BlockBody, BlockId, CallId, CallPresence, CallRecord, EntryId, ListLinks, ResultId, ThreadId,
    ThreadRecord, ToolResultRecord,
};
use crate::state::{CallState, PermissionState};
use crate::transcript::{LineContext, Transcript};

/// Deepest nesting of sub-agents that is represented. A few levels are common; JSON parsers stop at
/// 128 levels, of which a sub-agent takes three and the values inside get the rest (see
/// [`Raw`](crate::Raw)). Below it, the lines of a sub-agent join the thread of its call.
const DEEPEST: u32 = 32;

/// The result of a tool that was stopped by an interrupt (`crates/jsonl/PROTOCOL.md`, Interrupt).
const REJECTED: &str = "User rejected tool use";

impl Transcript {
    /// Adds a tool use: a draft, or final with its input.
    pub(crate) fn announce(
        &mut self,
        thread: ThreadId,
        entry: EntryId,
        tool: &ToolUse<'_>,
        is_final: bool,
    ) -> CallId {
        let id = tool.id.decode();
        let call = self.call(thread, &id, CallPresence::Announced);
        self.depend_on_call(call);
        if self.calls[call].presence == CallPresence::Placeholder {
            self.adopt(call, thread);
        }
        let record = &mut self.calls[call];
        record.entry = record.entry.max(Some(entry));
        if record.name.is_empty() {
            record.name = self.names.intern(&tool.name.decode());
            self.touch_call(call);
            self.touch_status();
        }
        self.restore_call(call);
        if is_final {
            if let Some(input) = tool.input {
                self.set_input(call, input);
            }
            if self.calls[call].state == CallState::Pending {
                let state = self.running_or_asking(&id);
                self.set_call(call, state);
            }
        }
        call
    }

    /// Restores a call that was removed with its draft.
    fn restore_call(&mut self, call: CallId) {
        let record = &mut self.calls[call];
        if record.presence == CallPresence::Removed {
            record.presence = CallPresence::Announced;
            let thread = record.thread.index();
            self.threads[thread].open.insert(call);
            self.touch_call(call);
            self.touch_status();
        }
    }

    pub(crate) fn set_input(&mut self, call: CallId, input: RawJson<'_>) {
        let old = self.calls[call].input;
        if !old.is_empty() && self.arena.text(old) == input.text() {
            return;
        }
        self.calls[call].input = self.arena.store_raw(input);
        self.touch_call(call);
    }

    /// Finds or adds the call with this id.
    fn call(&mut self, thread: ThreadId, id: &str, presence: CallPresence) -> CallId {
        let key = IndexKey::new(IndexKind::Call, 0, id);
        let known = self.find_call_by_key(key, id);
        known.unwrap_or_else(|| self.add_call(key, thread, id, presence))
    }

    fn add_call(
        &mut self,
        key: IndexKey,
        thread: ThreadId,
        id: &str,
        presence: CallPresence,
    ) -> CallId {
        let is_announced = presence == CallPresence::Announced;
        let call = CallId::new(self.calls.len() as u32);
        let name = self.arena.store_short(id);
        self.calls.push(CallRecord {
            id: name,
            name: Name::default(),
            thread,
            links: ListLinks::default(),
            entry: None,
            input: Text::default(),
            updated_input: None,
            state: if is_announced {
                CallState::Pending
            } else {
                CallState::Lost
            },
            presence,
            result: None,
            subagent: None,
            stamp: LogStamp::default(),
        });
        self.index.insert(key, call.number());
        let record = &mut self.threads[thread];
        list::insert(&mut self.calls, &mut record.calls, call);
        if is_announced {
            record.open.insert(call);
            self.touch_status();
        }
        self.touch_call(call);
        call
    }

    /// Moves a call to its announced place after its sub-agent or result came first.
    fn adopt(&mut self, call: CallId, thread: ThreadId) {
        let record = &mut self.calls[call];
        record.presence = CallPresence::Announced;
        let old = record.thread;
        if record.result.is_none() {
            record.state = CallState::Pending;
        }
        let height = record.subagent.map_or(0, |it| self.threads[it].height + 1);
        let is_sound = self
            .depth_outside(thread, call)
            .is_some_and(|it| it + height <= DEEPEST);
        let new = if is_sound { thread } else { old };
        if new != old {
            list::remove(&mut self.calls, &mut self.threads[old].calls, call);
            list::insert(&mut self.calls, &mut self.threads[new].calls, call);
            self.calls[call].thread = new;
            self.raise_height(new, height);
            self.touch_descendants(call);
        }
        if self.calls[call].state.is_open() {
            self.threads[new].open.insert(call);
            self.touch_status();
        }
        self.touch_call(call);
    }

    /// Logs everything below a call again: its JSON may depend on its depth.
    fn touch_descendants(&mut self, call: CallId) {
        let mut threads: Vec<_> = self.calls[call].subagent.into_iter().collect();
        while let Some(thread) = threads.pop() {
            for call in self.calls_of(thread).collect::<Vec<_>>() {
                self.touch_call(call);
                threads.extend(self.calls[call].subagent);
            }
            for entry in self.entries_of(thread).collect::<Vec<_>>() {
                self.touch_others(entry);
            }
        }
    }

    fn touch_others(&mut self, entry: EntryId) {
        let is_other = |id: &BlockId| matches!(self.blocks[id].body, BlockBody::Other(_));
        let others: Vec<_> = self.live_blocks(entry).filter(is_other).collect();
        for block in others {
            self.touch_block(block);
        }
    }

    /// Depth of a thread; `None` if it is inside of `call`.
    fn depth_outside(&self, thread: ThreadId, call: CallId) -> Option<u32> {
        let mut at = thread;
        let mut depth = 0;
        while let Some(holder) = self.threads[at].call {
            if holder == call {
                return None;
            }
            at = self.calls[holder].thread;
            depth += 1;
        }
        Some(depth)
    }

    /// Raises the recorded nesting below a thread to `height`.
    fn raise_height(&mut self, thread: ThreadId, height: u32) {
        let (mut at, mut height) = (thread, height);
        while self.threads[at].height < height {
            self.threads[at].height = height;
            let Some(holder) = self.threads[at].call else {
                return;
            };
            at = self.calls[holder].thread;
            height += 1;
        }
    }

    /// Returns the thread of a line by its immediate parent. A parent that has not come yet is
    /// represented by a placeholder.
    #[inline]
    pub(crate) fn thread_of(&mut self, parent: Option<Str<'_>>) -> ThreadId {
        match parent.filter(|parent| !parent.is_empty()) {
            Some(parent) => self.thread_in(parent),
            None => ThreadId::MAIN,
        }
    }

    /// Returns the thread of the sub-agent of the call with this id. A call that has not come yet is
    /// represented by a placeholder.
    pub(crate) fn thread_in(&mut self, parent: Str<'_>) -> ThreadId {
        let id = parent.decode();
        let call = self.call(ThreadId::MAIN, &id, CallPresence::Placeholder);
        self.depend_on_call(call);
        self.subagent(call)
    }

    /// Returns the thread of the sub-agent of a call; adds it if it is new.
    pub(crate) fn subagent(&mut self, call: CallId) -> ThreadId {
        if let Some(thread) = self.calls[call].subagent {
            return thread;
        }
        self.restore_call(call);
        let holder = self.calls[call].thread;
        if self
            .depth_outside(holder, call)
            .is_some_and(|depth| depth >= DEEPEST)
        {
            return holder;
        }
        let thread = ThreadId::new(self.threads.len() as u32);
        self.threads.push(ThreadRecord {
            call: Some(call),
            ..ThreadRecord::default()
        });
        self.calls[call].subagent = Some(thread);
        self.raise_height(holder, 1);
        self.touch_call(call);
        thread
    }

    /// Records id and type of the agent of a thread.
    pub(crate) fn note_agent(
        &mut self,
        thread: ThreadId,
        agent_id: Option<Str<'_>>,
        agent_type: Option<Str<'_>>,
    ) {
        let Some(call) = self.threads[thread].call else {
            return;
        };
        let record = &mut self.threads[thread];
        let mut is_new = set_if_empty(&mut self.arena, &mut record.agent_id, agent_id);
        if let Some(agent_type) = agent_type.filter(|it| !it.is_empty())
            && record.agent_type.is_empty()
        {
            record.agent_type = self.names.intern(&agent_type.decode());
            is_new = true;
        }
        if is_new {
            self.touch_call(call);
        }
    }

    pub(crate) fn set_call(&mut self, id: CallId, state: CallState) {
        let record = &mut self.calls[id];
        if record.state == state {
            return;
        }
        let was_open = std::mem::replace(&mut record.state, state).is_open();
        let open = &mut self.threads[record.thread].open;
        if was_open && !state.is_open() {
            open.remove(&id);
        } else if !was_open && state.is_open() {
            open.insert(id);
        }
        self.touch_call(id);
        self.touch_status();
    }

    /// Closes a call and everything that is open inside of it.
    pub(crate) fn close_call(&mut self, id: CallId, state: CallState, inside: CallState) {
        self.set_call(id, state);
        let mut threads: Vec<_> = self.calls[id].subagent.into_iter().collect();
        while let Some(thread) = threads.pop() {
            for call in std::mem::take(&mut self.threads[thread].open) {
                self.set_call(call, inside);
                self.close_permission_of(call, PermissionState::Expired);
                threads.extend(self.calls[call].subagent);
            }
        }
    }

    /// Closes the calls of a thread that will get no result.
    pub(crate) fn close_thread(&mut self, thread: ThreadId, state: CallState) {
        for call in self.threads[thread].open.clone() {
            self.close_call(call, state, state);
            self.close_permission_of(call, PermissionState::Expired);
        }
    }

    /// Removes a call that was retracted before it had any effect.
    pub(crate) fn remove_call(&mut self, id: CallId) {
        let record = &mut self.calls[id];
        if record.result.is_some()
            || record.subagent.is_some()
            || record.presence == CallPresence::Removed
        {
            return;
        }
        record.presence = CallPresence::Removed;
        record.state = CallState::Pending;
        self.threads[record.thread].open.remove(&id);
        self.touch_call(id);
        self.touch_status();
    }

    pub(crate) fn tool_result(
        &mut self,
        thread: ThreadId,
        result: &ToolResult<'_>,
        user: &User<'_>,
        context: LineContext,
    ) {
        let id = result.tool_use_id.decode();
        let call = self.call(thread, &id, CallPresence::Placeholder);
        self.depend_on_call(call);
        if self.calls[call].result.is_some() {
            return;
        }
        self.restore_call(call);
        let is_async = self.is_async(call, user);
        let record = self.store_result(result, is_async, context);
        let given = ResultId::new(self.results.push(record) as u32);
        self.calls[call].result = Some(given);
        if result.is_error {
            self.depend_on_answers(call);
        }
        let end = self.ending(call, result, user, self.arena.text(record.text));
        self.touch_call(call);
        self.close_permission_of(call, PermissionState::Answered);
        if is_async {
            return self.set_call(call, CallState::Succeeded);
        }
        let inside = if end == Ending::Done || end == Ending::Failed {
            CallState::Lost
        } else {
            CallState::Interrupted
        };
        if end == Ending::Rejected {
            let thread = self.calls[call].thread;
            self.threads[thread].rejected.push(call);
        }
        self.close_call(call, end.state(), inside);
        self.close_tasks_of(&id, result.is_error);
    }

    fn store_result(
        &mut self,
        result: &ToolResult<'_>,
        is_async: bool,
        context: LineContext,
    ) -> ToolResultRecord {
        let (text, raw) = content::store_result(&mut self.arena, result.content);
        ToolResultRecord {
            is_error: result.is_error,
            is_async,
            text,
            raw,
            offset: (context.offset),
            end: (context.end),
        }
    }

    /// Whether the call started background work (`crates/jsonl/PROTOCOL.md`, Sub-agents). Only
    /// agents are checked: the structured result of other tools may be megabytes.
    fn is_async(&self, call: CallId, user: &User<'_>) -> bool {
        let name = self.names.str(self.calls[call].name);
        if !matches!(name, "Agent" | "Task") {
            return false;
        }
        let has = |key, word: &str| {
            let value = user.tool_use_result.and_then(|result| result.get(key));
            value.is_some_and(|value| value.text() == word)
        };
        has("isAsync", "true") || has("status", "\"async_launched\"")
    }

    fn ending(
        &self,
        call: CallId,
        result: &ToolResult<'_>,
        user: &User<'_>,
        text: TextRef<'_>,
    ) -> Ending {
        if !result.is_error {
            return Ending::Done;
        }
        let about =
            |it: &RawJson<'_>| it.get("id").and_then(RawJson::as_str) == Some(result.tool_use_id);
        let meta = user
            .tool_result_meta
            .into_iter()
            .flat_map(RawJson::elements)
            .find(about);
        let kind = meta
            .and_then(|meta| meta.get("non_execution_kind"))
            .and_then(RawJson::as_str);
        let kind = kind.unwrap_or_default().decode();
        if matches!(&*kind, "interrupted" | "cancelled") || text.starts_with(content::INTERRUPT) {
            return Ending::Interrupted;
        }
        let decided = meta.is_some_and(|meta| meta.get("permission_decision").is_some());
        let structured = user.tool_use_result.and_then(RawJson::as_str);
        let is_rejected =
            kind == "user-rejected" && !decided || structured.is_some_and(|text| text == REJECTED);
        if is_rejected && !self.was_denied(call) {
            return Ending::Rejected;
        }
        Ending::Failed
    }

    /// Marks just rejected calls as interrupted, after an interrupt was confirmed.
    pub(crate) fn interrupt_rejected(&mut self, thread: ThreadId) {
        for call in std::mem::take(&mut self.threads[thread].rejected) {
            self.set_call(call, CallState::Interrupted);
        }
    }
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Done,
    Failed,
    /// By an interrupt or by the user's rejection; a following line decides.
    Rejected,
    Interrupted,
}

impl Ending {
    const fn state(self) -> CallState {
        match self {
            Self::Done => CallState::Succeeded,
            Self::Failed | Self::Rejected => CallState::Failed,
            Self::Interrupted => CallState::Interrupted,
        }
    }
}

/// Sets an id that is not known yet; returns whether it was set.
fn set_if_empty(arena: &mut Arena, name: &mut ShortText, value: Option<Str<'_>>) -> bool {
    let Some(value) = value.filter(|value| name.is_empty() && !value.is_empty()) else {
        return false;
    };
    *name = arena.store_short_of(value);
    true
}
