//! Sub-agents and background tasks.

use serde_json::{Value, json};

use super::Player;
use super::fiber::{Fiber, Op, PlannedCall};
use super::tool_result::{ToolResult, failed};
use crate::clock;
use crate::event::{CallOf, Decision, Event};
use crate::lines::{
    AgentThread, TaskInfo, background_tasks, notification, started, updated, user_text,
};
use crate::scenario::{Agent, Step, Tool};
use crate::session::{AgentCount, new_uuid};

/// A finished background task, and the turn that it starts.
#[derive(Debug)]
pub(super) struct TaskReport {
    pub(super) run_id: String,
    pub(super) steps: Vec<Step>,
}

impl Player {
    pub(super) fn plan_agent(&mut self, fiber: &Fiber, agent: Agent) -> PlannedCall {
        let parent = fiber.thread.task.as_ref();
        let kind = if agent.kind.is_empty() {
            "general-purpose"
        } else {
            &agent.kind
        };
        let task = TaskInfo {
            task_id: format!("a{}", hex(16)),
            run_id: run_id(),
            tool_use_id: self.tool_use_id(&agent.id),
            description: self.fill(&agent.description, None),
            kind: kind.to_owned(),
            prompt: self.fill(&agent.prompt, None),
            depth: parent.map_or(0, |task| task.depth) + 1,
            parent_task: parent.map(|task| task.task_id.clone()),
            background: agent.background,
        };
        PlannedCall::Agent {
            task: Box::new(task),
            agent: Box::new(agent),
        }
    }

    /// Prints the lines that precede the end of the message with the Agent call.
    pub(super) fn announce(&mut self, task: &TaskInfo) {
        self.session.usage.agents.spawn(task);
        if task.background {
            self.list_background(Some(task));
        }
        self.print(&started(&self.session, task));
        if task.background {
            let thread = AgentThread::main();
            self.print_result(&thread, &self.launched(task));
        }
    }

    fn launched(&self, task: &TaskInfo) -> ToolResult {
        let file = self.session.output_file(&task.task_id);
        let text = format!(
            "Async agent launched successfully.\nagentId: {}\nThe agent is working in the \
             background. You will be notified automatically when it completes.\noutput_file: \
             {file}",
            task.task_id
        );
        ToolResult {
            block: json!({
                "tool_use_id": task.tool_use_id, "type": "tool_result",
                "content": [{"type": "text", "text": text}],
            }),
            structured: json!({
                "isAsync": true, "status": "async_launched", "agentId": task.task_id,
                "description": task.description, "resolvedModel": self.session.model,
                "prompt": task.prompt, "outputFile": file, "canReadOutputFile": true,
                "canContinueAgent": true,
            }),
            meta: Some(accepted(&task.tool_use_id)),
        }
    }

    /// Prints the prompt of a foreground sub-agent as its first line. A background one has none.
    pub(super) fn prompt_agent(&self, task: &TaskInfo) {
        let thread = self.thread_of(task);
        if thread.prints_calls && !task.background {
            self.print(&user_text(&self.session, &thread, &task.prompt).into());
        }
    }

    /// Returns what is printed of a sub-agent. The text of foreground sub-agents needs
    /// `--forward-subagent-text`, and so does everything below depth 1.
    fn thread_of(&self, task: &TaskInfo) -> AgentThread {
        AgentThread {
            prints_text: task.background || self.session.forward,
            prints_calls: task.background || task.depth == 1 || self.session.forward,
            task: Some(task.clone()),
        }
    }

    /// Starts a sub-agent. Returns whether the caller waits for it.
    pub(super) fn start_agent(&mut self, fiber: &Fiber, task: TaskInfo, agent: Agent) -> bool {
        let background = agent.background;
        self.hook_agent("SubagentStart", &task, json!({}));
        self.emit(Event::AgentStarted(&fiber.thread, &task));
        let mut ops: std::collections::VecDeque<Op> =
            agent.steps.iter().cloned().map(Op::step).collect();
        ops.extend([Op::MessageDelta, Op::MessageStop, Op::AgentEnd]);
        let thread = self.thread_of(&task);
        let call = PlannedCall::Agent {
            task: Box::new(task),
            agent: Box::new(agent),
        };
        self.spawn_fiber(Fiber {
            parent: (!background).then_some(fiber.id),
            thread,
            call: Some(call),
            ops,
            background,
            ..Fiber::default()
        });
        !background
    }

