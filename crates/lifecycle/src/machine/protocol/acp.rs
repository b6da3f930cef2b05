//! The Agent Client Protocol, version 1 (`crates/jsonl/PROTOCOL-acp.md`).
//!
//! A prompt that is sent during a turn waits at the host: agents treat a second `session/prompt` in
//! different ways, and one of them cancels the first turn.

mod hidden_permission;
mod opening;
mod request;
mod settings;

use bowline_jsonl::acp::write;
use bowline_jsonl::acp::{AgentMessage, SessionUpdate, Update};
use bowline_jsonl::rpc::{Id, Message, RpcError, Wire};
use bowline_jsonl::{Event, HostRequest, Prompt, PromptPart, RawJson, Source, Str};
use bowline_reducer::Transcript;

use super::asked::{Asked, outcome};
use super::opening::{Opening, Stage};
use super::{Link, Protocol, Signal};
use crate::agent::{Capabilities, Capability};
use crate::error::DialogueError;
use crate::machine::input::{LinePurpose, Ticket};
use crate::machine::receipts::{ReceiptState, TurnPrompts};
use crate::machine::requests::CompletedRequest;
use crate::permission::{EncodedAnswer, PermissionAnswer, PermissionRecord, RequestState};
use crate::watchdog::SilenceCause;
use opening::AgentMethods;
use request::Asking;
use settings::Settings;

/// The protocol.
#[derive(Debug, Default)]
pub(in crate::machine) struct Acp {
    opening: Opening,
    stage: Stage,
    methods: AgentMethods,
    session: Option<String>,
    prompt: Option<OpenPrompt>,
    asked: Asked<Asking>,
    settings: Settings,
    /// Whether the agent declares sub-agents' sessions.
    has_subagents: bool,
}

/// The prompt whose turn is open.
#[derive(Debug)]
struct OpenPrompt {
    uuid: String,
    has_started: bool,
    is_cancelled: bool,
}

impl Acp {
    pub(in crate::machine) fn new(opening: Opening) -> Self {
        Self {
            opening,
            ..Self::default()
        }
    }

    fn update(&mut self, update: &SessionUpdate<'_>, link: &mut Link<'_>) {
        if self.opening.is_resumed && self.stage == Stage::Opening {
            self.opened(update.session_id, link);
        }
        match update.update() {
            Update::ConfigOptions(options) => self.settings.replace(options),
            Update::Subagent(_) => self.has_subagents = true,
            _ => {}
        }
        let Some(prompt) = self.prompt.as_mut().filter(|it| !it.has_started) else {
            return;
        };
        prompt.has_started = true;
        let uuid = prompt.uuid.clone();
        let state = ReceiptState::Started;
        link.signal(Signal::TurnBegan);
        link.signal(Signal::PromptAdvanced { uuid, state });
    }

    fn response(
        &mut self,
        id: Option<Id<'_>>,
        result: Result<RawJson<'_>, RpcError<'_>>,
        link: &mut Link<'_>,
    ) {
        let id = id.and_then(Id::as_str).map(Str::decode);
        let is_prompt = |it: &mut OpenPrompt| id.as_deref() == Some(&*it.uuid);
        if let Some(prompt) = self.prompt.take_if(is_prompt) {
            return self.turn_ended(Some(prompt.uuid), link);
        }
        if self.opening.is_resumed {
            self.overhear(&result, link);
        }
        if let Some(id) = id {
            link.signal(Signal::Response {
                id: id.into_owned(),
                outcome: outcome(result),
            });
        }
    }

    /// The turn is over, and with it the requests of the agent.
    fn turn_ended(&mut self, prompt: Option<String>, link: &mut Link<'_>) {
        for id in self.asked.take().into_keys() {
            let state = RequestState::Expired;
            link.signal(Signal::PermissionClosed { id, state });
        }
        link.signal(Signal::TurnEnded(TurnPrompts {
            named: prompt.iter().cloned().collect(),
            last: prompt,
            is_of_host: false,
        }));
    }

    /// Cancels the turn. Open requests of the agent are answered as cancelled first.
    fn cancel(&mut self, link: &mut Link<'_>) {
        for (id, asked) in self.asked.take() {
            link.write(asked.encode(request::cancelled));
            let state = RequestState::Expired;
            link.signal(Signal::PermissionClosed { id, state });
        }
        if let (Some(prompt), Some(session)) = (&mut self.prompt, &self.session) {
            prompt.is_cancelled = true;
            link.write(write::cancel(session));
        }
    }

    fn unsupported(&self, what: &str) -> DialogueError {
        DialogueError::Unsupported {
            what: what.to_owned(),
            dialect: "acp",
        }
    }
}

impl Protocol for Acp {
    fn folds_input(&self) -> bool {
        true
    }

    fn begin(&mut self, link: &mut Link<'_>) {
        self.initialize(link);
    }

    fn replayed(&mut self, link: &mut Link<'_>) {
        if self.session.is_none() {
            self.initialize(link);
        }
    }

    fn line(&mut self, event: &Event<'_>, link: &mut Link<'_>) {
        let Some(message) = Message::parse(event.raw) else {
            return;
        };
        match AgentMessage::of(message) {
            AgentMessage::Update(update) => self.update(&update, link),
            AgentMessage::Permission(id, _) => self.ask(id, Asking::Permission, link),
            AgentMessage::Elicitation(id, elicitation) => {
                self.ask(id, Asking::of(&elicitation), link);
            }
            AgentMessage::Cancel(Some(id)) => self.asked.withdraw(id, link),
            AgentMessage::Other(Message::Response { id, result }) => {
                self.response(id, result, link);
            }
            AgentMessage::Other(Message::Request { id, method, .. }) => {
                link.signal(Signal::ReplyToAgent {
                    request_id: id.text().to_owned(),
                    line: write::method_not_found(id, &method.decode()),
                });
            }
            _ => {}
        }
    }

