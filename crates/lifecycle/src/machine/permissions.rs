//! Permission requests in the state machine: opened by the agent, answered by a client, expired,
//! cancelled, or closed with the session.

use std::sync::Arc;
use std::time::Duration;

use bowline_jsonl::Decision;
use bowline_reducer::{HostEvent, PermissionState};

use super::own_lines::LineEvent;
use super::{LinePurpose, Machine, Output};
use crate::budget::OWN_TOOLS;
use crate::error::DialogueError;
use crate::events::{DialogueEventKind, call_path};
use crate::permission::{
    AnswerOrigin, AnswerOutcome, PermissionAnswer, PermissionRecord, Permissions, RequestState,
};
use crate::watchdog::ActivitySource;

impl Machine {
    /// Returns the permission requests as they are now, without those on which a rule is about to decide.
    pub(crate) fn permissions(&self) -> Permissions {
        self.permissions.snapshot(|id| !self.is_undecided(id))
    }

    pub(super) fn open_permission(&mut self, record: PermissionRecord) {
        if let Some(record) = self.permissions.open(record, self.now)
            && !self.is_replaying()
        {
            self.permission_opened(record);
        }
    }

    pub(super) fn permission_requested(&mut self, record: Arc<PermissionRecord>) {
        let event = DialogueEventKind::PermissionRequest(Arc::clone(&record));
        self.permission_changed(record, event);
    }

    pub(super) fn answer_permission(
        &mut self,
        request_id: &str,
        answer: PermissionAnswer,
        by: Option<&str>,
        how: Option<&str>,
    ) -> Result<(), DialogueError> {
        if let Some(answered) = self.answer_limit(request_id, &answer, by) {
            return answered;
        }
        let purpose = || LinePurpose::PermissionAnswer(request_id.to_owned());
        let encode = |record: &_, answer: &_| self.protocol.answer(record, answer);
        let given = AnswerOrigin { by, how };
        match self.permissions.answer(request_id, answer, given, encode)? {
            AnswerOutcome::Accepted { record, encoded } => {
                self.expect_answer(purpose(), encoded.decision);
                if let Some(who) = by {
                    self.host(HostEvent::PermissionAttributed {
                        request_id,
                        who,
                        how,
                    });
                }
                self.write(encoded.line, purpose());
                self.permission_ended(record);
            }
            AnswerOutcome::Resend(line) => {
                self.watchdog.activity(ActivitySource::Host, self.now);
                self.write(line, purpose());
            }
            AnswerOutcome::Duplicate => {}
        }
        Ok(())
    }

    /// Notes which client gave the answer to a request, before or after the agent has it.
    pub(super) fn answer_attributed(&mut self, request_id: &str, who: &str, how: Option<&str>) {
        self.host(HostEvent::PermissionAttributed {
            request_id,
            who,
            how,
        });
        if let Some(record) = self.permissions.attribute(request_id, who, how) {
            self.permission_ended(record);
        }
    }

    /// Has the answer that is written next put into the transcript, and restarts the time that the next step
    /// may take.
    fn expect_answer(&mut self, purpose: LinePurpose, decision: Decision) {
        self.watchdog.activity(ActivitySource::Host, self.now);
        if !self.protocol.folds_input() {
            self.effects.expect(purpose, LineEvent::Answer(decision));
        }
    }

    /// Closes a request that this host has not answered.
    pub(super) fn close_permission(&mut self, id: &str, state: RequestState) {
        let answer = self.transcript.permission(id).map(|it| it.state());
        let allowed = match answer.filter(|_| state == RequestState::Answered) {
            Some(PermissionState::Allowed) => Some(true),
            Some(PermissionState::Denied) => Some(false),
            _ => None,
        };
        self.limit_closed(id, state);
        if state == RequestState::Answered {
            self.attribute_seen_answer(id);
        }
        if let Some(record) = self.permissions.close(id, state, allowed) {
            self.permission_ended(record);
        }
    }

    pub(super) fn permission_ended(&mut self, record: Arc<PermissionRecord>) {
        self.take_undecided(&record.request_id);
        let event = DialogueEventKind::PermissionEnded(Arc::clone(&record));
        self.permission_changed(record, event);
    }

    fn permission_changed(&mut self, record: Arc<PermissionRecord>, event: DialogueEventKind) {
        if self.is_replaying() {
            // Another host may have answered. Reported when the history is over.
            return;
        }
        let tool_use_id = record.tool_use_id.clone();
        // Published before the event, so that a subscriber finds what the event refers to.
        self.outputs.push_back(Output::Permission(record));
        if self.emits_events {
            let call = tool_use_id.and_then(|id| self.transcript.tool_call(&id));
            let parent = call.and_then(|call| call.thread().call());
            let path = call_path(&self.transcript, parent.map(|it| it.id()));
            self.emit_at(path, None, event);
        }
    }

    /// Returns when the oldest open request expires.
    pub(super) fn permission_deadline(&self) -> Option<Duration> {
        let timeout = self.limits.watchdog.permission_timeout;
        // The driver of the session lets them expire.
        let timeout = timeout.filter(|_| self.follower.is_none())?;
        let (opened, _) = self.permissions.oldest_open(&OWN_TOOLS)?;
        Some(opened.saturating_add(timeout))
    }

    /// Denies the requests whose time is over. The agent continues.
    pub(super) fn expire_permissions(&mut self) {
        while self
            .permission_deadline()
            .is_some_and(|due| due <= self.now)
        {
            let Some((_, id)) = self.permissions.oldest_open(&OWN_TOOLS) else {
                return;
            };
            let id = id.to_owned();
            self.deny_expired(&id);
            self.close_permission(&id, RequestState::Expired);
        }
    }

    fn deny_expired(&mut self, id: &str) {
        let deny = Decision::deny("the permission request was not answered in time");
        let Some(record) = self.permissions.record(id) else {
            return;
        };
        // Every request can be denied.
        if let Ok(encoded) = self.protocol.answer(&record, &deny.into()) {
            let purpose = LinePurpose::Denial(id.to_owned());
            self.expect_answer(purpose.clone(), encoded.decision);
            self.write(encoded.line, purpose);
        }
    }

    /// Puts a denial that was not written into the transcript: the agent still waits for it, and no client
    /// knows of it.
    pub(super) fn denial_undelivered(&mut self, id: &str) {
        let reason = format!(
            "permission request {id} expired, but its denial could not be written to the agent, which \
             may wait for it; end the session"
        );
        self.host(HostEvent::AnswerUndelivered { reason: &reason });
    }

    /// Expires the requests that the transcript closed with their turn.
    pub(super) fn turn_ended(&mut self) {
        for id in self.permissions.open_ids() {
            let state = self.transcript.permission(&id).map(|it| it.state());
            if state == Some(PermissionState::Expired) {
                self.close_permission(&id, RequestState::Expired);
            }
        }
        self.count_turn();
        self.turn_ended_at = Some(self.line_at);
        self.outputs.push_back(Output::TurnEnded);
    }
}
