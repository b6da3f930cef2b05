//! Tool calls, their results and sub-agents.

use bowline_jsonl::{RawJson, Str, ToolResult, ToolUse, User};

use crate::arena::{Arena, ShortText, TextRef};
use crate::fold::claude::content;
use crate::record::{CallId, CallPresence, ResultId, ThreadId, ToolResultRecord};
use crate::state::{CallState, PermissionState};
use crate::transcript::{LineContext, Transcript};

/// The result of a tool that was stopped by an interrupt (`crates/jsonl/PROTOCOL.md`, Interrupt).
const REJECTED: &str = "User rejected tool use";

impl Transcript {
    /// Adds a tool use: a draft, or final with its input.
    pub(crate) fn announce(
        &mut self,
        thread: ThreadId,
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
        if record.name.is_empty() {
            record.name = self.names.intern(&tool.name.decode());
            self.touch_call(call);
            self.touch_status();
        }
        self.restore_call(call);
        if is_final {
            if let Some(input) = tool.input {
                self.set_input(call, input);
                self.note_plan(call, input);
            }
            if self.calls[call].state == CallState::Pending {
                let state = self.running_or_asking(&id);
                self.set_call(call, state);
            }
        }
        call
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
            offset: context.offset,
            end: context.json_end,
            at: context.at(),
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
