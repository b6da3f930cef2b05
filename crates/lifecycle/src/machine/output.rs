//! The agent's output: framed, folded into the transcript, and acted upon.

use std::mem;

use bowline_jsonl::{
    Body, ControlRequest, Event, RequestBody, Str, SystemBody, control_error, hook_output,
};
use bowline_reducer::HostEvent;
use bytes::Bytes;

use super::requests::CompletedRequest;
use super::watchdog::LIVENESS_PROBE;
use super::{Machine, Output};
use crate::agent::{AgentCapabilities, AgentVersion, UnknownOption};
use crate::events::DialogueEventKind;
use crate::permission::RequestState;
use crate::watchdog::ActivitySource;

impl Machine {
    pub(super) fn output(&mut self, bytes: Bytes) {
        let length = bytes.len() as u64;
        self.framer.push(bytes);
        self.fold_frames();
        self.advance_replay(|offset| offset + length);
    }

    pub(super) fn gap(&mut self, from: u64, to: u64) {
        self.framer.skip_to(to);
        self.fold_frames();
        self.host(HostEvent::Gap { from, to });
        self.emit(DialogueEventKind::Gap { from, to });
        self.advance_replay(|_| to);
    }

    pub(super) fn fold_frames(&mut self) {
        // Lines borrow the framer, so it is moved out while they are handled.
        let mut framer = mem::take(&mut self.framer);
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                let meta = self.meta();
                self.transcript.apply(&item, meta);
                match &item.event {
                    Ok(event) => {
                        self.has_event = true;
                        self.event(event);
                    }
                    // On a terminal, standard error is part of the output.
                    Err(_) if !self.has_event && self.unknown_option.is_none() => {
                        let text = String::from_utf8_lossy(item.raw);
                        self.unknown_option = UnknownOption::find(&text);
                    }
                    Err(_) => {}
                }
                if self.emits_events {
                    self.emit_line(&item);
                }
            }
        }
        self.framer = framer;
    }

    fn event(&mut self, event: &Event<'_>) {
        // Whether a response to the watchdog's own probe counts is up to the watchdog.
        if !matches!(event.body, Body::ControlResponse(_)) {
            self.watchdog.activity(ActivitySource::Event, self.now);
        }
        match &event.body {
            Body::CommandLifecycle(line) => {
                let update = self.receipts.lifecycle(line);
                self.receipt_updates(update);
            }
            Body::System(line) => {
                if let SystemBody::Init(init) = &line.body {
                    self.receipts.turn_begins();
                    self.report_older_agent(init.claude_code_version);
                }
            }
            Body::User(line) if line.is_replay => {
                if let Some(uuid) = event.uuid {
                    self.prompt_echoed(&uuid.decode());
                }
            }
            Body::Result(line) => {
                let updates = self.receipts.result(line);
                self.receipt_updates(updates);
                self.turn_ended();
            }
            Body::ControlRequest(line) => self.agent_request(line),
            Body::ControlCancelRequest {
                request_id: Some(id),
            } => {
                self.close_permission(&id.decode(), RequestState::Withdrawn);
            }
            Body::ControlResponse(line) => {
                if let Some(request) = self.requests.complete(&line.response) {
                    self.response_received(request);
                } else if let Some(id) = line.response.request_id {
                    self.answer_echoed(&id.decode());
                }
            }
            _ => {}
        }
    }

    /// Reports once what the agent's version lacks.
    fn report_older_agent(&mut self, version: Option<Str<'_>>) {
        if !mem::replace(&mut self.is_version_known, true) {
            let version = version.map(Str::decode);
            let version = version.and_then(|it| AgentVersion::parse(&it));
            let agent = version.map(AgentCapabilities::of);
            if let Some(agent) = agent.filter(|it| it.missing().next().is_some()) {
                self.emit(DialogueEventKind::OlderAgent(agent));
            }
        }
    }

    /// Handles a control request of the agent. The agent waits for each response without a limit, so
    /// a request that this host does not support is refused at once.
    fn agent_request(&mut self, line: &ControlRequest<'_>) {
        let Some(id) = line.request_id.map(Str::decode) else {
            return;
        };
        match line.body() {
            RequestBody::CanUseTool(ask) => self.open_permission(&id, &ask),
            RequestBody::HookCallback(_) => self.reply_to_agent(&id, hook_output(&id, "{}")),
            RequestBody::McpMessage(message) => {
                let server = message.server_name.unwrap_or_default();
                let error = format!("no MCP server {server} in this host");
                self.reply_to_agent(&id, control_error(&id, &error));
            }
            // The protocol leaves dialogs of undeclared kinds without a response.
            RequestBody::Other { subtype } if subtype == "request_user_dialog" => {}
            _ => {
                let subtype = line.subtype();
                let error = format!("unsupported_request: this host does not serve {subtype}");
                self.reply_to_agent(&id, control_error(&id, &error));
            }
        }
    }

    fn response_received(&mut self, request: CompletedRequest) {
        // An error response is a sign of life, too.
        if request.name == LIVENESS_PROBE && request.ticket.is_none() {
            self.watchdog.probe_answered();
        } else {
            self.watchdog.activity(ActivitySource::Event, self.now);
        }
        self.request_completed(request);
    }

    pub(super) fn request_completed(&mut self, request: CompletedRequest) {
        let is_end = request.name == bowline_jsonl::HostRequest::EndSession.subtype();
        if is_end {
            self.close_input_at = None;
        }
        if is_end && request.reply.is_err() {
            // An agent that does not know the request exits at the end of its input.
            self.outputs.push_back(Output::CloseInput);
        }
        if let Some(ticket) = request.ticket {
            self.reply(ticket, request.reply);
        }
    }
}
