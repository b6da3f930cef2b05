//! The end of the stream: everything that is open is closed.

use crate::host::{End, Meta};
use crate::host_log::LoggedHostEvent;
use crate::model::ThreadState;
use crate::record::Ended;
use crate::record::ThreadId;
use crate::state::{CallState, ErrorKind, PermissionState, TaskState};
use crate::transcript::{LineContext, Transcript};

impl Transcript {
    /// Ends the stream: closes every open message, tool call, permission request and task, and
    /// records the reason in the status.
    ///
    /// A second end closes what was applied since the first; it replaces the reason only if the
    /// first was [`End::Recording`] and this is [`End::Process`].
    pub fn end(&mut self, end: End<'_>, at: Meta) {
        self.log_host_event(|| LoggedHostEvent::of_end(end), at);
        self.line = LineContext::between(self.applied, at.at_ms);
        self.end_dialect();
        self.close_all();
        let was_process = matches!(end, End::Process { .. });
        let known = self.evidence.ended;
        if known.is_some_and(|known| known.was_process || !was_process) {
            return;
        }
        let reason = match end {
            End::Recording => "end of recording",
            End::Process { exit, .. } => exit,
        };
        if let End::Process {
            exit,
            expected: false,
        } = end
        {
            let context = self.line;
            let text = format!("the process ended unexpectedly: {exit}");
            self.error(ErrorKind::UnexpectedExit, &text, context);
        }
        let reason = self.keep(reason);
        self.evidence.ended = Some(Ended {
            reason,
            was_process,
        });
        self.touch_status();
    }

    pub(crate) fn close_all(&mut self) {
        self.close_drafts(..);
        self.close_permissions();
        for thread in self.threads.numbers().collect::<Vec<_>>() {
            let thread = ThreadId::new(thread as u32);
            self.close_thread(thread, CallState::Lost);
            self.lose_thread(thread);
        }
        for id in self.evidence.tasks.clone() {
            self.set_task(id, TaskState::Lost);
        }
        self.evidence.turn.close();
        self.evidence.is_interrupting = false;
    }

    /// Ends the progress of a sub-agent that was at work: nothing reports its end any more.
    fn lose_thread(&mut self, thread: ThreadId) {
        let Some(detail) = &mut self.threads[thread].detail else {
            return;
        };
        let is_at_work = matches!(
            detail.state,
            Some(ThreadState::Running | ThreadState::RequiresAction)
        );
        if is_at_work {
            detail.state = Some(ThreadState::Lost);
            self.touch_thread(thread);
        }
    }

    fn close_permissions(&mut self) {
        for id in self.evidence.permissions.iter().collect::<Vec<_>>() {
            let state = match self.call_of(id) {
                Some(_) => PermissionState::Expired,
                None => PermissionState::Orphaned,
            };
            self.close_permission(id, state);
        }
    }
}
