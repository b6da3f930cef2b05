//! Writes the events of a play as notifications and requests of Codex.

use serde_json::{Value, json};

use super::items::{agent_message, reasoning};
use super::place::{Place, active, last_message, status, turn_error};
use super::{Codex, TurnState, notification};
use crate::clock;
use crate::event::{Block, Event, Outcome, Part};
use crate::lines::AgentThread;
use crate::prompt::Prompt;
use crate::scenario::{Limits, PlanState, PlanStep};
use crate::session::{Session, Tokens};

/// Size of the context window, as Codex gives it for a model that it does not know.
const CONTEXT_WINDOW: u64 = 258_400;

impl Codex {
    pub(super) fn lines(&mut self, event: Event<'_>, session: &Session) -> Vec<Value> {
        let mut out = Vec::new();
        match event {
            Event::TurnStarted(prompts) => self.turn_started(prompts, session, &mut out),
            Event::PromptJoined(prompt) => self.user(&self.main(session), prompt, &mut out),
            Event::PromptsCancelled(_) => {}
            Event::BlockOpened(part) => self.block_opened(part, session, &mut out),
            Event::Delta(part, text) => self.delta(part, text, session, &mut out),
            Event::BlockClosed(part, text) => self.block_closed(part, text, session, &mut out),
            Event::Usage(thread, tokens) => self.usage(thread, tokens, session, &mut out),
            Event::PermissionAsked { request_id, call } => {
                self.ask(request_id, call, session, &mut out)
            }
            Event::PermissionClosed { request_id, .. } => {
                self.resolved(request_id, session, &mut out)
            }
            Event::HostAsked { request_id, body } => out.push(self.host_request(request_id, body)),
            Event::CallStarted(call) => self.call_started(call, session, &mut out),
            Event::CallEnded(call, decision) => self.call_ended(call, decision, session, &mut out),
            Event::AgentStarted(caller, task) => {
                self.agent_started(caller, task, session, &mut out)
            }
            Event::AgentEnded {
                caller,
                task,
                report,
                failed,
            } => {
                self.agent_ended(caller, task, report, failed, session, &mut out);
            }
            Event::Plan(steps) => out.push(self.plan(steps, session)),
            Event::Limits(limits) => out.push(rate_limits(limits)),
            Event::Retry(text) => out.push(self.error(text, "other", true, session)),
            Event::Notice(text) => out.push(notification(
                "warning",
                json!({"threadId": session.id, "message": text}),
            )),
            Event::TurnEnded(outcome) => self.turn_ended(outcome, session, &mut out),
        }
        out
    }

    fn turn_started(&mut self, prompts: &[Prompt], session: &Session, out: &mut Vec<Value>) {
        let turn = self.turn.get_or_insert_with(TurnState::new);
        turn.began_ms = clock::now_ms();
        let json = turn.to_json("inProgress", &[], Value::Null, true);
        out.push(status(&session.id, &active(&[])));
        out.push(notification(
            "turn/started",
            json!({"threadId": session.id, "turn": json}),
        ));
        if let Some(prompt) = prompts.first().filter(|_| self.past.title.is_empty()) {
            self.past.title = prompt.text();
        }
        let place = self.main(session);
        for prompt in prompts {
            self.user(&place, prompt, out);
        }
    }

    fn block_opened(&mut self, part: Part<'_>, session: &Session, out: &mut Vec<Value>) {
        let (place, id) = (self.place(part.thread, session), item_id(part));
        match part.block {
            Block::Text => self.start(&place, agent_message(&id, ""), out),
            Block::Thinking => {
                self.start(&place, reasoning(&id, &[]), out);
                out.push(of_item(
                    "item/reasoning/summaryPartAdded",
                    &place,
                    &id,
                    json!({"summaryIndex": 0}),
                ));
            }
            Block::Redacted(_) | Block::Call { .. } => {}
        }
    }

    fn delta(&self, part: Part<'_>, text: &str, session: &Session, out: &mut Vec<Value>) {
        let (place, id) = (self.place(part.thread, session), item_id(part));
        out.extend(match part.block {
            Block::Text => Some(of_item(
                "item/agentMessage/delta",
                &place,
                &id,
                json!({"delta": text}),
            )),
            Block::Thinking => Some(of_item(
                "item/reasoning/summaryTextDelta",
                &place,
                &id,
                json!({"delta": text, "summaryIndex": 0}),
            )),
            Block::Redacted(_) | Block::Call { .. } => None,
        });
    }

