//! `codex app-server` (`crates/jsonl/PROTOCOL-codex.md`).
//!
//! A prompt is written with `turn/start` at any time: on a thread with a running turn Codex steers that
//! turn, so that no prompt is lost to a turn that ends meanwhile.

mod approval;
mod opening;

use std::collections::BTreeMap;

use bowline_jsonl::codex::write::{self, TurnSettings};
use bowline_jsonl::codex::{ItemLine, ServerMessage, ThreadOpened, Turn, TurnLine};
use bowline_jsonl::rpc::{Id, Message, RpcError, Wire};
use bowline_jsonl::{Event, HostRequest, Prompt, RawJson, Str};
use bowline_reducer::Transcript;

use super::asked::{Asked, outcome};
use super::opening::{Opening, Stage};
use super::{Link, Protocol, Signal};
use crate::agent::{Capabilities, Capability};
use crate::error::DialogueError;
use crate::machine::input::{LinePurpose, Reply, Ticket};
use crate::machine::receipts::{ReceiptState, TurnPrompts};
use crate::machine::requests::CompletedRequest;
use crate::mcp;
use crate::permission::{EncodedAnswer, PermissionAnswer, PermissionRecord};
use approval::Approved;

/// A request without side effects.
const LIVENESS_PROBE: &str = "thread/loaded/list";

/// What Codex accepts as `approvalPolicy`.
const POLICIES: [&str; 3] = ["untrusted", "on-request", "never"];

/// The protocol.
#[derive(Debug, Default)]
pub(in crate::machine) struct Codex {
    opening: Opening,
    /// Members of Codex' configuration for the session's thread, a JSON object.
    config: Option<String>,
    stage: Stage,
    /// The thread of the session.
    thread: Option<String>,
    /// Running turns by thread.
    turns: BTreeMap<String, String>,
    prompts: Vec<SentPrompt>,
    asked: Asked<Approved>,
    /// The request of an interrupt that waits for the id of the turn.
    interrupt: Option<String>,
    /// The last interrupt that was written: its id, and the turn.
    interrupting: Option<(String, String)>,
    /// Settings for the next turn.
    next: NextSettings,
}

#[derive(Debug)]
struct SentPrompt {
    uuid: String,
    turn: Option<String>,
}

#[derive(Debug, Default)]
struct NextSettings {
    model: Option<String>,
    effort: Option<String>,
    policy: Option<String>,
}

impl Codex {
    pub(in crate::machine) fn new(opening: Opening) -> Self {
        let next = NextSettings {
            effort: opening.effort.clone(),
            ..NextSettings::default()
        };
        let servers = &opening.mcp_servers;
        let config = (!servers.is_empty()).then(|| mcp::codex(servers));
        Self {
            opening,
            config,
            next,
            ..Self::default()
        }
    }

    fn is_main(&self, thread: Option<Str<'_>>) -> bool {
        let thread = thread.map(Str::decode);
        self.thread.is_some() && self.thread.as_deref() == thread.as_deref()
    }

    fn main_turn(&self) -> Option<(&str, &str)> {
        let thread = self.thread.as_deref()?;
        Some((thread, self.turns.get(thread)?))
    }

    fn turn_started(&mut self, line: &TurnLine<'_>, link: &mut Link<'_>) {
        let (Some(thread), Some(turn)) = (line.thread_id, line.turn.id) else {
            return;
        };
        let turn = turn.decode().into_owned();
        self.turns
            .insert(thread.decode().into_owned(), turn.clone());
        if self.is_main(line.thread_id) {
            link.signal(Signal::TurnBegan);
            for prompt in self
                .prompts
                .iter()
                .filter(|it| it.turn.as_ref() == Some(&turn))
            {
                link.signal(advanced(&prompt.uuid, ReceiptState::Started));
            }
            self.interrupt_if_due(link);
        }
    }

    fn turn_ended(&mut self, line: &TurnLine<'_>, link: &mut Link<'_>) {
        let Some(thread) = line.thread_id else { return };
        self.turns.remove(&*thread.decode());
        if !self.is_main(line.thread_id) {
            return;
        }
        let turn = line.turn.id.map(Str::decode);
        let is_of_turn =
            |it: &SentPrompt| it.turn.is_some() && it.turn.as_deref() == turn.as_deref();
        let (named, open): (Vec<_>, Vec<_>) = self.prompts.drain(..).partition(is_of_turn);
        self.prompts = open;
        let named: Vec<_> = named.into_iter().map(|it| it.uuid).collect();
        link.signal(Signal::TurnEnded(TurnPrompts {
            last: named.last().cloned(),
            named,
            is_of_host: false,
        }));
        if self.prompts.is_empty() {
            self.interrupted(link);
        }
    }

