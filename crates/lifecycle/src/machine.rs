//! The session as a machine: inputs in, outputs out, no clock, no task, no socket.
//!
//! One input changes the state once; then the outputs are drained until there are none. Time comes
//! with the input, as the time since the session began. Whoever drives the machine owns every
//! effect: it writes the lines, waits for the deadline and ends the process.

mod ending;
mod input;
mod permissions;
mod receipts;
mod requests;

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use bowline_jsonl::{
    Body, ControlRequest, Decision, Event, Framer, HostRequest, Prompt, PromptPart, RequestBody,
    Str, control_error, control_request, hook_output,
};
use bowline_reducer::{HostDecision, HostEvent, Meta, Transcript};
use bytes::Bytes;

pub(crate) use input::{Command, Ending, Input, Limits, Output, Reply, Ticket};
pub use receipts::ReceiptState;

use self::permissions::Permissions;
use self::receipts::Receipts;
use self::requests::{Answered, Requests};
use crate::error::DialogueError;
use crate::stderr::HeadTail;

/// One dialogue session.
#[derive(Debug)]
pub(crate) struct Machine {
    limits: Limits,
    framer: Framer,
    transcript: Transcript,
    receipts: Receipts,
    requests: Requests,
    permissions: Permissions,
    stderr: HeadTail,
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
        machine
    }

    /// Takes one input. The outputs that follow from it are to be drained before the next.
    pub(crate) fn handle_input(&mut self, input: Input, now: Duration) {
        self.now = now;
        match input {
            Input::Output(bytes) => self.output(bytes),
            Input::OutputGap { from, to } => self.gap(from, to),
            Input::OutputEnded => self.output_ended(),
            Input::Errors(bytes) => self.stderr.write(&bytes),
            Input::ErrorsGap(bytes) => self.stderr.skip(bytes),
            Input::Written(uuid) => self.receipt(&uuid, ReceiptState::Written),
            Input::WriteFailed => {}
            Input::Exited(exit) => self.exited(&exit),
            Input::Command(command, ticket) => self.command(command, ticket),
            Input::Timeout => self.timeout(),
        }
        self.settle();
    }

    /// The next effect that is owed.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Input::Timeout`] is due.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        let ends = if self.ended {
            [None; 2]
        } else {
            [self.end_by, self.exit_by]
        };
        ends.into_iter()
            .chain([self.requests.deadline()])
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
                let reply = self.send(&prompt).map(|()| Reply::Done);
                self.reply(ticket, reply);
            }
            Command::Answer {
                request_id,
                decision,
            } => {
                let reply = self.answer(&request_id, &decision).map(|()| Reply::Done);
                self.reply(ticket, reply);
            }
            Command::Request(request) => {
                if matches!(request, HostRequest::Interrupt { .. }) {
                    self.host(HostEvent::InterruptRequested);
                }
                self.request(request, Some(ticket));
            }
            Command::End => {
                self.end_when_idle();
                self.reply(ticket, Ok(Reply::Done));
            }
            Command::Terminate => {
                self.terminate();
                self.reply(ticket, Ok(Reply::Done));
            }
        }
    }

    fn send(&mut self, prompt: &Prompt) -> Result<(), DialogueError> {
        if matches!(self.ending, Some(Ending::Asked | Ending::Terminated)) {
            return Err(DialogueError::Ended);
        }
        if prompt.parts.is_empty() {
            return Err(DialogueError::EmptyPrompt);
        }
        let uuid = prompt.uuid.as_deref().unwrap_or_default();
        if self.receipts.contains(uuid) {
            return Err(DialogueError::DuplicateUuid {
                uuid: uuid.to_owned(),
            });
        }
        self.receipts.accept(uuid);
        self.outputs.push_back(Output::Receipt {
            uuid: uuid.to_owned(),
            state: ReceiptState::Accepted,
        });
        let texts: Vec<_> = prompt.parts.iter().filter_map(text_of).collect();
        self.host(HostEvent::PromptSent {
            uuid: Some(uuid),
            text: &texts.join("\n"),
        });
        self.write(prompt.encode(), Some(uuid.to_owned()));
        Ok(())
    }

    fn answer(&mut self, request_id: &str, decision: &Decision) -> Result<(), DialogueError> {
        let line = self.permissions.answer(request_id, decision)?;
        let decision = match decision {
            Decision::Allow { updated_input, .. } => HostDecision::Allow {
                updated_input: updated_input.as_deref(),
            },
            Decision::Deny { .. } => HostDecision::Deny,
        };
        self.host(HostEvent::PermissionAnswered {
            request_id,
            decision,
        });
        self.write(line, None);
        Ok(())
    }

    fn request(&mut self, request: HostRequest, ticket: Option<Ticket>) {
        let due = self.now + self.limits.control_timeout;
        let id = self.requests.open(request.subtype(), ticket, due);
        self.write(control_request(&id, &request), None);
    }

    fn end_when_idle(&mut self) {
        if self.ending.is_none() {
            self.ending = Some(Ending::WhenIdle);
            self.end_by = Some(self.now + self.limits.end_grace);
        }
    }

    fn terminate(&mut self) {
        if self.ending != Some(Ending::Terminated) {
            self.ending = Some(Ending::Terminated);
            self.end_by = None;
            self.outputs.push_back(Output::Terminate);
        }
    }

    fn write(&mut self, line: Vec<u8>, prompt: Option<String>) {
        self.outputs.push_back(Output::Write {
            line: line.into(),
            prompt,
        });
    }

    fn reply(&mut self, ticket: Ticket, reply: Result<Reply, DialogueError>) {
        self.outputs.push_back(Output::Reply { ticket, reply });
    }
}

