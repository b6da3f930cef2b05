//! Writes the events of a play as updates, requests and responses of ACP.

use serde_json::{Map, Value, json};

use super::updates::{call as call_fields, chunk, text};
use super::{Acp, notification};
use crate::clock;
use crate::dialect::rpc::{INTERNAL_ERROR, error};
use crate::dialect::tool::{ToolAction, exit_code, text_of};
use crate::event::{Block, CallOf, Decision, Event, Outcome, Part};
use crate::lines::{AgentThread, TaskInfo};
use crate::prompt::Prompt;
use crate::scenario::PlanStep;
use crate::session::{Session, Tokens};

/// Size of the context window, as in the recordings.
const CONTEXT_WINDOW: u64 = 1_000_000;

impl Acp {
    pub(super) fn lines(&mut self, event: Event<'_>, session: &Session) -> Vec<Value> {
        match event {
            Event::TurnStarted(prompts) => {
                self.turn_started(prompts);
                Vec::new()
            }
            // A prompt of this dialect never joins a turn.
            Event::PromptJoined(_) => Vec::new(),
            Event::PromptsCancelled(prompts) => self.prompts_cancelled(prompts),
            Event::BlockOpened(part) => self.block_opened(part, session),
            Event::Delta(part, piece) => self.delta(part, piece, session),
            Event::BlockClosed(part, text) => self.block_closed(part, text, session),
            Event::Usage(thread, tokens) => self.usage(thread, tokens, session),
            Event::PermissionAsked { request_id, call } => {
                vec![self.ask(request_id, call, session)]
            }
            Event::PermissionClosed {
                request_id,
                withdrawn,
            } => self.close_request(request_id, withdrawn),
            Event::HostAsked { request_id, body } => vec![self.host_request(request_id, body)],
            Event::CallStarted(call) => {
                let update = json!({
                    "sessionUpdate": "tool_call_update", "toolCallId": call.id, "status": "in_progress",
                });
                vec![self.of_thread(call.thread, update, session)]
            }
            Event::CallEnded(call, decision) => self.call_ended(call, decision, session),
            Event::AgentStarted(caller, task) => self.agent_started(caller, task, session),
            Event::AgentEnded {
                caller,
                task,
                report,
                failed,
            } => self.agent_ended(caller, task, report, failed, session),
            Event::Plan(steps) => vec![self.plan(steps, session)],
            // The protocol has no limits of a plan.
            Event::Limits(_) => Vec::new(),
            Event::Retry(text) => self.notice("warning", text, session),
            Event::Notice(text) => self.notice("info", text, session),
            Event::TurnEnded(outcome) => self.turn_ended(outcome, session),
        }
    }

    fn turn_started(&mut self, prompts: &[Prompt]) {
        self.running = prompts
            .iter()
            .filter_map(|prompt| prompt.uuid.clone())
            .collect();
        self.tokens = Tokens::default();
        for prompt in prompts {
            if self.past.title.is_empty() {
                self.past.title = prompt.text();
            }
            let id = prompt.uuid.clone().unwrap_or_default();
            for block in prompt.content().as_array().into_iter().flatten() {
                self.past
                    .records
                    .push(chunk("user_message", &id, block.clone()));
            }
        }
    }

    fn prompts_cancelled(&mut self, prompts: &[Prompt]) -> Vec<Value> {
        let uuids = prompts.iter().filter_map(|prompt| prompt.uuid.as_ref());
        let ids: Vec<Value> = uuids.filter_map(|uuid| self.prompts.remove(uuid)).collect();
        let result = json!({"stopReason": "cancelled"});
        ids.into_iter().map(|id| response(&id, &result)).collect()
    }