    /// Handles Codex' echo of a prompt.
    fn item_started(&mut self, line: &ItemLine<'_>, link: &mut Link<'_>) {
        let Some(uuid) = line.item.client_id.map(Str::decode) else {
            return;
        };
        let turn = line.turn_id.map(|turn| turn.decode().into_owned());
        if let Some(prompt) = self.prompts.iter_mut().find(|it| it.uuid == uuid) {
            prompt.turn = turn;
        }
        link.signal(Signal::PromptEchoed(uuid.to_string()));
        link.signal(advanced(&uuid, ReceiptState::Started));
    }

    fn response(
        &mut self,
        id: Option<Id<'_>>,
        result: Result<RawJson<'_>, RpcError<'_>>,
        link: &mut Link<'_>,
    ) {
        if self.stage == Stage::Opening && self.opening.is_resumed {
            // The first host opened the thread.
            let opened = result.as_ref().ok().and_then(|it| ThreadOpened::parse(*it));
            self.opened(opened, link);
        }
        let id = id.and_then(Id::as_str).map(Str::decode);
        let Some(id) = id.map(|id| id.into_owned()) else {
            return;
        };
        if let Some(at) = self.prompts.iter().position(|it| it.uuid == id) {
            return self.prompt_answered(at, result, link);
        }
        let mut outcome = outcome(result);
        if let Some((_, turn)) = self.interrupting.take_if(|(it, _)| *it == id)
            && !self.turns.values().any(|it| *it == turn)
        {
            // The turn ended before Codex read the interrupt, and Codex has nothing to interrupt.
            outcome = Ok("{}".to_owned());
        }
        link.signal(Signal::Response { id, outcome });
    }

    fn prompt_answered(
        &mut self,
        at: usize,
        result: Result<RawJson<'_>, RpcError<'_>>,
        link: &mut Link<'_>,
    ) {
        match result {
            Ok(result) => {
                let turn = Turn::parse(result).and_then(|turn| turn.id);
                let Some(turn) = turn.map(|turn| turn.decode().into_owned()) else {
                    return;
                };
                if let Some(thread) = self.thread.clone() {
                    self.turns.insert(thread, turn.clone());
                }
                self.prompts[at].turn = Some(turn);
                self.interrupt_if_due(link);
            }
            Err(_) => {
                let prompt = self.prompts.remove(at);
                link.signal(advanced(&prompt.uuid, ReceiptState::Cancelled));
                if self.prompts.is_empty() {
                    self.interrupted(link);
                }
            }
        }
    }

    fn interrupt(&mut self, ticket: Ticket, link: &mut Link<'_>) {
        if self.main_turn().is_none() && self.prompts.is_empty() {
            return link.done(ticket);
        }
        if let Some(earlier) = self.interrupt.take() {
            link.settle(&earlier);
        }
        // Its time limit begins now: the agent may not name the turn.
        let (name, due) = ("turn/interrupt", link.due);
        self.interrupt = Some(link.requests.open(name, Some(ticket), due));
        self.interrupt_if_due(link);
    }

    /// Writes the interrupt that waits, once the turn has an id.
    fn interrupt_if_due(&mut self, link: &mut Link<'_>) {
        let (Some((thread, turn)), Some(id)) = (self.main_turn(), &self.interrupt) else {
            return;
        };
        link.signal(Signal::Write {
            line: write::interrupt_turn(id, thread, turn),
            purpose: LinePurpose::Request(id.clone()),
        });
        self.interrupting = Some((id.clone(), turn.to_owned()));
        self.interrupt = None;
    }

    /// Completes an interrupt that has nothing left to stop.
    fn interrupted(&mut self, link: &mut Link<'_>) {
        if let Some(id) = self.interrupt.take() {
            link.settle(&id);
        }
    }
}

impl Protocol for Codex {
    fn folds_input(&self) -> bool {
        true
    }

    fn begin(&mut self, link: &mut Link<'_>) {
        self.initialize(link);
    }

    fn replayed(&mut self, link: &mut Link<'_>) {
        if self.thread.is_none() {
            self.initialize(link);
        }
    }

    fn line(&mut self, event: &Event<'_>, link: &mut Link<'_>) {
        let Some(message) = Message::parse(event.raw) else {
            return;
        };
        match ServerMessage::of(message) {
            ServerMessage::TurnStarted(line) => self.turn_started(&line, link),
            ServerMessage::TurnCompleted(line) => self.turn_ended(&line, link),
            ServerMessage::ItemStarted(line) => self.item_started(&line, link),
            ServerMessage::Approval(id, method, approval) => {
                self.approval(id, method, &approval, link);
            }
            ServerMessage::Questions(id, questions) => self.questions(id, &questions, link),
            ServerMessage::Resolved(Some(id)) => self.asked.withdraw(id, link),
            ServerMessage::Other(Message::Response { id, result }) => {
                self.response(id, result, link);
            }
            ServerMessage::Other(Message::Request { id, method, .. }) => refuse(id, method, link),
            _ => {}
        }
    }