    pub(super) fn agent_end(&mut self, fiber: &Fiber) {
        let Some(PlannedCall::Agent { task, agent }) = &fiber.call else {
            return;
        };
        let error = agent.fails.as_deref();
        let status = if error.is_some() {
            "failed"
        } else {
            "completed"
        };
        let summary = error.unwrap_or(&fiber.last_text);
        let usage = if error.is_some() {
            Value::Null
        } else {
            self.task_usage(fiber)
        };
        let event = json!({"stop_hook_active": false, "last_assistant_message": summary});
        self.hook_agent("SubagentStop", task, event);
        self.print(&updated(&self.session, task, status, error));
        self.print(&notification(&self.session, task, status, summary, usage));
        self.session.usage.agents.end(error.is_some());
        let caller = fiber.parent.and_then(|parent| self.fibers.get(&parent));
        let thread = caller.map_or_else(AgentThread::main, |caller| caller.thread.clone());
        self.emit(Event::AgentEnded {
            caller: &thread,
            task,
            report: summary,
            failed: error.is_some(),
        });
        if task.background {
            self.list_background(None);
            self.schedule_report(task, &agent.then, "The agent has reported.");
        } else {
            let outcome = error.map_or_else(
                || self.report_result(fiber, task),
                |error| failed(&task.tool_use_id, error, Some(accepted(&task.tool_use_id))),
            );
            self.print_result(&thread, &outcome);
        }
    }

    fn report_result(&self, fiber: &Fiber, task: &TaskInfo) -> ToolResult {
        let report = &fiber.last_text;
        let usage = self.task_usage(fiber);
        let text = format!(
            "[Subagent hand-back] The report follows:\n  {report}\nagentId: {}\n<usage>\
             subagent_tokens: {}\ntool_uses: {}\nduration_ms: {}</usage>",
            task.task_id, usage["total_tokens"], usage["tool_uses"], usage["duration_ms"],
        );
        ToolResult {
            block: json!({
                "tool_use_id": task.tool_use_id, "type": "tool_result",
                "content": [{"type": "text", "text": text}],
            }),
            structured: json!({
                "status": "completed", "prompt": task.prompt, "agentId": task.task_id,
                "content": [{"type": "text", "text": report}],
                "resolvedModel": self.session.model, "totalDurationMs": usage["duration_ms"],
                "totalTokens": usage["total_tokens"], "totalToolUseCount": usage["tool_uses"],
                "canContinueAgent": true,
            }),
            meta: Some(accepted(&task.tool_use_id)),
        }
    }

    pub(super) fn shell_task_info(&self, id: &str, tool: &Tool, background: bool) -> TaskInfo {
        let text = |key: &str| tool.input.get(key).and_then(Value::as_str);
        TaskInfo {
            task_id: format!("b{}", hex(8)),
            run_id: run_id(),
            tool_use_id: id.to_owned(),
            description: text("description")
                .or_else(|| text("command"))
                .unwrap_or("")
                .to_owned(),
            background,
            ..TaskInfo::default()
        }
    }

    /// Starts a shell command in the background; the call returns immediately.
    pub(super) fn start_shell(&mut self, fiber: &Fiber, id: &str, tool: &Tool) {
        let task = self.shell_task_info(id, tool, true);
        self.list_background(Some(&task));
        self.print(&started(&self.session, &task));
        let file = self.session.output_file(&task.task_id);
        let text = format!(
            "Command running in background with ID: {}. Output is being written to: {file}.",
            task.task_id
        );
        let launched = Tool {
            result: text.as_str().into(),
            ..tool.clone()
        };
        let call = CallOf {
            thread: &fiber.thread,
            id,
            tool: &launched,
        };
        self.emit(Event::CallStarted(call));
        self.emit(Event::CallEnded(call, &Decision::AllowedByRule));
        let outcome = ToolResult {
            block: json!({
                "tool_use_id": id, "type": "tool_result", "content": text, "is_error": false,
            }),
            structured: json!({
                "stdout": "", "stderr": "", "interrupted": false, "isImage": false,
                "noOutputExpected": false, "backgroundTaskId": task.task_id,
            }),
            meta: Some(accepted(id)),
        };
        self.print_result(&fiber.thread, &outcome);
        self.spawn_fiber(Fiber {
            thread: AgentThread {
                task: Some(task),
                prints_text: false,
                prints_calls: false,
            },
            call: Some(PlannedCall::Tool {
                id: id.to_owned(),
                tool: Box::new(tool.clone()),
            }),
            ops: [Op::Wait(tool.duration_ms), Op::ShellEnd].into(),
            background: true,
            ..Fiber::default()
        });
    }

