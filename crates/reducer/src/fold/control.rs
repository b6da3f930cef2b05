//! Permission requests and what became of them (protocol, sections A.14 and B.5).

use bowline_jsonl::{CanUseTool, ControlRequest, ControlResponse, RawJson, RequestBody, Str};

use crate::ident::Named;
use crate::index::{Key, Kind};
use crate::log::{Slot, Stamp};
use crate::record::{CallId, PermissionId, PermissionRecord, ThreadId};
use crate::state::{CallState, PermissionState};
use crate::transcript::{Here, Transcript};

impl Transcript {
    pub(crate) fn control_request(&mut self, request: &ControlRequest<'_>, here: Here) {
        match request.body() {
            RequestBody::CanUseTool(ask) => self.ask(request, &ask, here),
            RequestBody::Other { subtype } => {
                self.count_unknown(format!("control_request/{subtype}"));
            }
            _ => {}
        }
    }

    /// A request may be sent again after a second `initialize`: it is still one.
    fn ask(&mut self, request: &ControlRequest<'_>, ask: &CanUseTool<'_>, here: Here) {
        let request_id = request.request_id.unwrap_or_default().decode();
        let key = Key::new(Kind::Permission, 0, &request_id);
        if let Some(known) = self.permission_by(key, &request_id) {
            return self.reach_permission(known);
        }
        let id = PermissionId::new(self.permissions.len() as u32);
        let name = self.arena.atom(&request_id);
        let record = PermissionRecord {
            request_id: name,
            tool_use_id: ask.tool_use_id.map(|id| self.arena.atom_of(id)),
            tool_name: self.name_of(ask.tool_name.unwrap_or_default()),
            agent_id: ask.agent_id.map(|id| self.arena.atom_of(id)),
            state: PermissionState::Open,
            request: request
                .request
                .map(|raw| self.arena.store_raw(raw))
                .unwrap_or_default(),
            at_ms: here.at_ms,
            stamp: Stamp::default(),
        };
        self.permissions.push(record);
        self.index.insert(key, id.number());
        self.evidence.permissions.push(id);
        self.touch_permission(id);
        self.touch_status();
        if let Some(call) = self.call_of(id) {
            self.reach_call(call);
        }
        if let Some(call) = self.call_of(id).filter(|&call| self.is_open(call)) {
            self.set_call(call, CallState::AwaitingPermission);
        }
    }

    /// With `--replay-user-messages` the host's own answers come back (protocol, section A.14).
    pub(crate) fn control_response(&mut self, response: &ControlResponse<'_>) {
        let answer = &response.response;
        let id = answer.request_id.unwrap_or_default().decode();
        let Some(id) = self.permission_named(&id) else {
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
        if let Some(id) = self.permission_named(&id) {
            self.close_permission(id, PermissionState::Withdrawn);
        }
    }

    /// Closes a request that is open; the first answer counts.
    pub(crate) fn close_permission(&mut self, id: PermissionId, state: PermissionState) {
        self.reach_permission(id);
        if self.permissions[id.at()].state != PermissionState::Open {
            return;
        }
        self.permissions[id.at()].state = state;
        self.evidence.permissions.retain(|&it| it != id);
        self.touch_permission(id);
        self.touch_status();
        let waits = |call: &CallId| {
            let call = self.calls.at(call.at());
            call.state == CallState::AwaitingPermission
                && !self.is_asked_for(&self.arena.id(call.id))
        };
        if let Some(call) = self.call_of(id).filter(waits) {
            self.set_call(call, CallState::Running);
        }
    }

    /// Closes the requests that ask for a call.
    pub(crate) fn close_permission_of(&mut self, call: CallId, state: PermissionState) {
        self.close_permissions_if(state, |it, id| it.call_of(id) == Some(call));
    }

    /// The turn was cancelled: nobody on the main thread waits for an answer any more.
    pub(crate) fn expire_permissions(&mut self) {
        self.close_permissions_if(PermissionState::Expired, |it, id| match it.call_of(id) {
            Some(call) => it.calls.at(call.at()).thread == ThreadId::MAIN,
            None => it.permissions[id.at()].agent_id.is_none(),
        });
    }

    fn close_permissions_if(
        &mut self,
        state: PermissionState,
        holds: impl Fn(&Self, PermissionId) -> bool,
    ) {
        let open = self.evidence.permissions.iter().copied();
        let closed: Vec<_> = open.filter(|&id| holds(self, id)).collect();
        for id in closed {
            self.close_permission(id, state);
        }
    }

    pub(crate) fn permission_named(&self, request_id: &str) -> Option<PermissionId> {
        if self.index.is_absent() {
            let is_it = |&at: &usize| self.arena.str(self.permissions[at].request_id) == request_id;
            let found = self.permissions.numbers().rev().find(is_it);
            return found.map(|at| PermissionId::new(at as u32));
        }
        self.permission_by(Key::new(Kind::Permission, 0, request_id), request_id)
    }

    fn permission_by(&self, key: Key, request_id: &str) -> Option<PermissionId> {
        let is_it = |id: u32| {
            let permission = self.permissions.get(id as usize);
            permission.is_some_and(|it| self.arena.str(it.request_id) == request_id)
        };
        self.index.find(key, is_it).map(PermissionId::new)
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
            let asked = self.permissions[id.at()].tool_use_id;
            asked.is_some_and(|asked| self.arena.str(asked) == tool_use_id)
        };
        self.evidence.permissions.iter().any(asks)
    }

    /// The answers for a call are spoken of.
    pub(crate) fn reach_answers(&mut self, call: CallId) {
        if self.marked.permission > 0 {
            let recent = self.permissions.numbers().rev().take(RECENT_ANSWERS);
            let is_for = |&at: &usize| self.is_for(&self.permissions[at], call);
            for at in recent.filter(is_for).collect::<Vec<_>>() {
                self.reach_permission(PermissionId::new(at as u32));
            }
        }
    }

    fn is_for(&self, it: &PermissionRecord, call: CallId) -> bool {
        let id = self.calls.at(call.at()).id;
        it.tool_use_id
            .is_some_and(|it| self.arena.is(id, Named::of(self.arena.str(it))))
    }

    pub(crate) fn was_denied(&self, call: CallId) -> bool {
        let denied =
            |it: &PermissionRecord| it.state == PermissionState::Denied && self.is_for(it, call);
        let recent = self.permissions.numbers().rev().take(RECENT_ANSWERS);
        recent.into_iter().any(|at| denied(&self.permissions[at]))
    }

    /// The call that a request asks for.
    pub(crate) fn call_of(&self, id: PermissionId) -> Option<CallId> {
        let tool_use_id = self.permissions[id.at()].tool_use_id?;
        self.call_named(self.arena.str(tool_use_id))
    }

    fn is_open(&self, call: CallId) -> bool {
        self.calls.at(call.at()).state.is_open()
    }

    fn touch_permission(&mut self, id: PermissionId) {
        let record = &mut self.permissions[id.at()];
        self.log
            .note(&mut record.stamp, Slot::Permission(id.number()));
    }
}

/// How far back an answer is looked for when a result comes: a denied call fails at once, so that
/// only the requests of calls that run side by side stand between.
const RECENT_ANSWERS: usize = 64;
