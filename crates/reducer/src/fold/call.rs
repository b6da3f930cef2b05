//! Tool calls, their results, and the sub-agents that they hold.

use bowline_jsonl::{RawJson, Str, ToolResult, ToolUse, User};

use crate::arena::{Arena, Atom, Text, TextRef};
use crate::fold::user;
use crate::ident::Named;
use crate::index::{Key, Kind};
use crate::list;
use crate::log::{Slot, Stamp};
use crate::names::Name;
use crate::number::U48;
use crate::record::{
    Beside, BlockBody, BlockId, CallId, CallRecord, EntryId, ResultId, Standing, ThreadId,
    ThreadRecord, ToolResultRecord,
};
use crate::state::{CallState, PermissionState};
use crate::transcript::{Here, Transcript};

/// Deepest nesting of sub-agents that is shown as such. A few levels are real; common readers of
/// JSON stop at 128, of which each sub-agent takes three; what a call holds gets the rest (see
/// [`Raw`](crate::Raw)). Below it the lines of a sub-agent join the thread of its call.
const DEEPEST: u32 = 32;

/// What an interrupt says about a tool that it stopped (observed, fact 19).
const REJECTED: &str = "User rejected tool use";

impl Transcript {
    /// A tool use: drafted, or final with its input.
    pub(crate) fn announce(
        &mut self,
        thread: ThreadId,
        entry: EntryId,
        tool: &ToolUse<'_>,
        is_final: bool,
    ) -> CallId {
        let id = tool.id.decode();
        let call = self.call(thread, &id, Standing::Announced);
        self.reach_call(call);
        if self.calls.at(call.at()).standing == Standing::Placeholder {
            self.adopt(call, thread);
        }
        let record = self.calls.at_mut(call.at());
        record.entry = record.entry.max(Some(entry));
        if record.name.is_empty() {
            record.name = self.names.keep(&tool.name.decode());
            self.touch_call(call);
            self.touch_status();
        }
        self.revive(call);
        if is_final {
            if let Some(input) = tool.input {
                self.set_input(call, input);
            }
            if self.calls.at(call.at()).state == CallState::Pending {
                let state = self.running_or_asking(&id);
                self.set_call(call, state);
            }
        }
        call
    }

    /// Brings back a call that was taken back with its draft.
    fn revive(&mut self, call: CallId) {
        let record = self.calls.at_mut(call.at());
        if record.standing == Standing::Removed {
            record.standing = Standing::Announced;
            let thread = record.thread.at();
            self.threads[thread].open.push(call);
            self.touch_call(call);
            self.touch_status();
        }
    }

    pub(crate) fn set_input(&mut self, call: CallId, input: RawJson<'_>) {
        let old = self.calls.at(call.at()).input;
        if !old.is_empty() && self.arena.text(old) == input.text() {
            return;
        }
        self.calls.at_mut(call.at()).input = self.arena.store_raw(input);
        self.touch_call(call);
    }

    /// The call with this id; made when it is new.
    fn call(&mut self, thread: ThreadId, id: &str, standing: Standing) -> CallId {
        let id = Named::of(id);
        let key = Key::of_id(Kind::Call, 0, id);
        let known = self.call_by(key, id);
        known.unwrap_or_else(|| self.add_call(key, thread, id, standing))
    }

    fn add_call(
        &mut self,
        key: Key,
        thread: ThreadId,
        id: Named<'_>,
        standing: Standing,
    ) -> CallId {
        let is_announced = standing == Standing::Announced;
        let call = CallId::new(self.calls.len() as u32);
        let name = self.arena.ident(id);
        self.calls.push(CallRecord {
            id: name,
            name: Name::default(),
            thread,
            beside: Beside::default(),
            entry: None,
            input: Text::default(),
            updated_input: None,
            state: if is_announced {
                CallState::Pending
            } else {
                CallState::Lost
            },
            standing,
            result: None,
            subagent: None,
            stamp: Stamp::default(),
        });
        self.index.insert(key, call.number());
        let record = &mut self.threads[thread.at()];
        list::insert(&mut self.calls, &mut record.calls, call);
        if is_announced {
            record.open.push(call);
            self.touch_status();
        }
        self.touch_call(call);
        call
    }

