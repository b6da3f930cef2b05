//! A session that a daemon drives: this host sends it intents, folds what it sees, and writes nothing to the agent.
//!
//! An intent is a line of the control stream, and so is what became of it, with which the daemon answers every
//! host.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use bowline_jsonl::{Decision, HostRequest, Priority};
use bowline_reducer::{HostDecision, HostEvent};
use bowline_transport::Piece;
use serde_json::{Map, Value};

use super::{Command, EndStage, LinePurpose, Machine, Output, ReceiptState, Reply, Ticket};
use crate::control::{ControlEntry, ControlLine, ControlLines};
use crate::error::DialogueError;
use crate::events::DialogueEventKind;
use crate::intent::Intent;
use crate::permission::PermissionAnswer;

/// What a host of a driven session keeps.
#[derive(Debug)]
pub(super) struct Follower {
    /// The name of this host.
    client: String,
    /// Part of each id that differs between hosts.
    salt: String,
    last_id: u64,
    /// End offset of the history of the control stream.
    #[cfg(any(test, feature = "remote"))]
    pub(super) history: u64,
    lines: ControlLines,
    /// Intents of this host without an outcome, by id.
    pending: BTreeMap<String, PendingIntent>,
    /// Answers of all hosts without an outcome, by the id of their line.
    answers: BTreeMap<String, SeenAnswer>,
    /// Uuids of the prompts of all hosts.
    prompts: HashSet<String>,
}

/// An intent of this host on its way.
#[derive(Debug)]
struct PendingIntent {
    name: &'static str,
    ticket: Option<Ticket>,
    due: Duration,
}

#[derive(Debug)]
struct SeenAnswer {
    request_id: String,
    answer: PermissionAnswer,
    by: Option<String>,
    how: Option<String>,
}

impl Follower {
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.pending.values().map(|it| it.due).min()
    }

    /// Moves all deadlines.
    pub(super) fn postpone(&mut self, by: Duration) {
        for pending in self.pending.values_mut() {
            pending.due = pending.due.saturating_add(by);
        }
    }

    /// Returns whether a host has sent a prompt with this uuid.
    pub(super) fn knows_prompt(&self, uuid: &str) -> bool {
        self.prompts.contains(uuid)
    }

    /// Has a command wait for the outcome of the intent with this id, if that is on its way.
    fn await_outcome(&mut self, id: &str, ticket: Ticket) -> bool {
        let pending = self.pending.get_mut(id);
        pending.map(|it| it.ticket = Some(ticket)).is_some()
    }
}

impl Machine {
    /// Makes this the machine of a host of a session that a daemon drives, before the first input. Bytes of the
    /// control stream before `history` are history.
    #[cfg(any(test, feature = "remote"))]
    pub(crate) fn follow_driver(&mut self, client: &str, salt: &str, history: u64) {
        self.follower = Some(Box::new(Follower {
            client: client.to_owned(),
            salt: salt.to_owned(),
            last_id: 0,
            history,
            lines: ControlLines::default(),
            pending: BTreeMap::new(),
            answers: BTreeMap::new(),
            prompts: HashSet::new(),
        }));
    }