    /// Returns the session of a thread, and the call that its updates belong to if the host shows no
    /// sub-agents.
    fn session_of<'a>(
        &self,
        thread: &'a AgentThread,
        session: &'a Session,
    ) -> (&'a str, Option<&'a str>) {
        match &thread.task {
            Some(task) if self.shows_agents => (&task.task_id, Some(&task.tool_use_id)),
            Some(task) => (&session.id, Some(&task.tool_use_id)),
            None => (&session.id, None),
        }
    }

    fn of_thread(&self, thread: &AgentThread, mut update: Value, session: &Session) -> Value {
        let (id, parent) = self.session_of(thread, session);
        if let Some(parent) = parent {
            update["_meta"]["claudeCode"]["parentToolUseId"] = parent.into();
        }
        self.update(id, update)
    }

    /// Prints an update that belongs to the conversation's past.
    fn keep(&mut self, thread: &AgentThread, update: Value, session: &Session) -> Value {
        if thread.task.is_none() {
            self.past.records.push(update.clone());
        }
        self.of_thread(thread, update, session)
    }

    fn block_opened(&mut self, part: Part<'_>, session: &Session) -> Vec<Value> {
        let Block::Call { id, name, .. } = part.block else {
            return Vec::new();
        };
        if name == "Agent" && self.shows_agents {
            return Vec::new();
        }
        let mut update = call_fields(id, name, &Map::new());
        update["sessionUpdate"] = "tool_call".into();
        update["status"] = "pending".into();
        update["title"] = name.as_str().into();
        update["content"] = json!([]);
        update["locations"] = json!([]);
        vec![self.keep(part.thread, update, session)]
    }

    fn delta(&self, part: Part<'_>, piece: &str, session: &Session) -> Vec<Value> {
        let kind = message_kind(part.block);
        let update = kind.map(|kind| chunk(kind, &message_id(part), text(piece)));
        update
            .map(|update| self.of_thread(part.thread, update, session))
            .into_iter()
            .collect()
    }

    fn block_closed(&mut self, part: Part<'_>, whole: &str, session: &Session) -> Vec<Value> {
        if let Some(kind) = message_kind(part.block).filter(|_| part.thread.task.is_none()) {
            self.past
                .records
                .push(chunk(kind, &message_id(part), text(whole)));
        }
        let Block::Call { id, name, input } = part.block else {
            return Vec::new();
        };
        if name == "Agent" && self.shows_agents {
            return Vec::new();
        }
        let mut update = call_fields(id, name, input);
        update["sessionUpdate"] = "tool_call_update".into();
        vec![self.keep(part.thread, update, session)]
    }

    fn usage(&mut self, thread: &AgentThread, tokens: Tokens, session: &Session) -> Vec<Value> {
        self.tokens.add(tokens);
        if thread.task.is_some() {
            return Vec::new();
        }
        self.used = tokens.input + tokens.output;
        let update =
            json!({"sessionUpdate": "usage_update", "used": self.used, "size": CONTEXT_WINDOW});
        vec![self.update(&session.id, update)]
    }

    fn ask(&mut self, request_id: &str, call: CallOf<'_>, session: &Session) -> Value {
        let id = self.asked.open(request_id);
        let mut tool_call = call_fields(call.id, &call.tool.name, &call.tool.input);
        tool_call["status"] = "pending".into();
        let (session_id, _) = self.session_of(call.thread, session);
        let params = json!({
            "sessionId": session_id, "toolCall": tool_call,
            "options": [
                {"optionId": "allow_always", "name": "Always Allow", "kind": "allow_always"},
                {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
                {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
            ],
        });
        request(id, &"session/request_permission".into(), &params)
    }

    fn host_request(&mut self, request_id: &str, body: &Map<String, Value>) -> Value {
        let member = |key: &str| body.get(key).cloned().unwrap_or_default();
        request(
            self.asked.open(request_id),
            &member("method"),
            &member("params"),
        )
    }

    fn close_request(&mut self, request_id: &str, withdrawn: bool) -> Vec<Value> {
        let Some(id) = self.asked.close(request_id).filter(|_| withdrawn) else {
            return Vec::new();
        };
        vec![notification("$/cancel_request", json!({"requestId": id}))]
    }

    fn call_ended(
        &mut self,
        call: CallOf<'_>,
        decision: &Decision,
        session: &Session,
    ) -> Vec<Value> {
        let ran = matches!(decision, Decision::AllowedByRule | Decision::Allowed(_));
        let output = match decision {
            Decision::Denied { message, .. } | Decision::Failed(message) => message.clone(),
            _ => text_of(&call.tool.result),
        };
        let status = if ran && !call.tool.is_error {
            "completed"
        } else {
            "failed"
        };
        let mut update = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": call.id, "status": status,
            "rawOutput": output,
        });
        let action = ToolAction::of(&call.tool.name, &call.tool.input);
        // The content of an edit is its diff, which stays.
        if !(ran && matches!(action, ToolAction::Edit { .. })) {
            update["content"] = json!([{"type": "content", "content": text(&output)}]);
        }
        if let (ToolAction::Command(_), true) = (action, ran) {
            let failed = exit_code(&output).map_or(1, |(code, _)| code);
            let code = if call.tool.is_error { failed } else { 0 };
            update["_meta"]["terminal_exit"] = json!({
                "terminal_id": call.id, "exit_code": code, "signal": null,
            });
        }
        vec![self.keep(call.thread, update, session)]
    }

    fn agent_started(
        &mut self,
        caller: &AgentThread,
        task: &TaskInfo,
        session: &Session,
    ) -> Vec<Value> {
        if !self.shows_agents {
            let mut update = json!({
                "sessionUpdate": "tool_call_update", "toolCallId": task.tool_use_id,
                "status": "in_progress",
            });
            if task.background {
                update["status"] = "completed".into();
            }
            return vec![self.of_thread(caller, update, session)];
        }
        let (parent, _) = self.session_of(caller, session);
        let announced = json!({
            "sessionUpdate": "subagent_update", "sessionId": task.task_id,
            "title": task.description, "description": task.kind, "capabilities": {"cancel": {}},
            "state": {"state": "running"},
        });
        let message = session_message(&task.tool_use_id, parent, &task.task_id, &task.prompt);
        vec![
            self.update(parent, announced),
            self.update(parent, message.clone()),
            self.update(&task.task_id, message),
        ]
    }

    fn agent_ended(
        &mut self,
        caller: &AgentThread,
        task: &TaskInfo,
        report: &str,
        failed: bool,
        session: &Session,
    ) -> Vec<Value> {
        if !self.shows_agents {
            let update = json!({
                "sessionUpdate": "tool_call_update", "toolCallId": task.tool_use_id,
                "status": if failed { "failed" } else { "completed" }, "rawOutput": report,
                "content": [{"type": "content", "content": text(report)}],
            });
            return vec![self.of_thread(caller, update, session)];
        }
        let (parent, _) = self.session_of(caller, session);
        let reason = if failed { "error" } else { "end_turn" };
        let ended = json!({
            "sessionUpdate": "subagent_update", "sessionId": task.task_id,
            "state": {"state": "idle", "stopReason": reason},
        });
        let id = format!("{}:reply", task.tool_use_id);
        let message = session_message(&id, &task.task_id, parent, report);
        vec![self.update(parent, ended), self.update(parent, message)]
    }

    fn plan(&mut self, steps: &[PlanStep], session: &Session) -> Value {
        let entries: Vec<Value> = steps
            .iter()
            .map(|step| json!({"content": step.text, "priority": "medium", "status": step.state}))
            .collect();
        let update = json!({"sessionUpdate": "plan", "entries": entries});
        self.past.records.push(update.clone());
        self.update(&session.id, update)
    }

    fn notice(&self, severity: &str, text: &str, session: &Session) -> Vec<Value> {
        if !self.shows_notices {
            return Vec::new();
        }
        let update = json!({"sessionUpdate": "notice", "severity": severity, "title": text});
        vec![self.update(&session.id, update)]
    }

    fn turn_ended(&mut self, outcome: Outcome<'_>, session: &Session) -> Vec<Value> {
        let reason = match outcome {
            Outcome::Completed => Ok("end_turn"),
            Outcome::Interrupted => Ok("cancelled"),
            Outcome::Limited(_) => Ok("max_turn_requests"),
            Outcome::Failed { text, .. } => Err(text),
        };
        let Tokens { input, output, .. } = self.tokens;
        let mut lines = vec![self.update(
            &session.id,
            json!({
                "sessionUpdate": "usage_update", "used": self.used, "size": CONTEXT_WINDOW,
                "cost": {"amount": session.usage.cost, "currency": "USD"},
            }),
        )];
        for uuid in std::mem::take(&mut self.running) {
            let Some(id) = self.prompts.remove(&uuid) else {
                continue;
            };
            lines.push(match reason {
                Ok(reason) => response(&id, &json!({
                    "stopReason": reason,
                    "usage": {
                        "inputTokens": input, "outputTokens": output, "totalTokens": input + output,
                    },
                })),
                Err(text) => json!({
                    "jsonrpc": "2.0", "id": id,
                    "error": error(INTERNAL_ERROR, &format!("Internal error: {text}")),
                }),
            });
        }
        self.past.cwd.clone_from(&session.cwd);
        self.setup.keep(&session.id, &mut self.past);
        lines.push(self.update(
            &session.id,
            json!({
                "sessionUpdate": "session_info_update", "title": self.past.title,
                "updatedAt": clock::timestamp(),
            }),
        ));
        lines
    }
}

/// Each block is a message of its own, so that two texts in a row stay two.
fn message_id(part: Part<'_>) -> String {
    format!("{}_{}", part.message_id, part.index)
}

fn message_kind(block: &Block) -> Option<&'static str> {
    match block {
        Block::Text => Some("agent_message"),
        Block::Thinking => Some("agent_thought"),
        Block::Redacted(_) | Block::Call { .. } => None,
    }
}

fn session_message(id: &str, from: &str, to: &str, content: &str) -> Value {
    json!({
        "sessionUpdate": "session_message", "messageId": id, "senderSessionId": from,
        "recipientSessionId": to, "content": [text(content)],
    })
}

fn response(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn request(id: u64, method: &Value, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}
