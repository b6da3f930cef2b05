//! The session as a machine: inputs in, outputs out, no clock, no task, no socket.
//!
//! One input changes the state once; then the outputs are drained until there are none. Time comes
//! with the input, as the time since the session began. Whoever drives the machine owns every
//! effect: it writes the lines, waits for the deadline and ends the process.

mod ending;
mod input;
mod permissions;
mod prompts;
mod receipts;
mod replay;
mod requests;
mod tell;
mod watch;

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use bowline_jsonl::{
    Body, ControlRequest, Decision, Event, Framer, HostRequest, RequestBody, Str, SystemBody,
    control_error, control_request, hook_output,
};
use bowline_reducer::{HostDecision, HostEvent, Meta, Transcript};
use bytes::Bytes;

pub(crate) use input::{Carried, Command, Ending, Input, Limits, Output, Reply, Ticket};
pub use receipts::ReceiptState;

use self::permissions::{Given, Permissions};
use self::prompts::Held;
use self::receipts::Receipts;
use self::replay::Replay;
use self::requests::{Answered, Requests};
use self::tell::Lines;
use crate::error::DialogueError;
use crate::events::DialogueEventKind;
use crate::permission::{PermissionAnswer, RequestState};
use crate::stderr::HeadTail;
use crate::watchdog::{ActivitySource, Guard};

/// One dialogue session.
#[derive(Debug)]
pub(crate) struct Machine {
    limits: Limits,
    framer: Framer,
    transcript: Transcript,
    receipts: Receipts,
    requests: Requests,
    permissions: Permissions,
    held: Held,
    guard: Guard,
    /// Whether the agent's machine cannot be reached just now.
    is_cut_off: bool,
    /// Since when it is tried to reach it.
    cut_since: Option<Duration>,
    /// What the agent said before this host came, while it is heard.
    replay: Option<Replay>,
    /// Why the watchdog has ended the agent, if it has.
    killed: Option<String>,
    stderr: HeadTail,
    /// The line of standard error that has begun.
    stderr_line: Lines,
    /// Whether anybody wants to know what happens.
    is_heard: bool,
    /// How the session is to end; none while it is to go on.
    ending: Option<Ending>,
    /// When an agent that was asked to end is terminated.
    end_by: Option<Duration>,
    /// When an agent that closed its output is terminated, unless it exits before.
    exit_by: Option<Duration>,
    output_is_closed: bool,
    ended: bool,
    /// Whether the end was asked for and nothing was left open by it.
    is_expected: bool,
    end_reason: String,
    outputs: VecDeque<Output>,
    now: Duration,
    /// Wall clock at the beginning, in milliseconds since 1970; only to stamp the transcript.
    epoch_ms: u64,
}

impl Machine {
    pub(crate) fn new(limits: Limits, epoch_ms: u64) -> Self {
        let mut machine = Self {
            framer: Framer::new(limits.max_line),
            transcript: limits
                .window
                .map_or_else(Transcript::new, Transcript::with_window),
            receipts: Receipts::default(),
            requests: Requests::default(),
            permissions: Permissions::default(),
            held: Held::default(),
            guard: Guard::new(limits.watchdog),
            is_cut_off: false,
            cut_since: None,
            replay: None,
            killed: None,
            stderr_line: Lines::default(),
            is_heard: false,
            stderr: HeadTail::new(limits.stderr_bytes),
            ending: None,
            end_by: None,
            exit_by: None,
            output_is_closed: false,
            ended: false,
            is_expected: false,
            end_reason: String::new(),
            outputs: VecDeque::new(),
            now: Duration::ZERO,
            epoch_ms,
            limits,
        };
        if machine.limits.initialize {
            machine.request(HostRequest::Initialize(serde_json::Map::new()), None);
        }
        machine.watch();
        machine
    }

    /// Whether [`Output::Told`] is wanted from now on: without it nothing is made for nobody.
    pub(crate) const fn set_heard(&mut self, is_heard: bool) {
        self.is_heard = is_heard;
    }

    /// Takes one input. The outputs that follow from it are to be drained before the next.
    pub(crate) fn handle_input(&mut self, input: Input, now: Duration) {
        self.now = now;
        match input {
            Input::Output(bytes) => self.output(bytes),
            Input::OutputGap { from, to } => self.gap(from, to),
            Input::OutputEnded => self.output_ended(),
            Input::Errors(bytes) => self.errors(&bytes),
            Input::ErrorsGap(bytes) => self.stderr.skip(bytes),
            Input::Written(uuid) => self.receipt(&uuid, ReceiptState::Written),
            Input::WriteFailed { line, carried } => self.unwritten(line, &carried),
            Input::Exited(exit) => self.exited(&exit),
            Input::Vitals(vitals) => self.vitals(vitals),
            Input::Connection(state) => self.connection(state),
            Input::Command(command, ticket) => self.command(command, ticket),
            Input::Timeout => self.timeout(),
        }
        self.settle();
        self.watch();
    }