/// What the agent says.
impl Machine {
    fn output(&mut self, bytes: Bytes) {
        self.framer.push(bytes);
        self.frames();
    }

    fn gap(&mut self, from: u64, to: u64) {
        self.framer.skip_to(to);
        self.frames();
        self.host(HostEvent::Gap { from, to });
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
            }
        }
        self.framer = framer;
    }

    fn event(&mut self, event: &Event<'_>) {
        match &event.body {
            Body::CommandLifecycle(line) => {
                let step = self.receipts.lifecycle(line);
                self.steps(step);
            }
            Body::User(line) if line.is_replay => {
                if let Some(uuid) = event.uuid {
                    self.receipt(&uuid.decode(), ReceiptState::Echoed);
                }
            }
            Body::Result(line) => {
                let steps = self.receipts.result(line);
                self.steps(steps);
            }
            Body::ControlRequest(line) => self.asked(line),
            Body::ControlCancelRequest {
                request_id: Some(id),
            } => {
                self.permissions.withdraw(&id.decode());
            }
            Body::ControlResponse(line) => {
                if let Some(answered) = self.requests.answer(&line.response) {
                    self.answered(answered);
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
            RequestBody::CanUseTool(ask) => self.permissions.open(&id, &ask),
            RequestBody::HookCallback(_) => self.write(hook_output(&id, "{}"), None),
            RequestBody::McpMessage(message) => {
                let server = message.server_name.unwrap_or_default();
                self.write(
                    control_error(&id, &format!("no MCP server {server} in this host")),
                    None,
                );
            }
            // A dialog of a kind that was never declared is not to be answered.
            RequestBody::Other { subtype } if subtype == "request_user_dialog" => {}
            RequestBody::Other { subtype } => {
                let error = format!("unsupported_request: this host does not serve {subtype}");
                self.write(control_error(&id, &error), None);
            }
        }
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

    fn receipt(&mut self, uuid: &str, state: ReceiptState) {
        let step = self.receipts.advance(uuid, state);
        self.steps(step);
    }

    fn steps(&mut self, steps: impl IntoIterator<Item = receipts::Step>) {
        let steps = steps.into_iter();
        self.outputs
            .extend(steps.map(|(uuid, state)| Output::Receipt { uuid, state }));
    }
}

/// What a part of a prompt says in the transcript.
fn text_of(part: &PromptPart) -> Option<&str> {
    match part {
        PromptPart::Text(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