    /// Carries out a command of a host of a driven session.
    pub(super) fn follower_command(&mut self, command: Command, ticket: Ticket) {
        let intent = match command {
            Command::Send(prompt) => {
                let uuid = prompt.uuid.clone().unwrap_or_default();
                let sent = self.send(prompt);
                let follower = self.follower.as_mut();
                let waits = follower.is_some_and(|it| it.await_outcome(&uuid, ticket));
                return match sent {
                    Ok(()) if waits => {}
                    sent => self.reply(ticket, sent.map(|()| Reply::Done)),
                };
            }
            Command::AnswerPermission {
                request_id,
                answer,
                by,
                how,
            } => Intent::Answer {
                request_id,
                answer,
                how,
                by: by.or_else(|| Some(self.follower.as_ref()?.client.clone())),
            },
            Command::Request(HostRequest::Interrupt { cancel_queued }) => Intent::Interrupt {
                cancel_queued,
                seen: Some(self.output_end),
            },
            Command::Interrupt {
                cancel_queued,
                seen,
            } => Intent::Interrupt {
                cancel_queued,
                seen,
            },
            Command::Request(HostRequest::SetModel { model: Some(value) }) => {
                set_option("model", value)
            }
            Command::Request(HostRequest::SetPermissionMode { mode }) => set_option("mode", mode),
            Command::Request(HostRequest::StopTask { task_id }) => Intent::StopTask { task_id },
            Command::Request(request) => match raw_request(request) {
                Ok(intent) => intent,
                Err(error) => return self.reply(ticket, Err(error)),
            },
            Command::SetOption { option, value } => Intent::SetOption { option, value },
            Command::End => {
                self.unpause();
                self.end_stage = Some(EndStage::Requested);
                Intent::End
            }
            Command::EditQueue(edit) => Intent::EditQueue(edit),
            Command::Release(uuid) => Intent::Release { uuid },
            Command::Hold(request) => Intent::Hold(request),
            command @ (Command::Pause
            | Command::Unpause
            | Command::CancelQueued
            | Command::Terminate) => return self.local_command(command, ticket),
        };
        self.submit(None, intent, Some(ticket));
    }

    /// Sends an intent under an id, or a new one.
    pub(super) fn submit(&mut self, id: Option<String>, intent: Intent, ticket: Option<Ticket>) {
        let due = self.now.saturating_add(self.limits.control_timeout);
        let Some(follower) = &mut self.follower else {
            return;
        };
        follower.last_id += 1;
        let id = id.unwrap_or_else(|| format!("{}-{}", follower.salt, follower.last_id));
        let name = name_of(&intent);
        let line = ControlLine {
            id: id.clone(),
            client: Some(follower.client.clone()),
            entry: ControlEntry::Intent(intent),
        };
        let pending = PendingIntent { name, ticket, due };
        follower.pending.insert(id.clone(), pending);
        match line.encode() {
            Some(line) => self.outputs.push_back(Output::Write {
                line: line.into(),
                purpose: LinePurpose::Intent(id),
            }),
            None => self.intent_lost(&id),
        }
    }

    /// Handles an intent that the session did not take.
    pub(super) fn intent_lost(&mut self, id: &str) {
        let pending = self.follower.as_ref().and_then(|it| it.pending.get(id));
        let name = pending.map_or("request", |it| it.name);
        let reason = format!("{name}: the runner did not take it; check the session, and retry");
        self.intent_settled(id, Err(DialogueError::Rejected { reason }));
    }

    /// Fails the intents whose time is over.
    pub(super) fn expire_intents(&mut self) {
        let (now, seconds) = (self.now, self.limits.control_timeout.as_secs());
        let Some(follower) = &self.follower else {
            return;
        };
        let due = follower.pending.iter().filter(|(_, it)| it.due <= now);
        let due: Vec<_> = due.map(|(id, it)| (id.clone(), it.name)).collect();
        for (id, name) in due {
            let request = name.to_owned();
            self.intent_settled(&id, Err(DialogueError::NoAnswer { request, seconds }));
        }
    }

    /// Fails all intents, at the end of the session.
    pub(super) fn close_intents(&mut self) {
        let follower = self.follower.as_mut();
        let pending = follower.map(|it| std::mem::take(&mut it.pending));
        for ticket in pending
            .into_iter()
            .flatten()
            .filter_map(|(_, it)| it.ticket)
        {
            self.reply(ticket, Err(DialogueError::Ended));
        }
    }

