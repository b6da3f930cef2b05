//! Carries out what the agent's protocol signals.

use std::mem;

use bowline_jsonl::AgentVersion;
use bowline_reducer::HostEvent;

use super::protocol::{Link, Protocol, Signal};
use super::requests::{CompletedRequest, Refusal};
use super::{Machine, Output};
use crate::agent::AgentCapabilities;
use crate::events::DialogueEventKind;
use crate::watchdog::ActivitySource;

impl Machine {
    /// Has the protocol do something, and carries out the signals that it leads to.
    pub(super) fn speak<T>(
        &mut self,
        act: impl FnOnce(&mut dyn Protocol, &mut Link<'_>) -> T,
    ) -> T {
        // What the signals of an outer call lead to comes before the rest of these.
        let outer = mem::take(&mut self.signals);
        let result = self.with_protocol(act);
        self.carry_out_signals();
        self.signals = outer;
        result
    }

    /// Has the protocol do something, and collects its signals.
    pub(super) fn with_protocol<T>(
        &mut self,
        act: impl FnOnce(&mut dyn Protocol, &mut Link<'_>) -> T,
    ) -> T {
        let at_ms = self.meta().at_ms;
        let mut link = Link {
            transcript: &self.transcript,
            requests: &mut self.requests,
            due: self.now.saturating_add(self.limits.control_timeout),
            at_ms,
            signals: &mut self.signals,
        };
        act(&mut *self.protocol, &mut link)
    }

    pub(super) fn carry_out_signals(&mut self) {
        if self.signals.is_empty() {
            return;
        }
        // The list gives its memory back: most lines signal nothing, and a session that rests holds none.
        for signal in mem::take(&mut self.signals) {
            self.carry_out(signal);
        }
    }

    fn carry_out(&mut self, signal: Signal) {
        match signal {
            Signal::Write { line, purpose } => self.write(line, purpose),
            Signal::ReplyToAgent { request_id, line } => self.reply_to_agent(&request_id, line),
            Signal::AgentAnswered { request_id } => self.agent_answered(&request_id),
            Signal::Reply { ticket, reply } => self.reply(ticket, reply),
            Signal::Ready => self.handshake = Some(Ok(())),
            Signal::StartFailed(error) => self.handshake = Some(Err(error)),
            Signal::Response { id, outcome } => self.response(&id, outcome),
            Signal::TurnBegan => self.receipts.turn_begins(),
            Signal::Version(version) => self.report_older_agent(version),
            Signal::PromptReported { uuid, state } => {
                let update = self.receipts.report(uuid.as_deref(), state);
                self.receipt_updates(update);
            }
            Signal::PromptAdvanced { uuid, state } => {
                let update = self.receipts.advance(&uuid, state);
                self.receipt_updates(update);
            }
            Signal::PromptSeen { uuid, text } => self.prompt_seen(&uuid, &text),
            Signal::AnswerSeen { id, decision } => self.answer_seen(&id, &decision),
            Signal::PromptEchoed(uuid) => self.prompt_echoed(&uuid),
            Signal::TurnEnded(prompts) => {
                let updates = self.receipts.turn_ended(&prompts);
                self.receipt_updates(updates);
                self.turn_ended();
                if self.protocol.folds_input() {
                    self.emit_turn_end();
                }
            }
            Signal::PermissionAsked(record) => self.open_permission(*record),
            Signal::PermissionClosed { id, state } => self.close_permission(&id, state),
            Signal::EndAnswered => self.close_input_at = None,
            Signal::CloseInput => {
                self.close_input_at = None;
                self.outputs.push_back(Output::CloseInput);
            }
            Signal::ProbeUnavailable => self.watchdog.probe_answered(),
            Signal::Silent(reason) => self.host(HostEvent::SessionTimeout { reason: &reason }),
        }
    }

    /// Handles a response of the agent.
    fn response(&mut self, id: &str, outcome: Result<String, Refusal>) {
        let Some(request) = self.requests.complete(id, outcome) else {
            // The agent repeats the answers of the hosts.
            return self.answer_echoed(id);
        };
        // An error response is a sign of life, too.
        if request.is_probe {
            self.watchdog.probe_answered();
        } else {
            self.watchdog.activity(ActivitySource::Event, self.now);
        }
        self.request_completed(request);
    }

    pub(super) fn request_completed(&mut self, request: CompletedRequest) {
        self.speak(|protocol, link| protocol.completed(&request, link));
        if let Some(ticket) = request.ticket {
            self.reply(ticket, request.reply);
        }
    }

    /// Reports once what the agent's version lacks.
    fn report_older_agent(&mut self, version: Option<AgentVersion>) {
        if !mem::replace(&mut self.is_version_known, true) {
            let agent = version.map(AgentCapabilities::of);
            if let Some(agent) = agent.filter(|it| it.missing().next().is_some()) {
                self.emit(DialogueEventKind::OlderAgent(agent));
            }
        }
    }
}