    fn block_closed(
        &mut self,
        part: Part<'_>,
        text: &str,
        session: &Session,
        out: &mut Vec<Value>,
    ) {
        let (place, id) = (self.place(part.thread, session), item_id(part));
        match part.block {
            Block::Text => self.complete(&place, agent_message(&id, text), out),
            Block::Thinking => self.complete(&place, reasoning(&id, &[text]), out),
            Block::Redacted(_) | Block::Call { .. } => {}
        }
    }

    fn usage(
        &mut self,
        thread: &AgentThread,
        tokens: Tokens,
        session: &Session,
        out: &mut Vec<Value>,
    ) {
        let place = self.place(thread, session);
        if thread.task.is_none() {
            self.total.add(tokens);
        }
        let total = if thread.task.is_none() {
            self.total
        } else {
            tokens
        };
        out.push(notification("thread/tokenUsage/updated", json!({
            "threadId": place.thread, "turnId": place.turn,
            "tokenUsage": {
                "total": counts(total), "last": counts(tokens), "modelContextWindow": CONTEXT_WINDOW,
            },
        })));
    }

    fn plan(&self, steps: &[PlanStep], session: &Session) -> Value {
        let place = self.main(session);
        let plan: Vec<Value> = steps
            .iter()
            .map(|step| {
                let state = match step.state {
                    PlanState::Pending => "pending",
                    PlanState::InProgress => "inProgress",
                    PlanState::Completed => "completed",
                };
                json!({"step": step.text, "status": state})
            })
            .collect();
        let params = json!({
            "threadId": place.thread, "turnId": place.turn, "explanation": null, "plan": plan,
        });
        notification("turn/plan/updated", params)
    }

    fn error(&self, text: &str, info: &str, retries: bool, session: &Session) -> Value {
        let place = self.main(session);
        notification(
            "error",
            json!({
                "error": turn_error(text, info), "willRetry": retries, "threadId": place.thread,
                "turnId": place.turn,
            }),
        )
    }

    fn turn_ended(&mut self, outcome: Outcome<'_>, session: &Session, out: &mut Vec<Value>) {
        let (state, error) = match outcome {
            Outcome::Completed => ("completed", None),
            Outcome::Interrupted => ("interrupted", None),
            Outcome::Failed { status, text } => {
                let info = if status == 401 {
                    "unauthorized"
                } else {
                    "other"
                };
                ("failed", Some((text.to_owned(), info)))
            }
            Outcome::Limited(limit) => (
                "failed",
                Some((format!("reached the limit of {limit} requests"), "other")),
            ),
        };
        if let Some((text, info)) = &error {
            out.push(status(&session.id, &json!({"type": "systemError"})));
            out.push(self.error(text, info, false, session));
        } else {
            out.push(status(&session.id, &json!({"type": "idle"})));
        }
        let Some(turn) = self.turn.take() else { return };
        let error = error.map_or(Value::Null, |(text, info)| turn_error(&text, info));
        let items = if state == "completed" {
            last_message(&turn.items)
        } else {
            &[]
        };
        let json = turn.to_json(state, items, error.clone(), true);
        out.push(notification(
            "turn/completed",
            json!({"threadId": session.id, "turn": json}),
        ));
        let mut past = turn.to_json(state, &[], error, true);
        past["itemsView"] = "full".into();
        past["items"] = turn.items.into();
        self.past.records.push(past);
        self.past.cwd.clone_from(&session.cwd);
        self.setup.keep(&session.id, &mut self.past);
    }
}

fn rate_limits(limits: Limits) -> Value {
    let primary = json!({
        "usedPercent": limits.used_percent, "windowDurationMins": limits.window_minutes,
        "resetsAt": limits.resets_at,
    });
    let limits = json!({
        "limitId": "codex", "limitName": null, "normalModelSlug": null, "primary": primary,
        "secondary": null, "credits": null, "individualLimit": null, "spendControlReached": null,
        "planType": null, "rateLimitReachedType": null,
    });
    notification("account/rateLimits/updated", json!({"rateLimits": limits}))
}

fn item_id(part: Part<'_>) -> String {
    format!("{}_{}", part.message_id, part.index)
}

fn of_item(method: &str, place: &Place, id: &str, rest: Value) -> Value {
    let mut params = json!({"threadId": place.thread, "turnId": place.turn, "itemId": id});
    for (key, value) in rest.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    notification(method, params)
}

fn counts(tokens: Tokens) -> Value {
    json!({
        "totalTokens": tokens.input + tokens.output, "inputTokens": tokens.input,
        "cachedInputTokens": 0, "cacheWriteInputTokens": 0, "outputTokens": tokens.output,
        "reasoningOutputTokens": tokens.thinking,
    })
}