    /// A call whose sub-agent or result came first is announced at last.
    fn adopt(&mut self, call: CallId, thread: ThreadId) {
        let record = self.calls.at_mut(call.at());
        record.standing = Standing::Announced;
        let old = record.thread;
        if record.result.is_none() {
            record.state = CallState::Pending;
        }
        let height = record
            .subagent
            .map_or(0, |it| self.threads[it.at()].height + 1);
        let is_sound = self
            .depth_outside(thread, call)
            .is_some_and(|it| it + height <= DEEPEST);
        let new = if is_sound { thread } else { old };
        if new != old {
            list::remove(&mut self.calls, &mut self.threads[old.at()].calls, call);
            list::insert(&mut self.calls, &mut self.threads[new.at()].calls, call);
            self.calls.at_mut(call.at()).thread = new;
            self.raise(new, height);
            self.touch_below(call);
        }
        if self.calls.at(call.at()).state.is_open() {
            self.threads[new.at()].open.push(call);
            self.touch_status();
        }
        self.touch_call(call);
    }

    /// What a sub-agent holds lies at another depth, of which its JSON may depend.
    fn touch_below(&mut self, call: CallId) {
        let mut threads: Vec<_> = self.calls.at(call.at()).subagent.into_iter().collect();
        while let Some(thread) = threads.pop() {
            for call in self.calls_of(thread).collect::<Vec<_>>() {
                self.touch_call(call);
                threads.extend(self.calls.at(call.at()).subagent);
            }
            for entry in self.entries_of(thread).collect::<Vec<_>>() {
                self.touch_others(entry);
            }
        }
    }

    fn touch_others(&mut self, entry: EntryId) {
        let is_other = |id: &BlockId| matches!(self.blocks.at(id.at()).body, BlockBody::Other(_));
        let others: Vec<_> = self.live_blocks(entry).filter(is_other).collect();
        for block in others {
            self.touch_block(block);
        }
    }

    /// How deep a thread lies; none when it lies inside `call`.
    fn depth_outside(&self, thread: ThreadId, call: CallId) -> Option<u32> {
        let mut at = thread;
        let mut depth = 0;
        while let Some(holder) = self.threads[at.at()].call {
            if holder == call {
                return None;
            }
            at = self.calls.at(holder.at()).thread;
            depth += 1;
        }
        Some(depth)
    }

    /// Notes that sub-agents nest `height` levels deep in a thread.
    fn raise(&mut self, thread: ThreadId, height: u32) {
        let (mut at, mut height) = (thread, height);
        while self.threads[at.at()].height < height {
            self.threads[at.at()].height = height;
            let Some(holder) = self.threads[at.at()].call else {
                return;
            };
            at = self.calls.at(holder.at()).thread;
            height += 1;
        }
    }

    /// The thread of a line, by the call that it names as its immediate parent. A parent that has
    /// not come yet is held open by a placeholder.
    #[inline]
    pub(crate) fn thread_of(&mut self, parent: Option<Str<'_>>) -> ThreadId {
        match parent.filter(|parent| !parent.is_empty()) {
            Some(parent) => self.thread_in(parent),
            None => ThreadId::MAIN,
        }
    }

    /// The thread of the sub-agent that the call with this id holds.
    fn thread_in(&mut self, parent: Str<'_>) -> ThreadId {
        let id = parent.decode();
        let call = self.call(ThreadId::MAIN, &id, Standing::Placeholder);
        self.reach_call(call);
        self.subagent(call)
    }

    /// The thread of the sub-agent that a call holds.
    pub(crate) fn subagent(&mut self, call: CallId) -> ThreadId {
        if let Some(thread) = self.calls.at(call.at()).subagent {
            return thread;
        }
        self.revive(call);
        let holder = self.calls.at(call.at()).thread;
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
        self.calls.at_mut(call.at()).subagent = Some(thread);
        self.raise(holder, 1);
        self.touch_call(call);
        thread
    }

    /// Who speaks in a thread.
    pub(crate) fn note_agent(
        &mut self,
        thread: ThreadId,
        agent_id: Option<Str<'_>>,
        agent_type: Option<Str<'_>>,
    ) {
        let Some(call) = self.threads[thread.at()].call else {
            return;
        };
        let record = &mut self.threads[thread.at()];
        let mut is_new = learn(&mut self.arena, &mut record.agent_id, agent_id);
        if let Some(agent_type) = agent_type.filter(|it| !it.is_empty())
            && record.agent_type.is_empty()
        {
            record.agent_type = self.names.keep(&agent_type.decode());
            is_new = true;
        }
        if is_new {
            self.touch_call(call);
        }
    }

    pub(crate) fn set_call(&mut self, id: CallId, state: CallState) {
        let record = self.calls.at_mut(id.at());
        if record.state == state {
            return;
        }
        let was_open = std::mem::replace(&mut record.state, state).is_open();
        let open = &mut self.threads[record.thread.at()].open;
        if was_open && !state.is_open() {
            open.retain(|&it| it != id);
        } else if !was_open && state.is_open() {
            open.push(id);
        }
        self.touch_call(id);
        self.touch_status();
    }