    /// Handles bytes of the control stream.
    pub(super) fn control(&mut self, piece: &Piece) {
        let Some(follower) = &mut self.follower else {
            return;
        };
        let lines = follower.lines.push(piece);
        let next = follower.lines.next_offset();
        #[cfg(any(test, feature = "remote"))]
        let is_history = next <= follower.history;
        #[cfg(not(any(test, feature = "remote")))]
        let is_history = false;
        for line in lines {
            match line {
                Ok(line) => {
                    self.report_request(&line, is_history);
                    self.control_line(line);
                }
                Err(damage) => {
                    let reason = damage.to_string();
                    self.host(HostEvent::Damaged { reason: &reason });
                }
            }
        }
        self.advance_replay(|replay| replay.skip_control(next));
    }

    /// Reports what a host has asked for. An answer is reported with its request.
    fn report_request(&mut self, line: &ControlLine, is_history: bool) {
        let (Some(client), ControlEntry::Intent(intent)) = (&line.client, &line.entry) else {
            return;
        };
        let (what, prompt) = match intent {
            Intent::Prompt(prompt) => ("prompt".to_owned(), prompt.uuid.clone()),
            _ if is_history => return,
            Intent::Interrupt { .. } => ("interrupt".to_owned(), None),
            Intent::SetOption { option, value } => (format!("set {option} to {value}"), None),
            Intent::StopTask { task_id } => (format!("stop task {task_id}"), None),
            Intent::Request { name, .. } => (format!("request {name}"), None),
            Intent::EditQueue(edit) => (
                edit.change.description().to_owned(),
                Some(edit.uuid.clone()),
            ),
            Intent::End => ("end".to_owned(), None),
            Intent::Answer { .. } | Intent::Release { .. } | Intent::Hold(_) => return,
        };
        let client = client.clone();
        self.emit(DialogueEventKind::Requested {
            client,
            what,
            prompt,
        });
    }

    fn control_line(&mut self, line: ControlLine) {
        let Some(follower) = &mut self.follower else {
            return;
        };
        match line.entry {
            ControlEntry::Intent(Intent::Prompt(prompt)) => {
                let uuid = prompt.uuid.clone();
                let is_new = uuid.is_some_and(|it| follower.prompts.insert(it));
                if is_new && prompt.priority == Some(Priority::Later) {
                    self.enqueue(prompt);
                }
            }
            ControlEntry::Intent(Intent::Answer {
                request_id,
                answer,
                by,
                how,
            }) => {
                let by = by.or(line.client);
                let seen = SeenAnswer {
                    request_id,
                    answer,
                    by,
                    how,
                };
                follower.answers.insert(line.id, seen);
            }
            ControlEntry::Intent(Intent::Hold(request)) => self.hold(request),
            ControlEntry::Intent(intent) => {
                if matches!(intent, Intent::Interrupt { .. }) {
                    self.host(HostEvent::InterruptRequested);
                }
                self.follow_queue(&intent);
            }
            ControlEntry::Outcome { of, result } => self.outcome(&of, result),
            _ => {}
        }
    }

    fn outcome(&mut self, of: &str, result: Result<Option<String>, DialogueError>) {
        let answer = self.follower.as_mut().and_then(|it| it.answers.remove(of));
        if let Some(seen) = answer.filter(|_| result.is_ok()) {
            self.answer_carried_out(&seen);
        }
        if result.is_err() {
            self.queue_refused(of);
        }
        self.intent_settled(of, result);
    }

    /// Attributes an answer that the agent has, if one host has given one. What became of that is read later,
    /// when a reader may have shown the request without its author.
    pub(super) fn attribute_seen_answer(&mut self, request_id: &str) {
        let Some(follower) = &mut self.follower else {
            return;
        };
        let seen = follower.answers.iter();
        let mut seen = seen.filter(|(_, it)| it.request_id == request_id);
        // Of several, the driver may have refused the first.
        let (Some((line, _)), None) = (seen.next(), seen.next()) else {
            return;
        };
        let line = line.clone();
        if let Some(seen) = follower.answers.remove(&line)
            && let Some(by) = seen.by
        {
            self.answer_attributed(request_id, &by, seen.how.as_deref());
        }
    }