    fn host_line(&mut self, line: RawJson<'_>, link: &mut Link<'_>) {
        match Message::parse(line) {
            Some(Message::Response { id: Some(id), .. }) => self.asked.answered(id, link),
            Some(Message::Request { id, method, .. }) if method == "session/prompt" => {
                let Some(uuid) = id.as_str().map(|id| id.decode().into_owned()) else {
                    return;
                };
                link.signal(Signal::PromptAdvanced {
                    uuid: uuid.clone(),
                    state: ReceiptState::Written,
                });
                // A prompt of this host is open already.
                self.prompt.get_or_insert(OpenPrompt {
                    uuid,
                    has_started: false,
                    is_cancelled: false,
                });
            }
            Some(Message::Notification { method, .. }) if method == "session/cancel" => {
                if let Some(prompt) = &mut self.prompt {
                    prompt.is_cancelled = true;
                }
            }
            _ => {}
        }
    }

    fn completed(&mut self, request: &CompletedRequest, link: &mut Link<'_>) {
        self.handshake(request, link);
    }

    fn accepts_prompt(&self, transcript: &Transcript) -> bool {
        self.stage == Stage::Ready && self.prompt.is_none() && !transcript.has_open_turn()
    }

    fn check_prompt(&self, prompt: &Prompt) -> Result<(), DialogueError> {
        let is_image = |part: &PromptPart| matches!(part, PromptPart::Image(Source::Base64 { .. }));
        if self.stage == Stage::Ready
            && !self.methods.takes_images
            && prompt.parts.iter().any(is_image)
        {
            return Err(self.unsupported("images"));
        }
        Ok(())
    }

    fn prompt(&mut self, prompt: &Prompt, link: &mut Link<'_>) {
        let uuid = prompt.uuid.clone().unwrap_or_default();
        let session = self.session.as_deref().unwrap_or_default();
        let line = write::prompt(&uuid, session, &prompt.parts);
        let purpose = LinePurpose::Prompt(uuid.clone());
        self.prompt = Some(OpenPrompt {
            uuid,
            has_started: false,
            is_cancelled: false,
        });
        link.signal(Signal::Write { line, purpose });
    }

    fn prompt_lost(&mut self, uuid: &str) {
        self.prompt.take_if(|it| it.uuid == uuid);
    }

    fn request(
        &mut self,
        request: &HostRequest,
        ticket: Ticket,
        link: &mut Link<'_>,
    ) -> Result<(), DialogueError> {
        match request {
            HostRequest::Interrupt { .. } => {
                self.cancel(link);
                link.done(ticket);
            }
            HostRequest::SetModel { model: Some(model) } => {
                return self.set_option("model", model, ticket, link);
            }
            HostRequest::SetPermissionMode { mode } => {
                return self.set_option("mode", mode, ticket, link);
            }
            // A sub-agent's session is cancelled alone.
            HostRequest::StopTask { task_id } if self.has_subagents => {
                link.write(write::cancel(task_id));
                link.done(ticket);
            }
            HostRequest::Other { subtype, fields } => {
                let params = serde_json::Value::Object(fields.clone()).to_string();
                link.request(subtype, Some(ticket), |id| {
                    Wire::Standard.request(id, subtype, &params)
                });
            }
            other => return Err(self.unsupported(other.subtype())),
        }
        Ok(())
    }

    fn set_option(
        &mut self,
        option: &str,
        value: &str,
        ticket: Ticket,
        link: &mut Link<'_>,
    ) -> Result<(), DialogueError> {
        let session = self.session.as_deref().unwrap_or_default();
        let Some((method, encode)) = self.settings.change(session, option, value) else {
            return Err(self.unsupported(&format!("the option {option} with the value {value}")));
        };
        link.request(method, Some(ticket), encode);
        Ok(())
    }

    fn answer(
        &mut self,
        record: &PermissionRecord,
        answer: &PermissionAnswer,
    ) -> Result<EncodedAnswer, DialogueError> {
        self.asked.answer(record, answer)
    }

    fn end(&mut self, link: &mut Link<'_>) {
        link.signal(Signal::CloseInput);
    }

    fn probe(&mut self, link: &mut Link<'_>) {
        if self.methods.list {
            link.probe("session/list", |id| write::list_sessions(id, None, None));
        } else {
            // Version 1 has no request that every agent answers without an effect.
            link.signal(Signal::ProbeUnavailable);
        }
    }

    fn silence_cause(&self, transcript: &Transcript) -> Option<SilenceCause> {
        let hides = self.methods.hides_permissions;
        hides
            .then(|| hidden_permission::cause(transcript))
            .flatten()
    }

    fn capabilities(&self) -> Capabilities {
        use Capability::{
            Effort, Fork, Images, Interrupt, Models, Modes, Questions, Queue, Resume, Subagents,
        };
        let optional = [
            (Resume, self.methods.load || self.methods.resume),
            (Fork, self.methods.fork),
            (Images, self.methods.takes_images),
            (Modes, self.settings.has("mode")),
            (Models, self.settings.has("model")),
            (Effort, self.settings.has("thought_level")),
            (Subagents, self.has_subagents),
        ];
        let optional = optional.into_iter().filter(|(_, has)| *has);
        Capabilities::new(
            [Queue, Interrupt, Questions]
                .into_iter()
                .chain(optional.map(|(it, _)| it)),
        )
    }
}
