//! Requests to the host: permissions, questions, URLs.

use std::sync::Arc;

use bowline_jsonl::RawJson;

use crate::index::{self, IndexKey, IndexKind};
use crate::model::{AnsweredBy, Question, RequestKind, RequestOption};
use crate::record::{CallId, PermissionId, PermissionRecord, RequestDetail, ThreadId};
use crate::state::{CallState, PermissionState};
use crate::transcript::{Fold, Transcript};

impl Transcript {
    /// Closes an open request; the first answer wins.
    pub(crate) fn close_permission(&mut self, id: PermissionId, state: PermissionState) {
        self.depend_on_permission(id);
        if self.permissions[id].state != PermissionState::Open {
            return;
        }
        self.permissions[id].state = state;
        let (call, thread) = (self.call_hash_of(id), self.named_thread_of(id));
        self.evidence.permissions.remove(id, call, thread);
        self.touch_permission(id);
        self.touch_status();
        let waits = |call: &CallId| {
            let call = &self.calls[call];
            call.state == CallState::AwaitingPermission
                && !self.is_asked_for(self.arena.str(call.id))
        };
        if let Some(call) = self.call_of(id).filter(waits) {
            self.set_call(call, CallState::Running);
        }
    }

    /// Closes the open requests for a call.
    pub(crate) fn close_permission_of(&mut self, call: CallId, state: PermissionState) {
        let hash = index::hash(self.arena.str(self.calls[call].id));
        let open = self.evidence.permissions.of_call(hash);
        let its: Vec<_> = open.filter(|&id| self.call_of(id) == Some(call)).collect();
        for id in its {
            self.close_permission(id, state);
        }
    }

    /// Hash of the id of the call that a request is for.
    pub(crate) fn call_hash_of(&self, id: PermissionId) -> Option<u32> {
        let call = self.permissions[id].tool_use_id?;
        Some(index::hash(self.arena.str(call)))
    }

    /// The thread of a request, if a dialect names it.
    fn named_thread_of(&self, id: PermissionId) -> Option<ThreadId> {
        let detail = self.permissions[id].detail.as_ref()?;
        Some(detail.thread)
    }

    /// Expires the requests of a thread after its turn was cancelled.
    pub(crate) fn expire_permissions(&mut self, thread: ThreadId) {
        let is_its = |id: &PermissionId| match (self.call_of(*id), &self.permissions[id].detail) {
            (Some(call), _) => self.calls[call].thread == thread,
            (None, Some(detail)) => detail.thread == thread,
            (None, None) => self.permissions[id].agent_id.is_none() && thread == ThreadId::MAIN,
        };
        let open = self.evidence.permissions.of_thread(thread);
        for id in open.filter(is_its).collect::<Vec<_>>() {
            self.close_permission(id, PermissionState::Expired);
        }
    }

    /// The state of a call that was just announced.
    pub(crate) fn running_or_asking(&self, tool_use_id: &str) -> CallState {
        if self.is_asked_for(tool_use_id) {
            CallState::AwaitingPermission
        } else {
            CallState::Running
        }
    }

    pub(crate) fn is_asked_for(&self, tool_use_id: &str) -> bool {
        let asks = |id: &PermissionId| {
            let asked = self.permissions[id].tool_use_id;
            asked.is_some_and(|asked| self.arena.str(asked) == tool_use_id)
        };
        let mut open = self.evidence.permissions.of_call(index::hash(tool_use_id));
        open.any(|id| asks(&id))
    }

    pub(crate) fn is_open(&self, call: CallId) -> bool {
        self.calls[call].state.is_open()
    }
}

impl Transcript {
    /// Adds a request and makes its call wait for the answer.
    pub(crate) fn add_request(&mut self, key: IndexKey, record: PermissionRecord) -> PermissionId {
        let id = PermissionId::new(self.permissions.len() as u32);
        self.permissions.push(record);
        self.index.insert(key, id.number());
        let (call, thread) = (self.call_hash_of(id), self.named_thread_of(id));
        self.evidence.permissions.insert(id, call, thread);
        self.touch_permission(id);
        self.touch_status();
        if let Some(call) = self.call_of(id) {
            self.depend_on_call(call);
        }
        if let Some(call) = self.call_of(id).filter(|&call| self.is_open(call)) {
            self.set_call(call, CallState::AwaitingPermission);
        }
        id
    }

