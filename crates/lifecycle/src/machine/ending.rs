//! How a session ends: asked for, waited for, or by itself.

use std::time::Duration;

use bowline_jsonl::HostRequest;
use bowline_reducer::{End, HostEvent};
use bowline_transport::Exit;

use super::requests::Answered;
use super::{Ending, Machine, Output};
use crate::events::DialogueEventKind;
use crate::permission::RequestState;
use crate::registry::describe;

impl Machine {
    /// Does what became possible with the last input.
    pub(super) fn settle(&mut self) {
        self.settle_pause();
        let open = self.transcript.open_work();
        let is_at_work = open.turn || open.calls > 0 || open.tasks > 0 || open.permissions > 0;
        if is_at_work {
            return;
        }
        // Sessions rest most of the time, and many of them rest at once.
        self.framer.release();
        if self.ending == Some(Ending::WhenIdle) && !self.ended && !self.receipts.any_open() {
            self.ending = Some(Ending::Asked);
            self.request(HostRequest::EndSession, None);
        }
    }

    pub(super) fn timeout(&mut self) {
        if self.cut_since.is_none() {
            for answered in self.requests.expire(self.now, self.limits.control_timeout) {
                self.missed(&answered);
                self.answered(answered);
            }
        }
        let now = self.now;
        let due = |by: Option<Duration>| by.is_some_and(|by| by <= now);
        if due(self.end_by) && !self.ended {
            self.terminate();
        }
        if due(self.exit_by) && !self.ended {
            // The host did not ask for this end, so it stays an unexpected one.
            self.exit_by = None;
            let silence = self.silence();
            self.end_silence(silence);
        }
        if !self.ended {
            self.expire_permissions();
            self.look();
        }
    }

    /// An agent that does not answer its first request does not read its input, as far as anyone
    /// can tell. It may be slow; the host decides.
    fn missed(&mut self, request: &Answered) {
        if request.ticket.is_none() && request.name == INITIALIZE {
            let seconds = self.limits.control_timeout.as_secs();
            let reason = format!("the agent did not answer `{INITIALIZE}` within {seconds} s");
            self.host(HostEvent::SessionTimeout { reason: &reason });
        }
    }

    /// Nothing more can come of an agent that closed its output.
    pub(super) fn output_ended(&mut self) {
        self.output_is_closed = true;
        let draining = self.limits.watchdog.limits.draining;
        self.exit_by = draining.map(|draining| self.now.saturating_add(draining));
    }

    pub(super) fn exited(&mut self, exit: &Exit) {
        if self.ended {
            return;
        }
        self.framer.finish();
        self.frames();
        self.ended = true;
        self.is_expected = self.expects_an_end();
        self.finish_errors();
        for id in self.permissions.open_ids() {
            self.close_permission(&id, RequestState::Orphaned);
        }
        let steps = self.receipts.close();
        self.steps(steps);
        for answered in self.requests.close() {
            if let Some(ticket) = answered.ticket {
                self.reply(ticket, answered.reply);
            }
        }
        self.settle_pause();
        self.close_transcript(exit);
        let (expected, reason) = self.ending();
        self.tell(DialogueEventKind::SessionEnd { expected, reason });
        self.outputs.push_back(Output::Finished);
    }

    /// The host lets go of an agent that goes on without it.
    pub(crate) fn detach(&mut self) {
        self.ending = Some(Ending::Terminated);
        self.end_by = None;
    }

    /// An end that waits for the open turn does not expect the agent to go in the middle of it.
    fn expects_an_end(&self) -> bool {
        match self.ending {
            None => false,
            Some(Ending::WhenIdle) => !self.transcript.has_open_turn() && !self.receipts.any_open(),
            Some(Ending::Asked | Ending::Terminated) => true,
        }
    }

    /// Whether the agent was terminated because it had closed its output.
    const fn outlived_its_output(&self) -> bool {
        let is_bounded = self.limits.watchdog.limits.draining.is_some();
        self.output_is_closed && is_bounded && self.exit_by.is_none()
    }

    /// The end was expected when the host asked for it; the exit code does not decide.
    fn close_transcript(&mut self, exit: &Exit) {
        let expected = self.is_expected;
        self.end_reason = describe(exit.status);
        if self.outlived_its_output() {
            self.end_reason
                .push_str(" after it had closed its output and did not exit");
        }
        if let Some(killed) = &self.killed {
            self.end_reason.push_str(" by the watchdog, ");
            self.end_reason.push_str(killed);
        }
        if !expected
            && let Some(line) = self
                .stderr
                .report()
                .text
                .lines()
                .rfind(|it| !it.trim().is_empty())
        {
            self.end_reason.push_str(": ");
            self.end_reason.push_str(line.trim());
        }
        let meta = self.meta();
        self.transcript.end(
            End::Process {
                exit: &self.end_reason,
                expected,
            },
            meta,
        );
    }
}

/// The first request of a session.
const INITIALIZE: &str = "initialize";