    /// The next effect that is owed.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Input::Timeout`] is due.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        let ends = if self.ended {
            [None; 4]
        } else {
            let asked = self.permission_deadline();
            [self.end_by, self.exit_by, self.guard.deadline(), asked]
        };
        ends.into_iter()
            .chain([self
                .requests
                .deadline()
                .filter(|_| self.cut_since.is_none())])
            .flatten()
            .min()
    }

    pub(crate) fn transcript(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    /// Whether the end was asked for, and the end in words.
    pub(crate) fn ending(&self) -> (bool, String) {
        (self.is_expected, self.end_reason.clone())
    }

    pub(crate) fn stderr(&self) -> crate::stderr::StderrReport {
        self.stderr.report()
    }

    fn meta(&self) -> Meta {
        Meta {
            at_ms: self.epoch_ms + u64::try_from(self.now.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn host(&mut self, event: HostEvent<'_>) {
        let meta = self.meta();
        self.transcript.apply_host(event, meta);
    }
}

/// What the host wants.
impl Machine {
    fn command(&mut self, command: Command, ticket: Ticket) {
        if self.ended {
            return match command {
                Command::End | Command::Terminate => self.reply(ticket, Ok(Reply::Done)),
                _ => self.reply(ticket, Err(DialogueError::Ended)),
            };
        }
        match command {
            Command::Send(prompt) => {
                let reply = self.send(prompt).map(|()| Reply::Done);
                self.reply(ticket, reply);
            }
            Command::Answer {
                request_id,
                answer,
                by,
            } => {
                let answered = self.answer(&request_id, answer, by.as_deref());
                self.reply(ticket, answered.map(|()| Reply::Done));
            }
            Command::Request(request) => {
                if matches!(request, HostRequest::Interrupt { .. }) {
                    self.host(HostEvent::InterruptRequested);
                }
                self.request(request, Some(ticket));
            }
            Command::Pause => self.pause(ticket),
            Command::Unpause => {
                self.unpause();
                self.reply(ticket, Ok(Reply::Done));
            }
            Command::CancelHeld => {
                let steps = self.held.cancel(&mut self.receipts);
                let names = steps
                    .iter()
                    .map(|(uuid, _)| uuid.clone())
                    .collect::<Vec<_>>();
                self.steps(steps);
                self.reply(
                    ticket,
                    Ok(Reply::Answer(serde_json::Value::from(names).to_string())),
                );
            }
            Command::End => {
                // What was kept back belongs to the work that is to be done before the end.
                self.unpause();
                self.end_when_idle();
                self.reply(ticket, Ok(Reply::Done));
            }
            Command::Terminate => {
                self.terminate();
                self.reply(ticket, Ok(Reply::Done));
            }
        }
    }

    fn answer(
        &mut self,
        request_id: &str,
        answer: PermissionAnswer,
        by: Option<&str>,
    ) -> Result<(), DialogueError> {
        let taken = match self.permissions.answer(request_id, answer, by)? {
            Given::First(taken) => taken,
            Given::Unwritten(line) => {
                self.guard.heard(ActivitySource::Host, self.now);
                self.write(line, Carried::Answer(request_id.to_owned()));
                return Ok(());
            }
            Given::Known => return Ok(()),
        };
        let decision = match &taken.decision {
            Decision::Allow { updated_input, .. } => HostDecision::Allow {
                updated_input: updated_input.as_deref(),
            },
            Decision::Deny { .. } => HostDecision::Deny,
        };
        self.host(HostEvent::PermissionAnswered {
            request_id,
            decision,
        });
        self.guard.heard(ActivitySource::Host, self.now);
        self.write(taken.line, Carried::Answer(request_id.to_owned()));
        self.closed_permission(taken.record);
        Ok(())
    }

    fn request(&mut self, request: HostRequest, ticket: Option<Ticket>) {
        let due = self.now.saturating_add(self.limits.control_timeout);
        let id = self.requests.open(request.subtype(), ticket, due);
        self.write(control_request(&id, &request), Carried::Other);
    }

    fn end_when_idle(&mut self) {
        if self.ending.is_none() {
            self.ending = Some(Ending::WhenIdle);
            self.end_by = Some(self.now.saturating_add(self.limits.end_grace));
        }
    }

    fn terminate(&mut self) {
        if self.ending != Some(Ending::Terminated) {
            self.ending = Some(Ending::Terminated);
            self.end_by = None;
            self.outputs.push_back(Output::Terminate);
        }
    }

    fn write(&mut self, line: impl Into<Bytes>, carried: Carried) {
        self.outputs.push_back(Output::Write {
            line: line.into(),
            carried,
        });
    }

    fn reply(&mut self, ticket: Ticket, reply: Result<Reply, DialogueError>) {
        self.outputs.push_back(Output::Reply { ticket, reply });
    }
}

/// What the agent says.
impl Machine {
    fn output(&mut self, bytes: Bytes) {
        let length = bytes.len() as u64;
        self.framer.push(bytes);
        self.frames();
        self.heard_up_to(|offset| offset + length);
    }

    fn gap(&mut self, from: u64, to: u64) {
        self.framer.skip_to(to);
        self.frames();
        self.host(HostEvent::Gap { from, to });
        self.tell(DialogueEventKind::Gap { from, to });
        self.heard_up_to(|_| to);
    }

    fn frames(&mut self) {
        // The framer lends its lines, so it is out of the machine while they are acted upon.
        let mut framer = mem::take(&mut self.framer);
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                let meta = self.meta();
                self.transcript.apply(&item, meta);
                if let Ok(event) = &item.event {
                    self.event(event);
                }
                if self.is_heard {
                    self.tell_item(&item);
                }
            }
        }
        self.framer = framer;
    }

    fn event(&mut self, event: &Event<'_>) {
        // An answer to the watchdog's own question is for the watchdog alone to judge.
        if !matches!(event.body, Body::ControlResponse(_)) {
            self.guard.heard(ActivitySource::Event, self.now);
        }
        match &event.body {
            Body::CommandLifecycle(line) => {
                let step = self.receipts.lifecycle(line);
                self.steps(step);
            }
            Body::System(line) if matches!(line.body, SystemBody::Init(_)) => {
                self.receipts.turn_begins();
            }
            Body::User(line) if line.is_replay => {
                if let Some(uuid) = event.uuid {
                    self.echoed(&uuid.decode());
                }
            }
            Body::Result(line) => {
                let steps = self.receipts.result(line);
                self.steps(steps);
                self.turn_ended();
            }
            Body::ControlRequest(line) => self.asked(line),
            Body::ControlCancelRequest {
                request_id: Some(id),
            } => {
                self.close_permission(&id.decode(), RequestState::Withdrawn);
            }
            Body::ControlResponse(line) => {
                if let Some(answered) = self.requests.answer(&line.response) {
                    self.heard_answer(answered);
                } else if let Some(id) = line.response.request_id {
                    self.heard_echo(&id.decode());
                }
            }
            _ => {}
        }
    }

    /// The agent asks the host. A question that is left open would hold the agent up for ever, so
    /// what this host cannot do is refused at once.
    fn asked(&mut self, line: &ControlRequest<'_>) {
        let Some(id) = line.request_id.map(Str::decode) else {
            return;
        };
        match line.body() {
            RequestBody::CanUseTool(ask) => self.open_permission(&id, &ask),
            RequestBody::HookCallback(_) => self.answer_agent(&id, hook_output(&id, "{}")),
            RequestBody::McpMessage(message) => {
                let server = message.server_name.unwrap_or_default();
                let error = format!("no MCP server {server} in this host");
                self.answer_agent(&id, control_error(&id, &error));
            }
            // A dialog of a kind that was never declared is not to be answered.
            RequestBody::Other { subtype } if subtype == "request_user_dialog" => {}
            RequestBody::Other { subtype } => {
                let error = format!("unsupported_request: this host does not serve {subtype}");
                self.answer_agent(&id, control_error(&id, &error));
            }
        }
    }

    fn heard_answer(&mut self, answered: Answered) {
        // A refusal is a sign of life, too.
        if answered.name == watch::PROBE && answered.ticket.is_none() {
            self.guard.answered();
        } else {
            self.guard.heard(ActivitySource::Event, self.now);
        }
        self.answered(answered);
    }

    fn answered(&mut self, answered: Answered) {
        if answered.name == HostRequest::EndSession.subtype() && answered.reply.is_err() {
            // An agent that does not know the request ends with its input.
            self.outputs.push_back(Output::CloseInput);
        }
        if let Some(ticket) = answered.ticket {
            self.reply(ticket, answered.reply);
        }
    }

    fn echoed(&mut self, uuid: &str) {
        let step = self.receipts.echo(uuid);
        if step
            .as_ref()
            .is_some_and(|(_, state)| *state == ReceiptState::Duplicate)
        {
            self.host(HostEvent::PromptDropped { uuid });
        }
        self.steps(step);
    }

    fn receipt(&mut self, uuid: &str, state: ReceiptState) {
        let step = self.receipts.advance(uuid, state);
        self.steps(step);
    }

    /// A line could not be written whole. It may have arrived, and the session may live on.
    fn unwritten(&mut self, line: Bytes, carried: &Carried) {
        match carried {
            Carried::Prompt(uuid) => self.unwritten_prompt(uuid),
            Carried::Answer(request_id) => self.permissions.unwritten(request_id, line),
            Carried::Other => {}
        }
    }

    /// Nobody waits for the prompt any more. If it did arrive, the agent's own signs open its turn
    /// again.
    fn unwritten_prompt(&mut self, uuid: &str) {
        if let Some(step) = self.receipts.advance(uuid, ReceiptState::Unknown) {
            self.host(HostEvent::PromptDropped { uuid });
            self.steps([step]);
        }
    }

    fn steps(&mut self, steps: impl IntoIterator<Item = receipts::Step>) {
        for (uuid, state) in steps {
            self.outputs.push_back(Output::Receipt {
                uuid: uuid.clone(),
                state,
            });
            self.tell(DialogueEventKind::Receipt { uuid, state });
        }
    }
}

#[cfg(test)]
mod tests;
