//! The events that hooks receive, and the decisions in their answers.

use serde_json::{Map, Value, json};

use super::Player;
use super::exit::Exit;
use crate::event::Decision;
use crate::lines::{AgentThread, TaskInfo};
use crate::scenario::Tool;

/// The decision of the hooks about a tool call.
#[derive(Debug)]
pub(super) enum HookVerdict {
    /// The call is allowed or denied.
    Decided(Decision),
    /// The host decides.
    Ask,
}

impl Player {
    pub(super) fn hook_start(&self) {
        let source = if self.resumed { "resume" } else { "startup" };
        self.run_hooks(
            "SessionStart",
            source,
            &AgentThread::main(),
            json!({"source": source}),
        );
    }

    /// A process that ends by a signal runs no `SessionEnd` hook.
    pub(super) fn hook_end(&self, exit: Exit) {
        if matches!(exit, Exit::Code(_)) {
            let rest = json!({"reason": "other"});
            self.run_hooks("SessionEnd", "other", &AgentThread::main(), rest);
        }
    }

    pub(super) fn hook_prompt(&self, prompt: &str) {
        self.run_hooks(
            "UserPromptSubmit",
            "",
            &AgentThread::main(),
            json!({"prompt": prompt}),
        );
    }

    pub(super) fn hook_stop(&self, failed: Option<&str>, text: &str) {
        let (event, mut rest) = match failed {
            Some(error) => ("StopFailure", json!({"error": error})),
            None => (
                "Stop",
                json!({
                    "stop_hook_active": false, "background_tasks": [], "session_crons": [],
                }),
            ),
        };
        rest["last_assistant_message"] = text.into();
        self.run_hooks(
            event,
            failed.unwrap_or_default(),
            &AgentThread::main(),
            rest,
        );
    }

    pub(super) fn hook_agent(&self, event: &str, task: &TaskInfo, rest: Value) {
        let thread = AgentThread {
            task: Some(task.clone()),
            ..AgentThread::main()
        };
        self.run_hooks(event, &task.kind, &thread, rest);
    }

    /// Runs the `PreToolUse` hooks. A denial takes precedence over `ask`, and `ask` over `allow`.
    pub(super) fn hook_tool(
        &self,
        thread: &AgentThread,
        id: &str,
        tool: &Tool,
    ) -> Option<HookVerdict> {
        let rest = json!({"tool_name": tool.name, "tool_input": tool.input, "tool_use_id": id});
        let answers = self.run_hooks("PreToolUse", &tool.name, thread, rest);
        let decisions = answers.iter().map(verdict).collect::<Vec<_>>();
        let at = |wanted: &str| decisions.iter().position(|it| *it == wanted);
        if let Some(at) = at("deny") {
            let message = reason(&answers[at]);
            let interrupt = false;
            return Some(HookVerdict::Decided(Decision::Denied {
                message,
                interrupt,
            }));
        }
        if at("ask").is_some() {
            return Some(HookVerdict::Ask);
        }
        let answer = &answers[at("allow")?];
        let updated = answer["hookSpecificOutput"]["updatedInput"].as_object();
        Some(HookVerdict::Decided(match updated {
            Some(input) => Decision::Allowed(input.clone()),
            None => Decision::AllowedByRule,
        }))
    }

    pub(super) fn hook_result(
        &self,
        thread: &AgentThread,
        id: &str,
        tool: &Tool,
        input: &Map<String, Value>,
    ) {
        let mut rest = json!({"tool_name": tool.name, "tool_input": input, "tool_use_id": id});
        rest["duration_ms"] = tool.duration_ms.into();
        if tool.is_error {
            rest["error"] = tool.result.clone();
            rest["is_interrupt"] = false.into();
            self.run_hooks("PostToolUseFailure", &tool.name, thread, rest);
        } else {
            let response = tool.tool_use_result.as_ref().unwrap_or(&tool.result);
            rest["tool_response"] = response.clone();
            self.run_hooks("PostToolUse", &tool.name, thread, rest);
        }
    }

    /// Runs the hooks of an event, with the members that all events have.
    fn run_hooks(
        &self,
        event: &str,
        matched: &str,
        thread: &AgentThread,
        rest: Value,
    ) -> Vec<Value> {
        if !self.hooks.has_handlers(event) {
            return Vec::new();
        }
        let mut payload = json!({
            "session_id": self.session.id, "transcript_path": self.session.transcript_path(),
            "cwd": self.session.cwd, "permission_mode": self.session.mode,
            "hook_event_name": event,
        });
        if let Some(task) = &thread.task {
            payload["agent_id"] = task.task_id.as_str().into();
            payload["agent_type"] = task.kind.as_str().into();
        }
        for (name, value) in rest.as_object().into_iter().flatten() {
            payload[name] = value.clone();
        }
        self.hooks.run(event, matched, &payload)
    }
}

fn verdict(answer: &Value) -> &str {
    let decision = answer["hookSpecificOutput"]["permissionDecision"].as_str();
    let old = answer["decision"]
        .as_str()
        .map(|it| if it == "block" { "deny" } else { it });
    decision.or(old).unwrap_or_default()
}

fn reason(answer: &Value) -> String {
    let given = answer["hookSpecificOutput"]["permissionDecisionReason"].as_str();
    let given = given.or_else(|| answer["reason"].as_str());
    given.unwrap_or("a hook refused").to_owned()
}