    /// Closes a call, and with it everything that is open inside.
    pub(crate) fn close_call(&mut self, id: CallId, state: CallState, inside: CallState) {
        self.set_call(id, state);
        let mut threads: Vec<_> = self.calls.at(id.at()).subagent.into_iter().collect();
        while let Some(thread) = threads.pop() {
            for call in std::mem::take(&mut self.threads[thread.at()].open) {
                self.set_call(call, inside);
                self.close_permission_of(call, PermissionState::Expired);
                threads.extend(self.calls.at(call.at()).subagent);
            }
        }
    }

    /// Closes the calls of a thread that will get no result.
    pub(crate) fn close_thread(&mut self, thread: ThreadId, state: CallState) {
        for call in self.threads[thread.at()].open.clone() {
            self.close_call(call, state, state);
            self.close_permission_of(call, PermissionState::Expired);
        }
    }

    /// A call that was taken back before it did anything leaves no trace.
    pub(crate) fn remove_call(&mut self, id: CallId) {
        let record = self.calls.at_mut(id.at());
        if record.result.is_some()
            || record.subagent.is_some()
            || record.standing == Standing::Removed
        {
            return;
        }
        record.standing = Standing::Removed;
        record.state = CallState::Pending;
        self.threads[record.thread.at()].open.retain(|&it| it != id);
        self.touch_call(id);
        self.touch_status();
    }

    pub(crate) fn tool_result(
        &mut self,
        thread: ThreadId,
        result: &ToolResult<'_>,
        user: &User<'_>,
        here: Here,
    ) {
        let id = result.tool_use_id.decode();
        let call = self.call(thread, &id, Standing::Placeholder);
        self.reach_call(call);
        if self.calls.at(call.at()).result.is_some() {
            return;
        }
        self.revive(call);
        let is_async = self.is_async(call, user);
        let record = self.store_result(result, is_async, here);
        let given = ResultId::new(self.results.push(record) as u32);
        self.calls.at_mut(call.at()).result = Some(given);
        if result.is_error {
            self.reach_answers(call);
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
            let thread = self.calls.at(call.at()).thread;
            self.threads[thread.at()].rejected.push(call);
        }
        self.close_call(call, end.state(), inside);
        self.close_tasks_of(&id, result.is_error);
    }

    fn store_result(
        &mut self,
        result: &ToolResult<'_>,
        is_async: bool,
        here: Here,
    ) -> ToolResultRecord {
        let (text, raw) = user::store_result(&mut self.arena, result.content);
        ToolResultRecord {
            is_error: result.is_error,
            is_async,
            text,
            raw,
            offset: U48::new(here.offset),
            end: U48::new(here.end),
        }
    }

    /// Whether the call started something in the background (observed, fact 14). Only agents are
    /// asked: the structured result of other tools may be megabytes.
    fn is_async(&self, call: CallId, user: &User<'_>) -> bool {
        let name = self.names.str(self.calls.at(call.at()).name);
        if !matches!(name, "Agent" | "Task") {
            return false;
        }
        let says = |key, word: &str| {
            let value = user.tool_use_result.and_then(|result| result.get(key));
            value.is_some_and(|value| value.text() == word)
        };
        says("isAsync", "true") || says("status", "\"async_launched\"")
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
        if matches!(&*kind, "interrupted" | "cancelled") || text.starts_with(user::INTERRUPT) {
            return Ending::Interrupted;
        }
        let decided = meta.is_some_and(|meta| meta.get("permission_decision").is_some());
        let said = user.tool_use_result.and_then(RawJson::as_str);
        let is_rejected =
            kind == "user-rejected" && !decided || said.is_some_and(|said| said == REJECTED);
        if is_rejected && !self.was_denied(call) {
            return Ending::Rejected;
        }
        Ending::Failed
    }

    /// An interrupt was confirmed: what was turned down just before fell to it.
    pub(crate) fn interrupt_rejected(&mut self, thread: ThreadId) {
        for call in std::mem::take(&mut self.threads[thread.at()].rejected) {
            self.set_call(call, CallState::Interrupted);
        }
    }

    pub(crate) fn touch_call(&mut self, id: CallId) {
        self.change_call(id);
        self.log.note(
            &mut self.calls.at_mut(id.at()).stamp,
            Slot::Call(id.number()),
        );
    }
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Done,
    Failed,
    /// By an interrupt, or by a person who turned it down: what follows tells.
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

/// Fills in a name that is not known yet.
fn learn(arena: &mut Arena, name: &mut Atom, value: Option<Str<'_>>) -> bool {
    let Some(value) = value.filter(|value| name.is_empty() && !value.is_empty()) else {
        return false;
    };
    *name = arena.atom_of(value);
    true
}
