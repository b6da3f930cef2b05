//! Host events.

use std::sync::Arc;

use bowline_jsonl::RawJson;

use crate::host::{End, HostDecision, HostEvent, Meta};
use crate::host_log::LoggedHostEvent;
use crate::index::{IndexKey, IndexKind};
use crate::model::RequestKind;
use crate::record::{EntryBody, PermissionRecord, RequestDetail, ThreadId, UserRecord};
use crate::state::{ErrorKind, PermissionState};
use crate::transcript::{LineContext, Transcript};
use crate::uuids::{LineEffect, Uuid};

impl Transcript {
    /// Applies an event that the stream does not contain.
    pub fn apply_host(&mut self, event: HostEvent<'_>, at: Meta) {
        let context = LineContext::between(self.applied, at.at_ms);
        self.line = context;
        if self.is_repeated_prompt(&event) {
            return;
        }
        if let Some(event) = LoggedHostEvent::of(&event) {
            self.log_host_event(|| event, at);
        }
        match event {
            HostEvent::HistoryStarted => self.is_history = true,
            HostEvent::HistoryEnded => self.end_history(),
            HostEvent::ProcessStarted => self.process_started(),
            HostEvent::PromptSent { uuid, text } => self.prompt_sent(uuid, text, context),
            HostEvent::QueueChanged { waiting } => self.set_waiting_prompts(waiting),
            HostEvent::PromptDropped { uuid } => self.drop_prompt(uuid),
            HostEvent::PermissionAnswered {
                request_id,
                decision,
            } => self.permission_answered(request_id, decision, at),
            HostEvent::PermissionAttributed {
                request_id,
                who,
                how,
            } => {
                if let Some(id) = self.find_permission(request_id) {
                    self.attribute_answer(id, who, how);
                }
            }
            HostEvent::HostAsked {
                request_id,
                tool_name,
                reason,
                question,
                options,
            } => {
                let detail = RequestDetail {
                    kind: RequestKind::Question,
                    thread: ThreadId::MAIN,
                    options: options.to_vec(),
                    questions: vec![question.clone()],
                    url: None,
                    rule: None,
                    reason: Some(reason.to_owned()),
                };
                self.host_asked(request_id, tool_name, detail, context);
            }
            HostEvent::InterruptRequested => {
                if self.evidence.turn.is_open {
                    self.evidence.is_interrupting = true;
                    self.touch_status();
                }
            }
            HostEvent::Gap { from, to } => self.gap(from, to, context),
            HostEvent::Damaged { reason } => {
                self.counters.is_damaged = true;
                self.touch_stats();
                self.error(ErrorKind::Gap, reason, context);
            }
            HostEvent::ReconnectFailed { reason } => {
                self.error(ErrorKind::ReconnectFailed, reason, context);
                self.evidence.disconnected = Some(self.keep(reason));
                self.touch_status();
            }
            HostEvent::Reconnecting => {
                if self.evidence.disconnected.take().is_some() {
                    self.touch_status();
                }
            }
            HostEvent::SessionTimeout { reason } => {
                self.error(ErrorKind::SessionTimeout, reason, context);
            }
            HostEvent::AnswerUndelivered { reason } => {
                self.error(ErrorKind::AnswerUndelivered, reason, context);
            }
            HostEvent::ProcessEnded { exit, expected } => {
                self.end(End::Process { exit, expected }, at);
            }
        }
    }

    /// Whether the host repeats a prompt, by its uuid.
    fn is_repeated_prompt(&self, event: &HostEvent<'_>) -> bool {
        match event {
            HostEvent::PromptSent {
                uuid: Some(uuid), ..
            } if !uuid.is_empty() => self.uuids.effect(Uuid::new(uuid)).is_some() && !self.is_page,
            _ => false,
        }
    }

    fn host_asked(
        &mut self,
        id: &str,
        tool_name: &str,
        detail: RequestDetail,
        context: LineContext,
    ) {
        let key = IndexKey::new(IndexKind::Permission, 0, id);
        if self.find_permission_by_key(key, id).is_some() {
            return;
        }
        let record = PermissionRecord {
            request_id: self.arena.store_short(id),
            tool_name: self.names.intern(tool_name),
            at_ms: context.at_ms,
            offset: context.offset,
            end: context.end,
            detail: Some(Arc::new(detail)),
            ..PermissionRecord::default()
        };
        self.add_request(key, record);
    }

    fn process_started(&mut self) {
        if self.evidence.ended.take().is_some() {
            self.restart_stream();
            self.evidence.has_output = false;
            self.evidence.turn.close();
            self.evidence.last_outcome = None;
            self.touch_status();
        }
    }

    fn prompt_sent(&mut self, uuid: Option<&str>, text: &str, context: LineContext) {
        let uuid = uuid.unwrap_or_default();
        let body = EntryBody::User(UserRecord {
            uuid: self.arena.store_short(uuid),
            text: self.keep(text),
            line_end: context.line_end(),
            is_sent: true,
            is_unconfirmed: true,
            ..UserRecord::default()
        });
        let entry = self.entry(ThreadId::MAIN, body, context);
        if uuid.is_empty() {
            self.unconfirmed.push_back(entry);
        } else {
            self.uuids
                .record(Uuid::new(uuid), LineEffect::Entry(entry.number()));
        }
        self.await_turn(uuid);
        self.entries[entry].turn = self.turn_of(ThreadId::MAIN);
    }

    fn permission_answered(&mut self, request_id: &str, decision: HostDecision<'_>, at: Meta) {
        let Some(id) = self.find_permission(request_id) else {
            return;
        };
        if self.permissions[id].state != PermissionState::Open {
            return;
        }
        let how = match decision {
            HostDecision::Allow { .. } => "allow",
            HostDecision::Deny => "deny",
        };
        self.note_answer(id, None, how, at.at_ms);
        let call = self.call_of(id);
        match decision {
            HostDecision::Deny => self.close_permission(id, PermissionState::Denied),
            HostDecision::Allow { updated_input } => {
                self.close_permission(id, PermissionState::Allowed);
                if let (Some(call), Some(input)) = (call, updated_input.and_then(RawJson::parse)) {
                    let input = self.arena.store_raw(input);
                    self.detail(call).updated_input = input;
                    self.touch_call(call);
                }
            }
        }
    }

    fn gap(&mut self, from: u64, to: u64, context: LineContext) {
        if to <= self.applied {
            return;
        }
        let from = from.max(self.applied);
        let text = format!(
            "{} bytes are missing, from offset {from} to {to}",
            to - from
        );
        self.counters.missing += to - from;
        self.touch_stats();
        self.error(ErrorKind::Gap, &text, context);
        self.applied = to;
    }
}
