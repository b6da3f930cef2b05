//! The end of the stream: nothing stays open behind it.

use crate::host::{End, Meta};
use crate::record::ThreadId;
use crate::state::{CallState, ErrorKind, MessageState, PermissionState, TaskState};
use crate::transcript::{Here, Transcript};

impl Transcript {
    /// Ends the stream: every message, tool call, permission request and task that is still open
    /// is closed, and the status says why.
    pub fn end(&mut self, end: End<'_>, at: Meta) {
        if self.evidence.ended.is_some() {
            return;
        }
        let here = Here {
            offset: self.applied,
            end: self.applied,
            at_ms: at.at_ms,
        };
        self.close_drafts();
        self.close_permissions();
        for thread in 0..self.threads.len() as u32 {
            self.close_thread(ThreadId(thread), CallState::Lost);
        }
        for id in std::mem::take(&mut self.evidence.tasks) {
            self.set_task(id, TaskState::Lost);
        }
        self.evidence.turn_is_open = false;
        self.evidence.is_interrupting = false;
        let reason = match end {
            End::Recording => "end of recording",
            End::Process { exit, .. } => exit,
        };
        if let End::Process {
            exit,
            expected: false,
        } = end
        {
            let text = format!("the process ended unexpectedly: {exit}");
            self.error(ErrorKind::UnexpectedExit, &text, here);
        }
        self.evidence.ended = Some(self.keep(reason));
        self.touch_status();
    }

    fn close_drafts(&mut self) {
        for draft in std::mem::take(&mut self.drafts) {
            self.set_message(draft.entry, MessageState::Aborted);
            self.finish_message(draft.entry);
        }
    }

    fn close_permissions(&mut self) {
        for id in self.evidence.permissions.clone() {
            let state = match self.call_of(id) {
                Some(_) => PermissionState::Expired,
                None => PermissionState::Orphaned,
            };
            self.close_permission(id, state);
        }
    }
}
