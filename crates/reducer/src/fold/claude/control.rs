//! Permission requests (`crates/jsonl/PROTOCOL.md`, Permissions).

use bowline_jsonl::{CanUseTool, ControlRequest, ControlResponse, RawJson, RequestBody, Str};

use crate::index::{IndexKey, IndexKind};
use crate::log::LogStamp;
use crate::record::{CallId, PermissionId, PermissionRecord};
use crate::state::PermissionState;
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
            offset: context.offset,
            end: context.json_end,
            detail: None,
            answered: None,
            stamp: LogStamp::default(),
        };
        self.add_request(key, record);
    }

    /// Handles an answer in the stream: `--replay-user-messages` echoes the host's own answers.
    pub(crate) fn control_response(
        &mut self,
        response: &ControlResponse<'_>,
        context: LineContext,
    ) {
        let answer = &response.response;
        if let Some(commands) = answer.response.and_then(|it| it.get("commands")) {
            self.note_commands(commands);
        }
        if let Some(response) = answer.response
            && let Some(models) = response.get("models")
        {
            self.note_options(response, models);
        }
        let id = answer.request_id.unwrap_or_default().decode();
        let Some(id) = self.find_permission(&id) else {
            return;
        };
        let behavior = answer.response.and_then(|it| it.get("behavior"));
        let (state, how) = match behavior.map(RawJson::text) {
            Some("\"allow\"") => (PermissionState::Allowed, "allow"),
            Some("\"deny\"") => (PermissionState::Denied, "deny"),
            _ => return,
        };
        self.note_answer(id, None, how, context.at_ms);
        self.close_permission(id, state);
    }

    pub(crate) fn control_cancel(&mut self, request_id: Option<Str<'_>>) {
        let id = request_id.unwrap_or_default().decode();
        if let Some(id) = self.find_permission(&id) {
            self.close_permission(id, PermissionState::Withdrawn);
        }
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
}

/// Number of recent requests that are searched for an answer when a result arrives. A denied call
/// fails at once, so that only requests of parallel calls are in between.
const RECENT_ANSWERS: usize = 64;
