//! Tool calls: planning, permission, execution, result.

use serde_json::{Map, Value, json};

use super::Player;
use super::fiber::{Fiber, Op, PlannedCall, Wait};
use super::hook_events::HookVerdict;
use super::tool_result::{ToolResult, not_granted, result_of};
use crate::event::{CallOf, Decision, Event};
use crate::lines::{AgentThread, can_use_tool, cancel, system, tool_result};
use crate::scenario::{Call, Request, Tool};
use crate::session::new_uuid;

/// Run time from which a shell command is announced as a task. The agent announces one of 3 s and
/// not one of 1 s.
const TASK_AFTER_MS: u64 = 2_000;

/// Tools that need no permission in `acceptEdits` mode.
const EDIT_TOOLS: &[&str] = &["Edit", "Write", "NotebookEdit"];

impl Player {
    /// Assigns the ids of a call and replaces its placeholders.
    pub(super) fn plan(&mut self, fiber: &Fiber, call: Call) -> PlannedCall {
        match call {
            Call::Tool(mut tool) => {
                let id = self.tool_use_id(&tool.id);
                tool.input = self.fill_map(&tool.input, None);
                PlannedCall::Tool {
                    id,
                    tool: Box::new(tool),
                }
            }
            Call::Agent(agent) => self.plan_agent(fiber, agent),
        }
    }

    pub(super) fn tool_use_id(&mut self, wanted: &str) -> String {
        if wanted.is_empty() {
            self.session.new_id("toolu")
        } else {
            wanted.to_owned()
        }
    }

    pub(super) fn start_calls(&mut self, fiber: &mut Fiber, calls: Vec<PlannedCall>) {
        fiber.push_front([Op::Fold]);
        for call in calls {
            if self.start_call(fiber, call) {
                fiber.wait = Wait::Children;
            }
        }
    }

    /// Starts a call. Returns whether the caller waits for it.
    fn start_call(&mut self, fiber: &Fiber, call: PlannedCall) -> bool {
        match call {
            PlannedCall::Agent { task, agent } => self.start_agent(fiber, *task, *agent),
            PlannedCall::Tool { id, tool } if tool.background => {
                self.start_shell(fiber, &id, &tool);
                false
            }
            call @ PlannedCall::Tool { .. } => {
                let child = Fiber {
                    parent: Some(fiber.id),
                    thread: fiber.thread.clone(),
                    call: Some(call),
                    ops: [Op::Run].into(),
                    ..Fiber::default()
                };
                self.spawn_fiber(child);
                true
            }
        }
    }

    pub(super) fn request_permission(&mut self, fiber: &mut Fiber) {
        let Some(PlannedCall::Tool { id, tool }) = fiber.call.clone() else {
            return;
        };
        let verdict = self.hook_tool(&fiber.thread, &id, &tool);
        let must_ask = matches!(verdict, Some(HookVerdict::Ask));
        if let Some(HookVerdict::Decided(decision)) = verdict {
            fiber.push_front([Op::Decide(decision)]);
        } else if !must_ask && (!tool.ask || self.is_allowed_by_mode(&tool.name)) {
            fiber.push_front([Op::Decide(Decision::AllowedByRule)]);
        } else if !self.session.asks_host {
            self.deny_without_host(fiber, &id, &tool);
        } else if self.eof {
            fiber.push_front([Op::Decide(stream_closed())]);
        } else {
            self.ask(fiber, &id, &tool);
        }
    }

    fn is_allowed_by_mode(&self, name: &str) -> bool {
        if self.always_allowed.contains(name) {
            return true;
        }
        match self.session.mode.as_str() {
            "bypassPermissions" => true,
            "acceptEdits" => EDIT_TOOLS.contains(&name),
            _ => false,
        }
    }

    fn deny_without_host(&self, fiber: &mut Fiber, id: &str, tool: &Tool) {
        let message = not_granted(&tool.name);
        let rest = json!({"tool_name": tool.name, "tool_use_id": id, "message": message});
        self.print(&system(&self.session, "permission_denied", rest));
        fiber.push_front([Op::Decide(Decision::DeniedWithoutHost)]);
    }

    fn ask(&mut self, fiber: &mut Fiber, id: &str, tool: &Tool) {
        let request_id = new_uuid();
        let line = can_use_tool(&request_id, &fiber.thread, &tool.name, id, &tool.input);
        let call = CallOf {
            thread: &fiber.thread,
            id,
            tool,
        };
        self.emit(Event::PermissionAsked {
            request_id: &request_id,
            call,
        });
        self.open_request(fiber, request_id, line, tool.withdraw_ms);
    }

    /// Sends a control request of any kind.
    pub(super) fn send_request(&mut self, fiber: &mut Fiber, request: Request) {
        let request_id = new_uuid();
        let body = self.fill_map(&request.request, None);
        let line = json!({"type": "control_request", "request_id": request_id, "request": &body});
        if !self.eof {
            self.emit(Event::HostAsked {
                request_id: &request_id,
                body: &body,
            });
            self.open_request(fiber, request_id, line, request.withdraw_ms);
        }
    }

    fn open_request(
        &mut self,
        fiber: &mut Fiber,
        id: String,
        line: Value,
        withdraw_ms: Option<u64>,
    ) {
        self.print(&line);
        if let Some(ms) = withdraw_ms {
            let ops = [Op::Wait(ms), Op::Withdraw(id.clone())].into();
            self.spawn_fiber(Fiber {
                thread: AgentThread::main(),
                ops,
                ..Fiber::default()
            });
        }
        self.open_requests.insert(id, (fiber.id, line));
        fiber.wait = Wait::Response;
    }

