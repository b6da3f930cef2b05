//! Permission requests (`crates/jsonl/PROTOCOL.md`, Permissions).

use bowline_jsonl::{CanUseTool, ControlRequest, ControlResponse, RawJson, RequestBody, Str};

use crate::index::{self, IndexKey, IndexKind};
use crate::log::LogStamp;
use crate::record::{CallId, PermissionId, PermissionRecord, ThreadId};
use crate::state::{CallState, PermissionState};
use crate::transcript::{LineContext, Transcript};

impl Transcript {
    pub(crate) fn control_request(&mut self, request: &ControlRequest<'_>, context: LineContext) {
        match request.body() {
            RequestBody::CanUseTool(ask) => self.ask(request, &ask, context),
            RequestBody::Other { subtype } => {
                self.count_unknown(format!("control_request/{subtype}"));
            }
            _ => {}
        }
    }

    /// Adds a request. The agent may repeat it after a second `initialize`.
    fn ask(&mut self, request: &ControlRequest<'_>, ask: &CanUseTool<'_>, context: LineContext) {
        let request_id = request.request_id.unwrap_or_default().decode();
        let key = IndexKey::new(IndexKind::Permission, 0, &request_id);
        if let Some(known) = self.find_permission_by_key(key, &request_id) {
            return self.depend_on_permission(known);
        }
        let id = PermissionId::new(self.permissions.len() as u32);
        let name = self.arena.store_short(&request_id);
        let record = PermissionRecord {
            request_id: name,
            tool_use_id: ask.tool_use_id.map(|id| self.arena.store_short_of(id)),
            tool_name: self.name_of(ask.tool_name.unwrap_or_default()),
            agent_id: ask.agent_id.map(|id| self.arena.store_short_of(id)),
            state: PermissionState::Open,
            request: request
                .request
                .map(|raw| self.arena.store_raw(raw))
                .unwrap_or_default(),
            at_ms: context.at_ms,
            stamp: LogStamp::default(),
        };
        self.permissions.push(record);
        self.index.insert(key, id.number());
        let call = self.call_hash_of(id);
        self.evidence.permissions.insert(id, call);
        self.touch_permission(id);
        self.touch_status();
        if let Some(call) = self.call_of(id) {
            self.depend_on_call(call);
        }
        if let Some(call) = self.call_of(id).filter(|&call| self.is_open(call)) {
            self.set_call(call, CallState::AwaitingPermission);
        }
    }

    /// Handles an answer in the stream: `--replay-user-messages` echoes the host's own answers.
    pub(crate) fn control_response(&mut self, response: &ControlResponse<'_>) {
        let answer = &response.response;
        let id = answer.request_id.unwrap_or_default().decode();
        let Some(id) = self.find_permission(&id) else {
            return;
        };
        let behavior = answer.response.and_then(|it| it.get("behavior"));
        match behavior.map(RawJson::text) {
            Some("\"allow\"") => self.close_permission(id, PermissionState::Allowed),
            Some("\"deny\"") => self.close_permission(id, PermissionState::Denied),
            _ => {}
        }
    }

    pub(crate) fn control_cancel(&mut self, request_id: Option<Str<'_>>) {
        let id = request_id.unwrap_or_default().decode();
        if let Some(id) = self.find_permission(&id) {
            self.close_permission(id, PermissionState::Withdrawn);
        }
    }

    /// Closes an open request; the first answer wins.
    pub(crate) fn close_permission(&mut self, id: PermissionId, state: PermissionState) {
        self.depend_on_permission(id);
        if self.permissions[id].state != PermissionState::Open {
            return;
        }
        self.permissions[id].state = state;
        let call = self.call_hash_of(id);
        self.evidence.permissions.remove(id, call);
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
    fn call_hash_of(&self, id: PermissionId) -> Option<u32> {
        let call = self.permissions[id].tool_use_id?;
        Some(index::hash(self.arena.str(call)))
    }

    /// Expires the requests of the main thread after its turn was cancelled.
    pub(crate) fn expire_permissions(&mut self) {
        let is_of_main = |id: &PermissionId| match self.call_of(*id) {
            Some(call) => self.calls[call].thread == ThreadId::MAIN,
            None => self.permissions[id].agent_id.is_none(),
        };
        let open = self.evidence.permissions.iter();
        for id in open.filter(is_of_main).collect::<Vec<_>>() {
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

    fn is_asked_for(&self, tool_use_id: &str) -> bool {
        let asks = |id: &PermissionId| {
            let asked = self.permissions[id].tool_use_id;
            asked.is_some_and(|asked| self.arena.str(asked) == tool_use_id)
        };
        let mut open = self.evidence.permissions.of_call(index::hash(tool_use_id));
        open.any(|id| asks(&id))
    }

    /// Records that a line depends on the answers for a call.
    pub(crate) fn depend_on_answers(&mut self, call: CallId) {
        if self.segment_start.permission > 0 {
            let recent = self.permissions.numbers().rev().take(RECENT_ANSWERS);
            let is_for = |&at: &usize| self.is_for(&self.permissions[at], call);
            for at in recent.filter(is_for).collect::<Vec<_>>() {
                self.depend_on_permission(PermissionId::new(at as u32));
            }
        }
    }

    fn is_for(&self, it: &PermissionRecord, call: CallId) -> bool {
        let id = self.calls[call].id;
        it.tool_use_id
            .is_some_and(|it| self.arena.str(it) == self.arena.str(id))
    }

    pub(crate) fn was_denied(&self, call: CallId) -> bool {
        let denied =
            |it: &PermissionRecord| it.state == PermissionState::Denied && self.is_for(it, call);
        let recent = self.permissions.numbers().rev().take(RECENT_ANSWERS);
        recent.into_iter().any(|at| denied(&self.permissions[at]))
    }

    fn is_open(&self, call: CallId) -> bool {
        self.calls[call].state.is_open()
    }
}

/// Number of recent requests that are searched for an answer when a result arrives. A denied call
/// fails at once, so that only requests of parallel calls are in between.
const RECENT_ANSWERS: usize = 64;
