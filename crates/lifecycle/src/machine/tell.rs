//! What the machine tells those who listen.

use std::sync::Arc;
use std::time::Duration;

use bowline_jsonl::{CanUseTool, Decision, Item, Str, permission};
use bowline_reducer::{HostDecision, HostEvent, PermissionState};

use super::{Carried, Machine, Output};
use crate::events::{DialogueEventKind, Told, path_of, tell_line};
use crate::permission::{PermissionRecord, RequestState};
use crate::watchdog::ActivitySource;

/// Longest line of standard error that is told, in bytes.
const LONGEST_LINE: usize = 8 << 10;

/// Splits a stream into lines of a bounded length.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    fn push(&mut self, bytes: &[u8], mut told: impl FnMut(String)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST_LINE.saturating_sub(self.begun.len());
            self.begun
                .extend_from_slice(piece.get(..room).unwrap_or(piece));
            if piece.ends_with(b"\n") {
                self.finish(&mut told);
            }
        }
    }

    fn finish(&mut self, told: &mut impl FnMut(String)) {
        if !self.begun.is_empty() {
            let line = String::from_utf8_lossy(&self.begun);
            told(line.trim_end_matches(['\n', '\r']).to_owned());
            self.begun.clear();
        }
    }
}

impl Machine {
    pub(super) fn tell(&mut self, kind: DialogueEventKind) {
        if self.is_heard {
            self.tell_at(Vec::new(), None, kind);
        }
    }

    fn tell_at(&mut self, path: Vec<String>, offset: Option<u64>, kind: DialogueEventKind) {
        self.outputs.push_back(Output::Told(Told {
            path,
            offset,
            phase: self.phase(),
            kind,
        }));
    }

    /// Tells what a line says.
    pub(super) fn tell_item(&mut self, item: &Item<'_>) {
        let mut kinds = Vec::new();
        tell_line(item, &self.transcript, |kind| kinds.push(kind));
        if kinds.is_empty() {
            return;
        }
        let parent = item
            .event
            .as_ref()
            .ok()
            .and_then(|it| it.parent_tool_use_id);
        let parent = parent.map(Str::decode);
        let path = path_of(&self.transcript, parent.as_deref());
        for kind in kinds {
            self.tell_at(path.clone(), Some(item.at.offset), kind);
        }
    }

    pub(super) fn errors(&mut self, bytes: &[u8]) {
        self.stderr.write(bytes);
        if self.is_heard {
            let mut lines = std::mem::take(&mut self.stderr_line);
            lines.push(bytes, |text| {
                self.tell(DialogueEventKind::StderrLine { text })
            });
            self.stderr_line = lines;
        }
    }

    /// Tells the last line of standard error, which may have no end.
    pub(super) fn finish_errors(&mut self) {
        let mut lines = std::mem::take(&mut self.stderr_line);
        lines.finish(&mut |text| self.tell(DialogueEventKind::StderrLine { text }));
    }

    pub(super) fn open_permission(&mut self, id: &str, ask: &CanUseTool<'_>) {
        let at_ms = self.meta().at_ms;
        if let Some(record) = self.permissions.open(id, ask, self.now, at_ms) {
            let told = DialogueEventKind::PermissionRequest(Arc::clone(&record));
            self.tell_permission(&record, told);
            self.outputs.push_back(Output::Permission(record));
        }
    }

    /// Closes a request that nobody has answered.
    pub(super) fn close_permission(&mut self, id: &str, state: RequestState) {
        if let Some(record) = self.permissions.close(id, state) {
            self.closed_permission(record);
        }
    }

    pub(super) fn closed_permission(&mut self, record: Arc<PermissionRecord>) {
        let told = DialogueEventKind::PermissionEnded(Arc::clone(&record));
        self.tell_permission(&record, told);
        self.outputs.push_back(Output::Permission(record));
    }

    fn tell_permission(&mut self, record: &PermissionRecord, kind: DialogueEventKind) {
        if self.is_heard {
            let call = record.tool_use_id.as_deref();
            let call = call.and_then(|id| self.transcript.tool_call(id));
            let around = call.and_then(|call| call.thread().call());
            let path = path_of(&self.transcript, around.map(|it| it.id()).as_deref());
            self.tell_at(path, None, kind);
        }
    }

    /// When the oldest open permission request has waited long enough.
    pub(super) fn permission_deadline(&self) -> Option<Duration> {
        let patience = self.limits.watchdog.permission?;
        Some(self.permissions.oldest()?.0.saturating_add(patience))
    }

    /// Denies the requests that nobody answered in time. The agent lives on.
    pub(super) fn expire_permissions(&mut self) {
        while self
            .permission_deadline()
            .is_some_and(|due| due <= self.now)
        {
            let Some((_, id)) = self.permissions.oldest() else {
                return;
            };
            let id = id.to_owned();
            self.deny_late(&id);
        }
    }

    fn deny_late(&mut self, id: &str) {
        let deny = Decision::deny("nobody answered in time");
        let line = permission(id, &deny, None);
        self.write(line, Carried::Other);
        self.host(HostEvent::PermissionAnswered {
            request_id: id,
            decision: HostDecision::Deny,
        });
        // An answer as any other: whatever comes next has the whole of its time.
        self.guard.heard(ActivitySource::Host, self.now);
        self.close_permission(id, RequestState::Expired);
    }

    /// The turn's requests are over with it, as far as the transcript says so.
    pub(super) fn turn_ended(&mut self) {
        for id in self.permissions.open_ids() {
            let state = self.transcript.permission(&id).map(|it| it.state());
            if state == Some(PermissionState::Expired) {
                self.close_permission(&id, RequestState::Expired);
            }
        }
        self.outputs.push_back(Output::TurnEnded);
    }
}
