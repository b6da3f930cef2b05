//! The watchdog inside the machine: what the session is busy with, and what a look leads to.

use bowline_jsonl::HostRequest;
use bowline_reducer::{HostEvent, ToolCall};
use bowline_transport::{ConnectionState, Vitals};

use super::{Ending, Machine, Output};
use crate::events::DialogueEventKind;
use crate::watchdog::{Activity, Facts, Silence, Step, WorkPhase};

/// A request that changes nothing (protocol, section B.4). An agent that does not know it refuses,
/// which is a sign of life as well.
pub(super) const PROBE: &str = "get_binary_version";

/// Open tools that are named as evidence.
const NAMED_TOOLS: usize = 8;

impl Machine {
    /// What the session is busy with.
    pub(super) fn phase(&self) -> WorkPhase {
        let open = self.transcript.open_work();
        let is_asked = open.turn || self.receipts.open() > self.held.len();
        if self.ended {
            WorkPhase::Idle
        } else if self.output_is_closed {
            WorkPhase::Draining
        } else if open.permissions > 0 {
            WorkPhase::Permission
        } else if open.calls > 0 {
            WorkPhase::Tool
        } else if is_asked && open.was_heard {
            WorkPhase::Model
        } else if is_asked || !open.was_heard && self.requests.any_open() {
            WorkPhase::Starting
        } else if self.ending == Some(Ending::Asked) {
            WorkPhase::PostResult
        } else if open.tasks > 0 {
            WorkPhase::Background
        } else {
            WorkPhase::Idle
        }
    }

    /// The last sign of life, and what the session is busy with now.
    pub(crate) fn last_activity(&self) -> Activity {
        Activity {
            phase: self.phase(),
            ..self.guard.last()
        }
    }

    /// Arms or disarms the watchdog after an input.
    pub(super) fn watch(&mut self) {
        if self.ended || self.ending == Some(Ending::Terminated) || self.killed.is_some() {
            return self.guard.stop();
        }
        // Who cannot be heard is not silent.
        let phase = if self.is_cut_off {
            WorkPhase::Idle
        } else {
            self.phase()
        };
        self.guard.enter(phase, self.now);
    }

    /// The link to the agent's machine changed.
    pub(super) fn connection(&mut self, state: ConnectionState) {
        self.is_cut_off = !state.is_up();
        // Nobody answers over a link that is down, and nobody is late meanwhile.
        if matches!(state, ConnectionState::Reconnecting { .. }) {
            self.cut_since.get_or_insert(self.now);
        } else if let Some(since) = self.cut_since.take() {
            self.requests.postpone(self.now.saturating_sub(since));
        }
        if let ConnectionState::Failed(failed) = &state {
            let reason = failed.to_string();
            self.host(HostEvent::ReconnectFailed { reason: &reason });
        }
        self.tell(DialogueEventKind::Connection(state));
    }

    /// Looks at the silence, when it is time to.
    pub(super) fn look(&mut self) {
        if self.guard.deadline().is_some_and(|due| due <= self.now) {
            let step = self.guard.look(self.now, self.facts());
            self.step(step);
        }
    }

    pub(super) fn vitals(&mut self, vitals: Option<Vitals>) {
        let step = self.guard.vitals(vitals, self.now, self.facts());
        self.step(step);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Wait => {}
            Step::Inquire => {
                let probe = HostRequest::Other {
                    subtype: PROBE.to_owned(),
                    fields: serde_json::Map::new(),
                };
                self.request(probe, None);
                self.outputs.push_back(Output::Vitals);
                let silence = self.silence();
                self.tell(DialogueEventKind::Inquiry(silence));
            }
            Step::LookAgain => self.outputs.push_back(Output::Vitals),
            Step::Alive(silence) => self.tell(DialogueEventKind::StillAlive(silence)),
            Step::Kill(silence) => self.kill(silence),
        }
    }

    /// Announces the end, and then brings it about.
    fn kill(&mut self, silence: Silence) {
        let reason = silence.to_string();
        self.host(HostEvent::SessionTimeout { reason: &reason });
        self.killed = Some(reason);
        self.end_silence(silence);
    }

    /// Ends an agent for its silence.
    pub(super) fn end_silence(&mut self, silence: Silence) {
        self.tell(DialogueEventKind::SessionTimeout(silence));
        self.outputs.push_back(Output::Terminate);
    }

    pub(super) fn silence(&self) -> Silence {
        self.guard.silence(self.now, self.facts(), None)
    }

    fn facts(&self) -> Facts {
        let open = self.transcript.open_work();
        let calls = self.transcript.main().tool_calls();
        let open_calls = calls.iter().rev().filter(|call| call.state().is_open());
        let named = open_calls.take(open.calls.min(NAMED_TOOLS));
        Facts {
            open_tools: named.map(ToolCall::name).map(str::to_owned).collect(),
            open_tasks: open.tasks,
        }
    }
}