    /// Announces a long foreground command as a task.
    pub(super) fn shell_task(&self, fiber: &mut Fiber, task: TaskInfo) {
        self.print(&started(&self.session, &task));
        fiber.ops.iter_mut().for_each(|op| {
            if matches!(op, Op::ShellEnd) {
                let done = notification(
                    &self.session,
                    &task,
                    "completed",
                    &task.description,
                    Value::Null,
                );
                *op = Op::Frame(done);
            }
        });
    }

    pub(super) fn shell_end(&mut self, fiber: &Fiber) {
        let (Some(task), Some(PlannedCall::Tool { tool, .. })) = (&fiber.thread.task, &fiber.call)
        else {
            return;
        };
        let summary = format!(
            "Background command \"{}\" completed (exit code 0)",
            task.description
        );
        self.print(&updated(&self.session, task, "completed", None));
        self.print(&notification(
            &self.session,
            task,
            "completed",
            &summary,
            Value::Null,
        ));
        self.list_background(None);
        self.schedule_report(task, &tool.then, "The background command has finished.");
    }

    fn schedule_report(&mut self, task: &TaskInfo, then: &[Step], default: &str) {
        let steps = if then.is_empty() {
            vec![Step::text(default)]
        } else {
            then.to_vec()
        };
        self.task_reports.push_back(TaskReport {
            run_id: task.run_id.clone(),
            steps,
        });
    }

    /// Prints `background_tasks_changed` with the running tasks and a new one.
    pub(super) fn list_background(&self, new: Option<&TaskInfo>) {
        let running = self.fibers.values().filter(|fiber| fiber.background);
        let tasks = running.filter_map(|fiber| fiber.thread.task.as_ref());
        self.print(&background_tasks(&self.session, tasks.chain(new)));
    }

    /// Stops one background task, or every background sub-agent with `None`. Returns whether there
    /// was one.
    pub(super) fn stop_tasks(&mut self, task_id: Option<&str>) -> bool {
        let wanted = |fiber: &Fiber| {
            let task = fiber.thread.task.as_ref().filter(|_| fiber.background);
            task.is_some_and(|task| match task_id {
                Some(id) => task.task_id == id,
                None => !task.is_shell(),
            })
        };
        let ids: Vec<u64> = self
            .fibers
            .values()
            .filter(|t| wanted(t))
            .map(|t| t.id)
            .collect();
        for id in &ids {
            self.stop_fiber(*id);
        }
        if !ids.is_empty() {
            self.list_background(None);
        }
        !ids.is_empty()
    }

    fn stop_fiber(&mut self, id: u64) {
        self.drop_children(id);
        let Some(fiber) = self.fibers.remove(&id) else {
            return;
        };
        if let Some(task) = &fiber.thread.task {
            self.print_stopped(task);
            self.emit(Event::AgentEnded {
                caller: &AgentThread::main(),
                task,
                report: "stopped",
                failed: true,
            });
        }
    }

    pub(super) fn print_stopped(&mut self, task: &TaskInfo) {
        self.session.usage.agents.killed += u64::from(!task.is_shell());
        self.print(&updated(&self.session, task, "killed", None));
        let summary = &task.description;
        self.print(&notification(
            &self.session,
            task,
            "stopped",
            summary,
            Value::Null,
        ));
    }
}

impl AgentCount {
    fn spawn(&mut self, task: &TaskInfo) {
        if task.background {
            self.background += 1;
        } else {
            self.foreground += 1;
        }
        self.deepest = self.deepest.max(task.depth);
        self.nested += u64::from(task.depth > 1);
        let count = self
            .kinds
            .get(&task.kind)
            .and_then(Value::as_u64)
            .unwrap_or(0);
        self.kinds.insert(task.kind.clone(), (count + 1).into());
    }

    fn end(&mut self, failed: bool) {
        self.failed += u64::from(failed);
        self.completed += u64::from(!failed);
    }
}

fn accepted(id: &str) -> Value {
    json!({"id": id, "permission_decision": {
        "decision": "accept", "source": "config", "reason_type": "rule",
    }})
}

fn hex(digits: usize) -> String {
    new_uuid().replace('-', "").chars().take(digits).collect()
}

/// Returns a run id, which sorts by time: milliseconds in base 36, then random digits.
fn run_id() -> String {
    let (mut ms, mut digits) = (clock::now_ms(), Vec::new());
    while ms > 0 {
        digits.push(char::from_digit(u32::try_from(ms % 36).unwrap_or(0), 36).unwrap_or('0'));
        ms /= 36;
    }
    let time: String = digits.iter().rev().collect();
    format!("0{time}-{}", hex(8))
}
