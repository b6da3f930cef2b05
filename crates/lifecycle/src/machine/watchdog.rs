//! The watchdog in the state machine: the phase of the session, and the actions of a check.

use std::time::Duration;

use bowline_reducer::{HostEvent, ToolCall};
use bowline_transport::{ConnectionState, ResourceUsage};

use super::{EndStage, Machine, Output};
use crate::events::DialogueEventKind;
use crate::watchdog::{Activity, OpenWork, Silence, WatchdogAction, WorkPhase};

/// Number of open tools that are named as evidence.
const MAX_NAMED_TOOLS: usize = 8;

impl Machine {
    /// Returns what the session is busy with.
    pub(super) fn phase(&self) -> WorkPhase {
        let open = self.transcript.open_work();
        let has_work = open.turn || self.receipts.open() > self.prompts.len();
        if self.ended {
            WorkPhase::Idle
        } else if self.output_is_closed {
            WorkPhase::Draining
        } else if open.permissions > 0 {
            WorkPhase::Permission
        } else if open.calls > 0 {
            WorkPhase::Tool
        } else if has_work && open.has_output {
            WorkPhase::Model
        } else if has_work || !open.has_output && self.requests.any_open() {
            WorkPhase::Starting
        } else if self.end_stage == Some(EndStage::Requested) {
            WorkPhase::PostResult
        } else if open.tasks > 0 {
            WorkPhase::Background
        } else {
            WorkPhase::Idle
        }
    }

    /// Returns the last sign of life, with the current phase.
    pub(crate) fn last_activity(&self) -> Activity {
        Activity {
            phase: self.phase(),
            ..self.watchdog.last_activity()
        }
    }

    /// Arms or disarms the watchdog after an input.
    pub(super) fn update_watchdog(&mut self) {
        let is_terminated = self.end_stage == Some(EndStage::Terminated);
        // The driver of the session has its own.
        let is_follower = self.follower.is_some();
        if self.ended || is_terminated || is_follower || self.timeout_reason.is_some() {
            return self.watchdog.stop();
        }
        // An agent that cannot be reached cannot be distinguished from a silent one.
        let phase = if self.is_link_down {
            WorkPhase::Idle
        } else {
            self.phase()
        };
        self.watchdog.enter(phase, self.now);
    }

    /// Handles a change of the connection to the agent's machine.
    pub(super) fn connection(&mut self, state: ConnectionState) {
        self.is_link_down = !state.is_up();
        // The time without a connection does not count towards the deadlines of requests.
        if matches!(state, ConnectionState::Reconnecting { .. }) {
            self.reconnecting_since.get_or_insert(self.now);
        } else if let Some(since) = self.reconnecting_since.take() {
            let by = self.now.saturating_sub(since);
            self.requests.postpone(by);
            if let Some(follower) = &mut self.follower {
                follower.postpone(by);
            }
        }
        self.connection_failure = match &state {
            ConnectionState::Failed(failed) => Some(failed.clone()),
            _ => None,
        };
        match &state {
            ConnectionState::Failed(failed) => {
                let reason = format!("{}; {}", failed.failure, failed.detail);
                self.host(HostEvent::ReconnectFailed { reason: &reason });
            }
            _ => self.host(HostEvent::Reconnecting),
        }
        self.emit(DialogueEventKind::Connection(state));
    }

    /// Runs the watchdog's check if it is due.
    pub(super) fn check_watchdog(&mut self) {
        if self.watchdog.deadline().is_some_and(|due| due <= self.now) {
            let action = self.watchdog.check(self.now, self.open_work());
            self.watchdog_action(action);
        }
    }

    pub(super) fn usage(&mut self, usage: Option<ResourceUsage>) {
        let action = self.watchdog.usage(usage, self.now, self.open_work());
        self.watchdog_action(action);
    }

    fn watchdog_action(&mut self, action: WatchdogAction) {
        match action {
            WatchdogAction::None => {}
            WatchdogAction::Probe => {
                self.speak(|protocol, link| protocol.probe(link));
                self.outputs.push_back(Output::MeasureUsage);
                let silence = self.silence();
                self.emit_counted(DialogueEventKind::Inquiry(silence));
            }
            WatchdogAction::Measure => self.outputs.push_back(Output::MeasureUsage),
            WatchdogAction::Alive(silence) => self.emit(DialogueEventKind::StillAlive(silence)),
            WatchdogAction::Kill(silence) => {
                let reason = silence.to_string();
                self.host(HostEvent::SessionTimeout { reason: &reason });
                self.timeout_reason = Some(reason);
                self.terminate_for(silence);
            }
        }
    }

    /// Announces the timeout, and then terminates the agent.
    pub(super) fn terminate_for(&mut self, silence: Silence) {
        self.emit_counted(DialogueEventKind::SessionTimeout(silence));
        let policy = self.limits.termination;
        self.outputs.push_back(Output::Terminate(policy));
    }

    /// Returns the current silence at a time, if it lasts so long that an inquiry is due.
    pub(crate) fn overdue_silence(&self, now: Duration) -> Option<Silence> {
        self.watchdog.overdue(now, self.open_work())
    }

    pub(super) fn silence(&self) -> Silence {
        self.watchdog.silence(self.now, self.open_work(), None)
    }

    fn open_work(&self) -> OpenWork {
        let open = self.transcript.open_work();
        let calls = self.transcript.main().tool_calls();
        let open_calls = calls.iter().rev().filter(|call| call.state().is_open());
        let named = open_calls.take(open.calls.min(MAX_NAMED_TOOLS));
        OpenWork {
            tools: named.map(ToolCall::name).map(str::to_owned).collect(),
            tasks: open.tasks,
            cause: self.protocol.silence_cause(&self.transcript),
        }
    }
}