    fn answer_carried_out(&mut self, seen: &SeenAnswer) {
        let SeenAnswer {
            request_id,
            answer,
            by,
            how,
        } = seen;
        // The driver answers such a request itself, without a line to the agent.
        if self
            .answer_limit(request_id, answer, by.as_deref())
            .is_none()
            && let Some(by) = by
        {
            self.answer_attributed(request_id, by, how.as_deref());
        }
    }

    fn intent_settled(&mut self, id: &str, result: Result<Option<String>, DialogueError>) {
        let pending = self.follower.as_mut().and_then(|it| it.pending.remove(id));
        let Some(pending) = pending else { return };
        if result.is_err() {
            let update = self.receipts.advance(id, ReceiptState::Cancelled);
            self.receipt_updates(update);
        }
        if let Some(ticket) = pending.ticket {
            let reply = result.map(|response| response.map_or(Reply::Done, Reply::Response));
            self.reply(ticket, reply);
        }
    }

    /// Folds a prompt that the driver wrote, in a protocol whose transcript is no fold over the input.
    pub(super) fn prompt_seen(&mut self, uuid: &str, text: &str) {
        if self.follower.is_some() && !self.protocol.folds_input() {
            let uuid = Some(uuid);
            self.host(HostEvent::PromptSent { uuid, text });
        }
    }

    /// Folds an answer that the driver wrote, like [`prompt_seen`](Self::prompt_seen).
    pub(super) fn answer_seen(&mut self, request_id: &str, decision: &Decision) {
        if self.follower.is_none() || self.protocol.folds_input() {
            return;
        }
        let asked = self.transcript.permission(request_id);
        let input = asked.and_then(|it| it.input().map(|it| it.to_string()));
        let decision = match decision {
            Decision::Allow { updated_input, .. } => HostDecision::Allow {
                updated_input: updated_input
                    .as_deref()
                    .filter(|it| Some(*it) != input.as_deref()),
            },
            Decision::Deny { .. } => HostDecision::Deny,
        };
        self.host(HostEvent::PermissionAnswered {
            request_id,
            decision,
        });
    }
}

fn set_option(option: &str, value: String) -> Intent {
    let option = option.to_owned();
    Intent::SetOption { option, value }
}

/// Returns the intent that passes a request on by its name.
///
/// # Errors
///
/// It begins or ends the session, which is the driver's part.
fn raw_request(request: HostRequest) -> Result<Intent, DialogueError> {
    let name = request.subtype().to_owned();
    let one = |member: &str, value: Value| Map::from_iter([(member.to_owned(), value)]);
    let params = match request {
        HostRequest::Other { fields, .. } => fields,
        HostRequest::SetModel { model } => one("model", model.into()),
        HostRequest::SetMaxThinkingTokens { tokens } => one("max_thinking_tokens", tokens.into()),
        HostRequest::CancelPrompt { uuid } => one("message_uuid", uuid.into()),
        _ => {
            let reason = format!(
                "{name}: the runner drives this session, and takes no such request; end the session, or start one without it"
            );
            return Err(DialogueError::Rejected { reason });
        }
    };
    Ok(Intent::Request { name, params })
}

/// Returns the name of an intent, for errors.
const fn name_of(intent: &Intent) -> &'static str {
    match intent {
        Intent::Prompt(_) => "send",
        Intent::Answer { .. } => "answer",
        Intent::Interrupt { .. } => "interrupt",
        Intent::SetOption { .. } => "set the option",
        Intent::EditQueue(_) => "change the queue",
        Intent::Release { .. } => "send",
        Intent::Hold(_) => "pause",
        Intent::StopTask { .. } => "stop the task",
        Intent::Request { .. } => "request",
        Intent::End => "end",
    }
}
