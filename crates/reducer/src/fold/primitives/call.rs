//! Tool calls: found or added by id, moved to their place, closed.

use std::sync::Arc;

use bowline_jsonl::{RawJson, Str};

use crate::arena::Text;
use crate::fold::primitives::thread::DEEPEST;
use crate::index::{IndexKey, IndexKind};
use crate::list;
use crate::log::LogStamp;
use crate::model::{Content, Location, ToolKind};
use crate::names::Name;
use crate::record::{
    BlockBody, BlockId, CallDetail, CallId, CallPresence, CallRecord, EntryId, LineEnd, ListLinks,
    ResultId, ThreadId, ToolResultRecord,
};
use crate::state::{CallState, PermissionState};
use crate::transcript::{Fold, Transcript};
use crate::view::ModelUsage;

impl Transcript {
    /// Restores a call that was removed with its draft.
    pub(crate) fn restore_call(&mut self, call: CallId) {
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
    pub(crate) fn call(&mut self, thread: ThreadId, id: &str, presence: CallPresence) -> CallId {
        let key = IndexKey::new(IndexKind::Call, 0, id);
        let known = self.find_call_by_key(key, id);
        known.unwrap_or_else(|| self.add_call(key, thread, id, presence))
    }

    pub(crate) fn add_call(
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
            line_end: LineEnd::default(),
            input: Text::default(),
            detail: None,
            at: self.line.at(),
            offset: self.line.offset,
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
    pub(crate) fn adopt(&mut self, call: CallId, thread: ThreadId) {
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
    pub(crate) fn touch_descendants(&mut self, call: CallId) {
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

    pub(crate) fn touch_others(&mut self, entry: EntryId) {
        let is_other = |id: &BlockId| matches!(self.blocks[id].body, BlockBody::Other(_));
        let others: Vec<_> = self.live_blocks(entry).filter(is_other).collect();
        for block in others {
            self.touch_block(block);
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
}

impl Transcript {
    /// What only some calls have.
    pub(crate) fn detail(&mut self, call: CallId) -> &mut CallDetail {
        self.calls[call].detail.get_or_insert_default()
    }
}

/// What is new of a call; `None` keeps what is known. See [`Fold::upsert_call`].
#[derive(Clone, Debug, Default)]
pub struct CallUpdate<'a> {
    /// The name of the tool.
    pub name: Option<&'a str>,
    /// The arguments.
    pub input: Option<RawJson<'a>>,
    /// A line that says what it does.
    pub title: Option<&'a str>,
    /// What the tool does.
    pub kind: Option<ToolKind>,
    /// The files that it works on; replaces the list.
    pub locations: Option<Vec<Location>>,
    /// What it shows; replaces the list, except that diffs stay when the new list has none.
    pub content: Option<Vec<Content>>,
    /// How far it is: [`Pending`](CallState::Pending) or [`Running`](CallState::Running).
    /// [`Fold::end_call`] ends it.
    pub state: Option<CallState>,
    /// The exit code of its command.
    pub exit_code: Option<i64>,
    /// What it has used.
    pub usage: Option<ModelUsage>,
}

/// The end of a call. See [`Fold::end_call`].
#[derive(Clone, Copy, Debug)]
pub struct CallEnd<'a> {
    /// [`Succeeded`](CallState::Succeeded), [`Failed`](CallState::Failed),
    /// [`Interrupted`](CallState::Interrupted) or [`Lost`](CallState::Lost).
    pub state: CallState,
    /// The result as text; `None` if there is none.
    pub text: Option<&'a str>,
    /// The result as JSON, if it is more than text.
    pub raw: Option<RawJson<'a>>,
}

impl Fold<'_> {
    /// Announces a call, or changes what is known of it. A new one is added to the open message of
    /// its thread, or to a new message.
    ///
    /// A call whose request is open waits for the answer, whatever its state says; one that has
    /// ended stays so.
    pub fn upsert_call(&mut self, thread: ThreadId, id: &str, update: CallUpdate<'_>) -> CallId {
        let call = self.announced(thread, id);
        let it = &mut *self.it;
        if let Some(name) = update.name {
            let name = it.names.intern(name);
            if it.calls[call].name != name {
                it.calls[call].name = name;
                it.touch_call(call);
                it.touch_status();
            }
        }
        if let Some(input) = update.input {
            it.set_input(call, input);
        }
        self.describe_call(call, &update);
        if let Some(state) = update.state {
            self.advance_call(call, id, state);
        }
        call
    }

    /// Finds or adds a call, at its place in a message.
    fn announced(&mut self, thread: ThreadId, id: &str) -> CallId {
        let is_known = self.it.find_call(id).is_some();
        let call = self.it.call(thread, id, CallPresence::Announced);
        self.it.depend_on_call(call);
        let is_placeholder = self.it.calls[call].presence == CallPresence::Placeholder;
        if is_placeholder {
            self.it.adopt(call, thread);
        }
        if !is_known || is_placeholder {
            self.call_block(thread, call);
            let asks = self.it.running_or_asking(id) == CallState::AwaitingPermission;
            if asks && self.it.calls[call].state.is_open() {
                self.it.set_call(call, CallState::AwaitingPermission);
            }
        }
        call
    }

    fn describe_call(&mut self, call: CallId, update: &CallUpdate<'_>) {
        let has_new = update.title.is_some()
            || update.kind.is_some()
            || update.locations.is_some()
            || update.content.is_some()
            || update.exit_code.is_some()
            || update.usage.is_some();
        if !has_new {
            return;
        }
        let title = update.title.map(|title| self.it.keep(title));
        let detail = self.it.detail(call);
        detail.is_shown |= update.title.is_some()
            || update.kind.is_some()
            || update.locations.is_some()
            || update.content.is_some();
        detail.title = title.unwrap_or(detail.title);
        detail.kind = update.kind.or(detail.kind);
        detail.exit_code = update.exit_code.or(detail.exit_code);
        detail.usage = update.usage.map(ModelUsage::tokens).or(detail.usage);
        if let Some(locations) = &update.locations {
            detail.locations = locations.as_slice().into();
        }
        if let Some(content) = &update.content {
            detail.content = with_diffs(&detail.content, content);
        }
        self.note_call(call);
        self.it.touch_call(call);
    }

    /// Records that a line changed the call.
    fn note_call(&mut self, call: CallId) {
        let end = self.it.line.json_end;
        let detail = self.it.detail(call);
        detail.end = detail.end.max(end);
    }

    /// Moves an open call on. A state never goes back, except to wait for an answer.
    fn advance_call(&mut self, call: CallId, id: &str, state: CallState) {
        let now = self.it.calls[call].state;
        let state = match self.it.running_or_asking(id) {
            CallState::AwaitingPermission => CallState::AwaitingPermission,
            _ if state == CallState::Pending && now == CallState::Running => now,
            _ => state,
        };
        if now.is_open() && state.is_open() {
            self.it.set_call(call, state);
        }
    }

    /// Appends to what the command of a call prints.
    pub fn append_output(&mut self, call: CallId, text: Str<'_>) {
        let mut output = self.it.detail(call).output.unwrap_or_default();
        self.it.arena.append_of(&mut output, text, &mut 0);
        self.it.detail(call).output = Some(output);
        self.note_call(call);
        self.it.touch_call(call);
    }

    /// Replaces what the command of a call printed.
    pub fn set_output(&mut self, call: CallId, text: &str) {
        let mut output = self.it.detail(call).output.unwrap_or_default();
        let kept = self.it.arena.text(output).common_prefix(text);
        let is_same = kept == text.len() && kept == self.it.arena.len(output) as usize;
        if is_same && self.it.detail(call).output.is_some() {
            return;
        }
        self.it.arena.truncate(&mut output, kept as u32);
        let more = text.get(kept..).unwrap_or_default();
        self.it.arena.append(&mut output, more);
        self.it.detail(call).output = Some(output);
        self.note_call(call);
        self.it.touch_call(call);
    }

    /// Ends a call, everything that is open inside of it, and its open request. The first end wins,
    /// except that one with a result replaces one without.
    pub fn end_call(&mut self, call: CallId, end: CallEnd<'_>) {
        let line = self.line();
        let it = &mut *self.it;
        it.depend_on_call(call);
        if it.calls[call].result.is_some() {
            return;
        }
        if end.text.is_none() && end.raw.is_none() {
            if !it.calls[call].state.is_open() {
                return;
            }
            it.detail(call).ended = line.at();
            self.note_call(call);
        } else {
            let record = ToolResultRecord {
                is_error: end.state != CallState::Succeeded,
                is_async: false,
                text: it.keep(end.text.unwrap_or_default()),
                raw: end
                    .raw
                    .map(|raw| it.arena.store_raw(raw))
                    .unwrap_or_default(),
                offset: line.offset,
                end: line.json_end,
                at: line.at(),
            };
            let result = ResultId::new(it.results.push(record) as u32);
            it.calls[call].result = Some(result);
        }
        self.it.touch_call(call);
        self.it.close_permission_of(call, PermissionState::Answered);
        let inside = match end.state {
            CallState::Interrupted => CallState::Interrupted,
            _ => CallState::Lost,
        };
        self.it.close_call(call, end.state, inside);
    }
}

/// The new content, after the old diffs if it has none of its own.
fn with_diffs(old: &[Content], new: &[Content]) -> Arc<[Content]> {
    let is_diff = |it: &&Content| matches!(it, Content::Diff { .. });
    if new.iter().any(|it| is_diff(&it)) {
        return new.into();
    }
    old.iter().filter(is_diff).chain(new).cloned().collect()
}