    /// Withdraws a control request. A response that arrives later is ignored.
    pub(super) fn withdraw(&mut self, request_id: &str) {
        if let Some((id, _)) = self.open_requests.remove(request_id) {
            self.print(&cancel(request_id));
            self.emit(Event::PermissionClosed {
                request_id,
                withdrawn: true,
            });
            self.resolve(id, Decision::Failed("the request was withdrawn".to_owned()));
        }
    }

    /// Handles a response of the host. Late and repeated responses are ignored.
    pub(super) fn on_response(&mut self, response: &Value) {
        let request_id = response["request_id"].as_str().unwrap_or_default();
        let Some((id, _)) = self.open_requests.remove(request_id) else {
            return;
        };
        let payload = &response["response"];
        let decision = match payload["behavior"].as_str() {
            _ if response["subtype"] == "error" => Decision::Failed(text(&response["error"])),
            Some("allow") => self.allowed(id, payload),
            Some("deny") => Decision::Denied {
                message: text(&payload["message"]),
                interrupt: payload["interrupt"] == true,
            },
            _ => Decision::Failed("the answer has no behavior".to_owned()),
        };
        self.resolve(id, decision);
    }

    fn allowed(&mut self, id: u64, payload: &Value) -> Decision {
        for update in payload["updatedPermissions"]
            .as_array()
            .into_iter()
            .flatten()
        {
            if let (Some("setMode"), Some(mode)) =
                (update["type"].as_str(), update["mode"].as_str())
            {
                self.session.mode = mode.to_owned();
                self.announce_mode();
            }
        }
        let updated = payload["updatedInput"].as_object().cloned();
        let asked = || match self.fibers.get(&id).and_then(|fiber| fiber.call.as_ref()) {
            Some(PlannedCall::Tool { tool, .. }) => tool.input.clone(),
            _ => Map::new(),
        };
        Decision::Allowed(updated.unwrap_or_else(asked))
    }

    pub(super) fn resolve(&mut self, id: u64, decision: Decision) {
        let now = self.now;
        if let Some(fiber) = self.fibers.get_mut(&id) {
            fiber.push_front([Op::Decide(decision)]);
            fiber.wake(now);
        }
    }

    /// Fails the open control requests after the end of stdin; the turn continues.
    pub(super) fn fail_requests(&mut self) {
        for (_, (id, _)) in std::mem::take(&mut self.open_requests) {
            self.resolve(id, stream_closed());
        }
    }

    /// Runs or fails a call after the permission check.
    pub(super) fn decide(&mut self, fiber: &mut Fiber, decision: Decision) {
        let Some(PlannedCall::Tool { id, tool }) = fiber.call.clone() else {
            return;
        };
        let runs = matches!(decision, Decision::AllowedByRule | Decision::Allowed(_));
        let follow = if runs {
            tool.allowed.clone()
        } else {
            tool.denied.clone()
        };
        if let Some(parent) = fiber.parent.and_then(|parent| self.fibers.get_mut(&parent)) {
            // Before the following steps, but after the operation that ends the round of tools.
            let rest = parent.ops.pop_front();
            parent.push_front(rest.into_iter().chain(follow.into_iter().map(Op::step)));
        }
        if runs {
            self.emit(Event::CallStarted(CallOf {
                thread: &fiber.thread,
                id: &id,
                tool: &tool,
            }));
        } else {
            fiber.push_front([Op::Return(decision)]);
            return;
        }
        let long = tool.name == "Bash" && tool.duration_ms >= TASK_AFTER_MS;
        let mut ops = vec![Op::Wait(tool.duration_ms)];
        if long {
            let task = self.shell_task_info(&id, &tool, false);
            ops = vec![
                Op::Wait(TASK_AFTER_MS),
                Op::ShellTask(Box::new(task)),
                Op::Wait(tool.duration_ms - TASK_AFTER_MS),
                Op::ShellEnd,
            ];
        }
        ops.push(Op::Return(decision));
        fiber.push_front(ops);
    }

    pub(super) fn print_call_result(&mut self, fiber: &Fiber, decision: &Decision) {
        let Some(PlannedCall::Tool { id, tool }) = &fiber.call else {
            return;
        };
        let input = match decision {
            Decision::Allowed(input) => input.clone(),
            _ => tool.input.clone(),
        };
        let ran = matches!(decision, Decision::AllowedByRule | Decision::Allowed(_));
        if tool.no_result && ran {
            return;
        }
        let filled = Tool {
            result: self.fill_value(&tool.result, Some(&input)),
            tool_use_result: tool
                .tool_use_result
                .as_ref()
                .map(|value| self.fill_value(value, Some(&input))),
            input,
            ..(**tool).clone()
        };
        if ran {
            self.hook_result(&fiber.thread, id, &filled, &filled.input);
        }
        self.print_result(&fiber.thread, &result_of(id, &filled, decision));
        let call = CallOf {
            thread: &fiber.thread,
            id,
            tool: &filled,
        };
        self.emit(Event::CallEnded(call, decision));
        self.record_denial(id, tool, decision);
    }

    pub(super) fn print_result(&self, thread: &AgentThread, outcome: &ToolResult) {
        if thread.prints_calls {
            let ToolResult {
                block,
                structured,
                meta,
            } = outcome;
            self.print(&tool_result(
                &self.session,
                thread,
                block,
                structured,
                meta.clone(),
            ));
        }
    }

    fn record_denial(&mut self, id: &str, tool: &Tool, decision: &Decision) {
        if let Decision::Denied { interrupt, .. } = decision {
            if let Some(turn) = &mut self.turn {
                turn.denials.push(json!({
                    "tool_name": tool.name, "tool_use_id": id, "tool_input": tool.input,
                }));
            }
            self.abort_requested |= *interrupt;
        }
    }
}

fn stream_closed() -> Decision {
    Decision::Failed("Stream closed".to_owned())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
