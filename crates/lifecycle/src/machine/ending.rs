//! The end of a session: requested, awaited, or unexpected.

use std::time::Duration;

use bowline_reducer::End;
use bowline_transport::{Exit, TerminationPolicy};

use super::{EndStage, Machine, Output};
use crate::agent::UnknownOption;
use crate::error::HandshakeError;
use crate::events::DialogueEventKind;
use crate::exit_policy::ExitPolicy;
use crate::permission::RequestState;
use crate::registry::describe;

impl Machine {
    /// Continues what waited for the last input.
    pub(super) fn settle(&mut self) {
        self.settle_pause();
        self.check_usage_limit();
        self.check_budget();
        self.send_queued();
        self.release_next();
        let open = self.transcript.open_work();
        if open.turn || open.calls > 0 || open.tasks > 0 || open.permissions > 0 {
            return;
        }
        // Sessions are idle most of the time, so an idle one keeps no buffer.
        self.framer.release();
        let is_waiting = self.end_stage == Some(EndStage::WhenIdle) && !self.ended;
        if is_waiting && !self.receipts.any_open() {
            self.end_stage = Some(EndStage::Requested);
            let ExitPolicy { answer, exit, .. } = self.limits.exit;
            self.close_input_at = Some(self.now.saturating_add(answer));
            self.speak(|protocol, link| protocol.end(link));
            let exit_at = self.now.saturating_add(exit);
            self.terminate_at = Some(self.terminate_at.map_or(exit_at, |at| at.min(exit_at)));
        }
    }

    /// Returns how an agent is terminated that was asked to exit and has not done so.
    pub(super) fn overdue_policy(&self) -> TerminationPolicy {
        let overdue = TerminationPolicy {
            eof_grace: Duration::ZERO,
            interrupt: None,
            term_grace: self.limits.exit.term,
            ..self.limits.termination
        };
        overdue.strictest(self.limits.termination)
    }

    pub(super) fn timeout(&mut self) {
        if self.reconnecting_since.is_none() {
            for request in self.requests.expire(self.now, self.limits.control_timeout) {
                self.request_completed(request);
            }
            self.expire_intents();
        }
        let now = self.now;
        let is_due = |at: Option<Duration>| at.is_some_and(|at| at <= now);
        if is_due(self.close_input_at) {
            self.close_input_at = None;
            self.outputs.push_back(Output::CloseInput);
        }
        if is_due(self.terminate_at) && !self.ended {
            self.terminate();
        }
        if is_due(self.drain_until) && !self.ended {
            // The host did not request this end, so it stays unexpected.
            self.drain_until = None;
            let silence = self.silence();
            self.terminate_for(silence);
        }
        if !self.ended {
            self.expire_permissions();
            self.check_watchdog();
        }
    }

    /// Starts the time that an agent with closed output has to exit.
    pub(super) fn output_ended(&mut self) {
        self.output_is_closed = true;
        let draining = self.limits.watchdog.limits.draining;
        self.drain_until = draining.map(|draining| self.now.saturating_add(draining));
    }

    pub(super) fn exited(&mut self, exit: &Exit) {
        if self.ended {
            return;
        }
        self.framer.finish();
        self.fold_frames();
        self.fold_all_unreported();
        self.end_replay();
        self.ended = true;
        self.is_expected = self.expects_exit();
        self.finish_stderr();
        for id in self.permissions.open_ids() {
            self.close_permission(&id, RequestState::Orphaned);
        }
        self.close_queue();
        let updates = self.receipts.close();
        self.receipt_updates(updates);
        for request in self.requests.close() {
            if let Some(ticket) = request.ticket {
                self.reply(ticket, request.reply);
            }
        }
        self.close_intents();
        self.settle_pause();
        self.unknown_option = self.refused_option();
        self.end_reason = self.describe_exit(exit);
        if self.handshake.is_none() {
            let reason = self.end_reason.clone();
            self.handshake = Some(Err(HandshakeError::Exited { reason }));
        }
        self.end_transcript();
        let (expected, reason) = self.end_summary();
        self.emit(DialogueEventKind::SessionEnd { expected, reason });
        self.outputs.push_back(Output::Finished);
    }

    /// Marks the end as expected: the agent continues at its runner without this session.
    pub(crate) fn detach(&mut self) {
        self.end_stage = Some(EndStage::Terminated);
        self.terminate_at = None;
    }

    /// Returns whether an exit is expected now. An end that waits for the open turn does not expect
    /// one before that.
    fn expects_exit(&self) -> bool {
        match self.end_stage {
            None => false,
            Some(EndStage::WhenIdle) => {
                !self.transcript.has_open_turn() && !self.receipts.any_open()
            }
            Some(EndStage::Requested | EndStage::Terminated) => true,
        }
    }

    /// Returns whether the agent was terminated because it did not exit after closing its output.
    const fn outlived_its_output(&self) -> bool {
        let is_bounded = self.limits.watchdog.limits.draining.is_some();
        self.output_is_closed && is_bounded && self.drain_until.is_none()
    }

    /// Returns the option that the agent refused, if it exited for that without a line of its protocol.
    fn refused_option(&mut self) -> Option<UnknownOption> {
        if self.has_event || self.is_expected {
            return None;
        }
        let of_output = self.unknown_option.take();
        of_output.or_else(|| UnknownOption::find(&self.stderr.report().text))
    }

    fn describe_exit(&self, exit: &Exit) -> String {
        let mut reason = describe(exit.status);
        if self.outlived_its_output() {
            reason.push_str(" after it had closed its output and did not exit");
        }
        if let Some(timeout) = &self.timeout_reason {
            reason.push_str(" by the watchdog, ");
            reason.push_str(timeout);
        }
        if let Some(option) = &self.unknown_option {
            reason.push_str(&format!(": {option}"));
            return reason;
        }
        let stderr = self.stderr.report().text;
        let last_line = stderr.lines().map(str::trim).rfind(|it| !it.is_empty());
        if let Some(line) = last_line.filter(|_| !self.is_expected) {
            reason.push_str(": ");
            reason.push_str(line);
        }
        reason
    }

    /// Closes the transcript. An end is expected if the host requested it, whatever the exit code.
    fn end_transcript(&mut self) {
        let end = End::Process {
            exit: &self.end_reason,
            expected: self.is_expected,
        };
        let meta = self.meta();
        self.transcript.end(end, meta);
    }
}
