//! Reactions to the host in the dialects that speak JSON-RPC.

use serde_json::{Value, json};

use super::fiber::{Fiber, Op, PlannedCall};
use super::{Played, Player};
use crate::dialect::{Action, Joining, PermissionReply};
use crate::event::{Decision, Event};
use crate::lines::encode;
use crate::prompt::Prompt;
use crate::scenario::{Limits, PlanStep, Step, Tool, WaitFor};
use crate::session::new_uuid;

impl Player {
    /// How prompts join a running turn; stream-json folds them at the end of a round of tools, unless the scenario
    /// says otherwise.
    pub(super) fn joining(&self) -> Joining {
        match &self.dialect {
            Some(dialect) => dialect.joining(),
            None if self.scenario.fold => Joining::Folded,
            None => Joining::Separate,
        }
    }

    /// Whether there is a conversation. In stream-json the process is one.
    pub(super) fn is_open(&self) -> bool {
        self.dialect.as_ref().is_none_or(|it| it.is_open())
    }

    /// Whether a prompt has joined the running turn.
    pub(super) fn was_joined(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.joined)
    }

    pub(super) fn on_rpc_line(&mut self, line: &[u8]) -> Played {
        let Some(dialect) = &mut self.dialect else {
            return Ok(());
        };
        for action in dialect.read(line, &mut self.session) {
            self.act(action);
        }
        Ok(())
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Print(line) => self.output.write(encode(&line)),
            Action::Prompt(prompt) => self.take_prompt(prompt),
            Action::Interrupt => self.interrupt_by_host(),
            Action::Answer { request_id, reply } => self.take_answer(&request_id, reply),
            Action::LoggedIn => self.scenario.logged_out = false,
            Action::Resumed => self.resumed = true,
            Action::Control(method) => {
                self.notify_waiting(&WaitFor::Control(method));
            }
        }
    }

    fn take_prompt(&mut self, prompt: Prompt) {
        if self.joining() == Joining::Steered && self.turn.is_some() {
            self.steer(&prompt);
        } else {
            self.queue.push(prompt);
        }
        self.notify_waiting(&WaitFor::Prompt);
    }

    /// Plays the turn of a prompt at the end of the running one.
    pub(super) fn steer(&mut self, prompt: &Prompt) {
        self.emit(Event::PromptJoined(prompt));
        let text = prompt.text();
        let next = match self.matching_turn(&text) {
            Some(index) => self.take(index),
            None => self.default_turn(&text),
        };
        let Some(turn) = &mut self.turn else { return };
        turn.joined = true;
        let Some(fiber) = self.fibers.get_mut(&turn.fiber) else {
            return;
        };
        fiber.ops.pop_back();
        fiber.ops.extend([Op::MessageDelta, Op::MessageStop]);
        fiber.ops.push_back(Op::Ask(text));
        fiber.ops.extend(next.steps.into_iter().map(Op::step));
        fiber
            .ops
            .extend([Op::MessageDelta, Op::MessageStop, Op::EndTurn]);
    }

    /// Prints a plan: in stream-json a call, since the agent plans by a tool.
    pub(super) fn plan_steps(&mut self, fiber: &mut Fiber, steps: &[PlanStep]) {
        if self.dialect.is_some() {
            return self.emit(Event::Plan(steps));
        }
        let todos: Vec<Value> = steps
            .iter()
            .map(
                |step| json!({"content": step.text, "status": step.state, "activeForm": step.text}),
            )
            .collect();
        let tool = Tool::new(
            "TodoWrite",
            json!({"todos": todos}),
            "Todos have been modified.",
        );
        fiber.push_front([Op::step(Step::Tool(tool))]);
    }

    /// Prints the use of a rate limit.
    pub(super) fn limits(&mut self, limits: Limits) {
        let kind = if limits.window_minutes == 300 {
            "five_hour"
        } else {
            "seven_day"
        };
        self.print(&json!({
            "type": "rate_limit_event",
            "rate_limit_info": {
                "status": "allowed", "resetsAt": limits.resets_at, "rateLimitType": kind,
                "utilization": f64::from(limits.used_percent) / 100.0,
            },
            "uuid": new_uuid(), "session_id": self.session.id,
        }));
        self.emit(Event::Limits(limits));
    }

    fn interrupt_by_host(&mut self) {
        if self.notify_waiting(&WaitFor::Interrupt) {
            return;
        }
        self.withdraw_requests();
        if self.joining() == Joining::Separate {
            let queue = std::mem::take(&mut self.queue);
            self.abort(false);
            self.emit(Event::PromptsCancelled(&queue));
        } else {
            self.abort(false);
        }
        self.stop_tasks(None);
    }

    fn take_answer(&mut self, request_id: &str, reply: PermissionReply) {
        let Some((id, _)) = self.open_requests.remove(request_id) else {
            return;
        };
        self.emit(Event::PermissionClosed {
            request_id,
            withdrawn: false,
        });
        let tool = match self.fibers.get(&id).and_then(|fiber| fiber.call.as_ref()) {
            Some(PlannedCall::Tool { tool, .. }) => Some(tool.clone()),
            _ => None,
        };
        let input = || tool.as_ref().map(|it| it.input.clone()).unwrap_or_default();
        let decision = match reply {
            PermissionReply::Allowed => Decision::Allowed(input()),
            PermissionReply::AlwaysAllowed => {
                self.always_allowed
                    .extend(tool.as_ref().map(|it| it.name.clone()));
                Decision::Allowed(input())
            }
            PermissionReply::Denied { interrupt } => Decision::Denied {
                message: "The user declined the tool use.".to_owned(),
                interrupt,
            },
            PermissionReply::Failed(why) => Decision::Failed(why),
        };
        self.resolve(id, decision);
    }
}
