//! What hooks are told, and what follows from their answers.

use serde_json::{Map, Value, json};

use super::Stage;
use super::exit::Exit;
use super::track::Decision;
use crate::frames::{Card, Speaker};
use crate::scenario::Tool;

/// What a hook has said about a tool.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It runs or it does not.
    Decided(Decision),
    /// The host is asked.
    Ask,
}

impl Stage {
    pub(super) fn hook_start(&self) {
        let source = if self.resumed { "resume" } else { "startup" };
        self.tell(
            "SessionStart",
            source,
            &Speaker::main(),
            json!({"source": source}),
        );
    }

    /// A process that a signal takes away tells nothing.
    pub(super) fn hook_end(&self, exit: Exit) {
        if matches!(exit, Exit::Code(_)) {
            let rest = json!({"reason": "other"});
            self.tell("SessionEnd", "other", &Speaker::main(), rest);
        }
    }

    pub(super) fn hook_prompt(&self, prompt: &str) {
        self.tell(
            "UserPromptSubmit",
            "",
            &Speaker::main(),
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
        self.tell(event, failed.unwrap_or_default(), &Speaker::main(), rest);
    }

    pub(super) fn hook_agent(&self, event: &str, card: &Card, rest: Value) {
        let speaker = Speaker {
            card: Some(card.clone()),
            ..Speaker::main()
        };
        self.tell(event, &card.kind, &speaker, rest);
    }

    /// Asks the hooks about a tool. Any refusal counts, then a question, then a yes.
    pub(super) fn hook_tool(&self, speaker: &Speaker, id: &str, tool: &Tool) -> Option<Verdict> {
        let rest = json!({"tool_name": tool.name, "tool_input": tool.input, "tool_use_id": id});
        let answers = self.tell("PreToolUse", &tool.name, speaker, rest);
        let words = answers.iter().map(verdict).collect::<Vec<_>>();
        let at = |wanted: &str| words.iter().position(|word| *word == wanted);
        if let Some(at) = at("deny") {
            let message = reason(&answers[at]);
            let interrupt = false;
            return Some(Verdict::Decided(Decision::Denied { message, interrupt }));
        }
        if at("ask").is_some() {
            return Some(Verdict::Ask);
        }
        let answer = &answers[at("allow")?];
        let updated = answer["hookSpecificOutput"]["updatedInput"].as_object();
        Some(Verdict::Decided(match updated {
            Some(input) => Decision::Allowed(input.clone()),
            None => Decision::Ruled,
        }))
    }

    pub(super) fn hook_result(
        &self,
        speaker: &Speaker,
        id: &str,
        tool: &Tool,
        input: &Map<String, Value>,
    ) {
        let mut rest = json!({"tool_name": tool.name, "tool_input": input, "tool_use_id": id});
        rest["duration_ms"] = tool.duration_ms.into();
        if tool.is_error {
            rest["error"] = tool.result.clone();
            rest["is_interrupt"] = false.into();
            self.tell("PostToolUseFailure", &tool.name, speaker, rest);
        } else {
            let response = tool.tool_use_result.as_ref().unwrap_or(&tool.result);
            rest["tool_response"] = response.clone();
            self.tell("PostToolUse", &tool.name, speaker, rest);
        }
    }

    /// Tells an event with what all events have (protocol.md D.2).
    fn tell(&self, event: &str, matched: &str, speaker: &Speaker, rest: Value) -> Vec<Value> {
        if !self.hooks.want(event) {
            return Vec::new();
        }
        let mut payload = json!({
            "session_id": self.session.id, "transcript_path": self.session.transcript(),
            "cwd": self.session.cwd, "permission_mode": self.session.mode,
            "hook_event_name": event,
        });
        if let Some(card) = &speaker.card {
            payload["agent_id"] = card.task_id.as_str().into();
            payload["agent_type"] = card.kind.as_str().into();
        }
        for (name, value) in rest.as_object().into_iter().flatten() {
            payload[name] = value.clone();
        }
        self.hooks.tell(event, matched, &payload)
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
