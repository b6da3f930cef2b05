//! What the host says.

use bowline_jsonl::RawJson;

use crate::host::{End, HostDecision, HostEvent, Meta};
use crate::record::{EntryBody, ThreadId, UserRecord};
use crate::state::{ErrorKind, PermissionState};
use crate::transcript::{Here, Transcript};
use crate::uuids::{Brought, Uuid};
use crate::window::What;

impl Transcript {
    /// Takes what the host knows and the stream does not say.
    pub fn apply_host(&mut self, event: HostEvent<'_>, at: Meta) {
        let here = Here {
            offset: self.applied,
            end: self.applied,
            at_ms: at.at_ms,
        };
        if self.is_told_again(&event) {
            return;
        }
        if let Some(what) = What::of(&event) {
            self.note_told(|| what, at);
        }
        match event {
            HostEvent::ProcessStarted => self.process_started(),
            HostEvent::PromptSent { uuid, text } => self.prompt_sent(uuid, text, here),
            HostEvent::PromptDropped { uuid } => self.drop_prompt(uuid),
            HostEvent::PermissionAnswered {
                request_id,
                decision,
            } => self.permission_answered(request_id, decision),
            HostEvent::InterruptRequested => {
                if self.evidence.turn.is_open {
                    self.evidence.is_interrupting = true;
                    self.touch_status();
                }
            }
            HostEvent::Gap { from, to } => self.gap(from, to, here),
            HostEvent::ReconnectFailed { reason } => {
                self.error(ErrorKind::ReconnectFailed, reason, here);
            }
            HostEvent::SessionTimeout { reason } => {
                self.error(ErrorKind::SessionTimeout, reason, here);
            }
            HostEvent::ProcessEnded { exit, expected } => {
                self.end(End::Process { exit, expected }, at);
            }
        }
    }

    /// Whether the host says a prompt again, by its uuid.
    fn is_told_again(&self, event: &HostEvent<'_>) -> bool {
        match event {
            HostEvent::PromptSent {
                uuid: Some(uuid), ..
            } if !uuid.is_empty() => self.uuids.line(Uuid::new(uuid)).is_some() && !self.is_page,
            _ => false,
        }
    }

    fn process_started(&mut self) {
        if self.evidence.ended.take().is_some() {
            self.rewind();
            self.evidence.was_heard = false;
            self.evidence.turn.close();
            self.evidence.last_outcome = None;
            self.touch_status();
        }
    }

    fn prompt_sent(&mut self, uuid: Option<&str>, text: &str, here: Here) {
        let uuid = uuid.unwrap_or_default();
        let body = EntryBody::User(UserRecord {
            uuid: self.arena.atom(uuid),
            text: self.keep(text),
            is_sent: true,
            is_unconfirmed: true,
            ..UserRecord::default()
        });
        let entry = self.entry(ThreadId::MAIN, body, here);
        if uuid.is_empty() {
            self.unconfirmed.push_back(entry);
        } else {
            self.uuids
                .note(Uuid::new(uuid), Brought::Entry(entry.number()));
        }
        self.await_turn(uuid);
    }

    fn permission_answered(&mut self, request_id: &str, decision: HostDecision<'_>) {
        let Some(id) = self.permission_named(request_id) else {
            return;
        };
        if self.permissions[id.at()].state != PermissionState::Open {
            return;
        }
        let call = self.call_of(id);
        match decision {
            HostDecision::Deny => self.close_permission(id, PermissionState::Denied),
            HostDecision::Allow { updated_input } => {
                self.close_permission(id, PermissionState::Allowed);
                if let (Some(call), Some(input)) = (call, updated_input.and_then(RawJson::parse)) {
                    self.calls.at_mut(call.at()).updated_input =
                        Some(Box::new(self.arena.store_raw(input)));
                    self.touch_call(call);
                }
            }
        }
    }

    fn gap(&mut self, from: u64, to: u64, here: Here) {
        if to <= self.applied {
            return;
        }
        let from = from.max(self.applied);
        let text = format!(
            "{} bytes are missing, from offset {from} to {to}",
            to - from
        );
        self.error(ErrorKind::Gap, &text, here);
        self.applied = to;
    }
}