    /// Records which client answered an open request, and how.
    pub(crate) fn note_answer(
        &mut self,
        id: PermissionId,
        who: Option<&str>,
        how: &str,
        at_ms: u64,
    ) {
        if self.permissions[id].state == PermissionState::Open {
            let known = self.permissions[id].answered.take();
            let known = known.map_or_else(AnsweredBy::default, Arc::unwrap_or_clone);
            self.permissions[id].answered = Some(Arc::new(AnsweredBy {
                who: who.map(str::to_owned).or(known.who),
                how: known.how.or_else(|| Some(how.to_owned())),
                at_ms: Some(at_ms).filter(|&at_ms| at_ms > 0),
            }));
        }
    }

    /// Records which client answered a request, and by what if that is more than the answer, before or after the answer
    /// itself.
    pub(crate) fn attribute_answer(&mut self, id: PermissionId, who: &str, how: Option<&str>) {
        self.depend_on_permission(id);
        let answered = self.permissions[id].answered.take();
        let mut answered = answered.map_or_else(AnsweredBy::default, Arc::unwrap_or_clone);
        answered.who = Some(who.to_owned());
        answered.how = how.map(str::to_owned).or(answered.how);
        self.permissions[id].answered = Some(Arc::new(answered));
        self.touch_permission(id);
    }
}

/// A request to the host. See [`Fold::open_request`].
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What it asks for.
    pub kind: RequestKind,
    /// The thread that asks.
    pub thread: ThreadId,
    /// The id of the call that it is about.
    pub call: Option<&'a str>,
    /// The tool, or what else is asked for.
    pub tool_name: &'a str,
    /// The answers to choose from.
    pub options: Vec<RequestOption>,
    /// The questions to answer.
    pub questions: Vec<Question>,
    /// The URL to open.
    pub url: Option<String>,
    /// The rule that a lasting answer would add, as the agent writes it.
    pub rule: Option<String>,
    /// The whole request.
    pub raw: RawJson<'a>,
}

impl Fold<'_> {
    /// Opens a request to the host, whose call waits for the answer from then on. A request that is
    /// known, which an agent may repeat, changes nothing.
    pub fn open_request(&mut self, id: &str, request: Request<'_>) -> PermissionId {
        let key = IndexKey::new(IndexKind::Permission, 0, id);
        if let Some(known) = self.it.find_permission_by_key(key, id) {
            self.it.depend_on_permission(known);
            return known;
        }
        let line = self.line();
        let agent = self.it.threads[request.thread].agent_id;
        let is_main = request.thread == ThreadId::MAIN;
        let record = PermissionRecord {
            request_id: self.it.arena.store_short(id),
            tool_use_id: request.call.map(|call| self.it.arena.store_short(call)),
            tool_name: self.it.names.intern(request.tool_name),
            agent_id: (!is_main && !agent.is_empty()).then_some(agent),
            state: PermissionState::Open,
            request: self.it.arena.store_raw(request.raw),
            at_ms: line.at_ms,
            offset: line.offset,
            end: line.json_end,
            detail: Some(Arc::new(RequestDetail {
                kind: request.kind,
                thread: request.thread,
                options: request.options,
                questions: request.questions,
                url: request.url,
                rule: request.rule,
                reason: None,
            })),
            ..PermissionRecord::default()
        };
        self.it.add_request(key, record)
    }

    /// Closes a request with its answer: [`Allowed`](PermissionState::Allowed),
    /// [`Denied`](PermissionState::Denied), or [`Answered`](PermissionState::Answered) if it is
    /// neither. `how` is the id of the option, or `allow`, `deny`, `answer`, `cancel`; `who` is the
    /// host or rule, if known. The first answer wins; an unknown request changes nothing.
    pub fn answer_request(
        &mut self,
        id: &str,
        state: PermissionState,
        how: &str,
        who: Option<&str>,
    ) {
        if let Some(request) = self.it.find_permission(id) {
            let at_ms = self.at_ms();
            self.it.note_answer(request, who, how, at_ms);
            self.it.close_permission(request, state);
        }
    }

    /// Closes a request that the agent no longer asks.
    pub fn withdraw_request(&mut self, id: &str) {
        if let Some(request) = self.it.find_permission(id) {
            self.it
                .close_permission(request, PermissionState::Withdrawn);
        }
    }
}