    fn host_line(&mut self, line: RawJson<'_>, link: &mut Link<'_>) {
        match Message::parse(line) {
            Some(Message::Response { id: Some(id), .. }) => self.asked.answered(id, link),
            Some(Message::Request { id, method, .. }) if method == "turn/start" => {
                let Some(uuid) = id.as_str().map(|id| id.decode().into_owned()) else {
                    return;
                };
                link.signal(advanced(&uuid, ReceiptState::Written));
                // A prompt of this host is among them already.
                if self.prompts.iter().all(|it| it.uuid != uuid) {
                    self.prompts.push(SentPrompt { uuid, turn: None });
                }
            }
            _ => {}
        }
    }

    fn completed(&mut self, request: &CompletedRequest, link: &mut Link<'_>) {
        self.handshake(request, link);
    }

    fn accepts_prompt(&self, _transcript: &Transcript) -> bool {
        self.stage == Stage::Ready
    }

    fn check_prompt(&self, prompt: &Prompt) -> Result<(), DialogueError> {
        let settings = TurnSettings::default();
        match write::start_turn("", "", "", &prompt.parts, &settings) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.unsupported("documents other than text and files")),
        }
    }

    fn prompt(&mut self, prompt: &Prompt, link: &mut Link<'_>) {
        let uuid = prompt.uuid.clone().unwrap_or_default();
        let thread = self.thread.as_deref().unwrap_or_default();
        let settings = TurnSettings {
            model: self.next.model.as_deref(),
            effort: self.next.effort.as_deref(),
            approval_policy: self.next.policy.as_deref(),
        };
        // `check_prompt` has accepted the parts.
        let Ok(line) = write::start_turn(&uuid, thread, &uuid, &prompt.parts, &settings) else {
            return;
        };
        self.next = NextSettings::default();
        let purpose = LinePurpose::Prompt(uuid.clone());
        self.prompts.push(SentPrompt { uuid, turn: None });
        link.signal(Signal::Write { line, purpose });
    }

    fn prompt_lost(&mut self, uuid: &str) {
        self.prompts.retain(|it| it.uuid != uuid);
    }

    fn request(
        &mut self,
        request: &HostRequest,
        ticket: Ticket,
        link: &mut Link<'_>,
    ) -> Result<(), DialogueError> {
        match request {
            HostRequest::Interrupt { .. } => self.interrupt(ticket, link),
            HostRequest::SetModel { model: Some(model) } => {
                return self.set_option("model", model, ticket, link);
            }
            HostRequest::SetPermissionMode { mode } => {
                return self.set_option("mode", mode, ticket, link);
            }
            HostRequest::StopTask { task_id } => {
                let Some(turn) = self.turns.get(task_id) else {
                    return Err(self.unsupported("stopping a task that is no running sub-agent"));
                };
                link.request("turn/interrupt", Some(ticket), |id| {
                    write::interrupt_turn(id, task_id, turn)
                });
            }
            HostRequest::Other { subtype, fields } => {
                let params = serde_json::Value::Object(fields.clone()).to_string();
                link.request(subtype, Some(ticket), |id| {
                    Wire::Bare.request(id, subtype, &params)
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
        let value = Some(value.to_owned());
        match option {
            "model" => self.next.model = value,
            "effort" => self.next.effort = value,
            "mode" if value.as_deref().is_some_and(|it| POLICIES.contains(&it)) => {
                self.next.policy = value;
            }
            "mode" => {
                let policies = POLICIES.join(", ");
                let what = format!("a permission mode other than {policies}");
                return Err(self.unsupported(&what));
            }
            other => return Err(self.unsupported(&format!("the option {other}"))),
        }
        link.signal(Signal::Reply {
            ticket,
            reply: Ok(Reply::Done),
        });
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
        link.probe(LIVENESS_PROBE, |id| {
            Wire::Bare.request(id, LIVENESS_PROBE, "{}")
        });
    }

    fn capabilities(&self) -> Capabilities {
        use Capability::{
            Effort, Fork, Images, Interrupt, Models, Modes, Questions, Resume, Steer, Subagents,
        };
        Capabilities::new([
            Steer, Interrupt, Resume, Fork, Modes, Models, Effort, Images, Questions, Subagents,
        ])
    }
}

fn advanced(uuid: &str, state: ReceiptState) -> Signal {
    let uuid = uuid.to_owned();
    Signal::PromptAdvanced { uuid, state }
}

/// Refuses a request that this host does not serve. Codex would wait for the answer.
fn refuse(id: Id<'_>, method: Str<'_>, link: &mut Link<'_>) {
    link.signal(Signal::ReplyToAgent {
        request_id: id.text().to_owned(),
        line: write::method_not_found(id, &method.decode()),
    });
}
