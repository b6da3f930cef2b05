//! Sub-agents and background work.

use serde_json::{Value, json};

use super::Stage;
use super::outcome::{Outcome, failed};
use super::track::{Cue, Job, Track};
use crate::clock;
use crate::frames::{Card, Speaker, background_tasks, notification, started, updated, user_text};
use crate::scenario::{Agent, Step, Tool};
use crate::session::{AgentCount, new_uuid};

/// A finished background task, and the unasked turn that it starts.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) run_id: String,
    pub(super) steps: Vec<Step>,
}

impl Stage {
    pub(super) fn plan_agent(&mut self, track: &Track, agent: Agent) -> Job {
        let parent = track.speaker.card.as_ref();
        let kind = if agent.kind.is_empty() {
            "general-purpose"
        } else {
            &agent.kind
        };
        let card = Card {
            task_id: format!("a{}", hex(16)),
            run_id: run_id(),
            tool_use_id: self.tool_use_id(&agent.id),
            description: self.fill(&agent.description, None),
            kind: kind.to_owned(),
            prompt: self.fill(&agent.prompt, None),
            depth: parent.map_or(0, |card| card.depth) + 1,
            parent_task: parent.map(|card| card.task_id.clone()),
            background: agent.background,
        };
        Job::Agent {
            card: Box::new(card),
            agent: Box::new(agent),
        }
    }

    /// The lines that come while the message with the Agent call is still open.
    pub(super) fn announce(&mut self, card: &Card) {
        self.session.ledger.agents.spawn(card);
        if card.background {
            self.list_background(Some(card));
        }
        self.print(&started(&self.session, card));
        if card.background {
            let speaker = Speaker::main();
            self.print_result(&speaker, &self.launched(card));
        }
    }

    fn launched(&self, card: &Card) -> Outcome {
        let file = self.session.output_file(&card.task_id);
        let text = format!(
            "Async agent launched successfully.\nagentId: {}\nThe agent is working in the \
             background. You will be notified automatically when it completes.\noutput_file: \
             {file}",
            card.task_id
        );
        Outcome {
            block: json!({
                "tool_use_id": card.tool_use_id, "type": "tool_result",
                "content": [{"type": "text", "text": text}],
            }),
            structured: json!({
                "isAsync": true, "status": "async_launched", "agentId": card.task_id,
                "description": card.description, "resolvedModel": self.session.model,
                "prompt": card.prompt, "outputFile": file, "canReadOutputFile": true,
                "canContinueAgent": true,
            }),
            meta: Some(accepted(&card.tool_use_id)),
        }
    }

    /// A foreground agent's prompt is its first line; a background agent has none.
    pub(super) fn prompt_agent(&self, card: &Card) {
        let speaker = self.speaker_of(card);
        if speaker.seen && !card.background {
            self.print(&user_text(&self.session, &speaker, &card.prompt).into());
        }
    }

    /// Text of foreground agents needs the flag, and so does everything below depth 1; background
    /// agents are heard without it (observed.md 15, 17).
    fn speaker_of(&self, card: &Card) -> Speaker {
        Speaker {
            heard: card.background || self.session.forward,
            seen: card.background || card.depth == 1 || self.session.forward,
            card: Some(card.clone()),
        }
    }

    /// True if the caller must wait for it.
    pub(super) fn start_agent(&mut self, track: &Track, card: Card, agent: Agent) -> bool {
        let background = agent.background;
        self.hook_agent("SubagentStart", &card, json!({}));
        let mut cues: std::collections::VecDeque<Cue> =
            agent.steps.iter().cloned().map(Cue::step).collect();
        cues.extend([Cue::MessageDelta, Cue::MessageStop, Cue::AgentEnd]);
        let speaker = self.speaker_of(&card);
        let call = Job::Agent {
            card: Box::new(card),
            agent: Box::new(agent),
        };
        self.enter(Track {
            parent: (!background).then_some(track.id),
            speaker,
            call: Some(call),
            cues,
            background,
            ..Track::default()
        });
        !background
    }

    pub(super) fn agent_end(&mut self, track: &Track) {
        let Some(Job::Agent { card, agent }) = &track.call else {
            return;
        };
        let error = agent.fails.as_deref();
        let status = if error.is_some() {
            "failed"
        } else {
            "completed"
        };
        let summary = error.unwrap_or(&track.last_text);
        let usage = if error.is_some() {
            Value::Null
        } else {
            self.task_usage(track)
        };
        let told = json!({"stop_hook_active": false, "last_assistant_message": summary});
        self.hook_agent("SubagentStop", card, told);
        self.print(&updated(&self.session, card, status, error));
        self.print(&notification(&self.session, card, status, summary, usage));
        self.session.ledger.agents.end(error.is_some());
        if card.background {
            self.list_background(None);
            self.notify(card, &agent.then, "The agent has reported.");
        } else {
            let caller = track.parent.and_then(|parent| self.tracks.get(&parent));
            let speaker = caller.map_or_else(Speaker::main, |caller| caller.speaker.clone());
            let outcome = error.map_or_else(
                || self.handed_back(track, card),
                |error| failed(&card.tool_use_id, error, Some(accepted(&card.tool_use_id))),
            );
            self.print_result(&speaker, &outcome);
        }
    }

    fn handed_back(&self, track: &Track, card: &Card) -> Outcome {
        let report = &track.last_text;
        let usage = self.task_usage(track);
        let text = format!(
            "[Subagent hand-back] The report follows:\n  {report}\nagentId: {}\n<usage>\
             subagent_tokens: {}\ntool_uses: {}\nduration_ms: {}</usage>",
            card.task_id, usage["total_tokens"], usage["tool_uses"], usage["duration_ms"],
        );
        Outcome {
            block: json!({
                "tool_use_id": card.tool_use_id, "type": "tool_result",
                "content": [{"type": "text", "text": text}],
            }),
            structured: json!({
                "status": "completed", "prompt": card.prompt, "agentId": card.task_id,
                "content": [{"type": "text", "text": report}],
                "resolvedModel": self.session.model, "totalDurationMs": usage["duration_ms"],
                "totalTokens": usage["total_tokens"], "totalToolUseCount": usage["tool_uses"],
                "canContinueAgent": true,
            }),
            meta: Some(accepted(&card.tool_use_id)),
        }
    }

    pub(super) fn shell_card(&self, id: &str, tool: &Tool, background: bool) -> Card {
        let text = |key: &str| tool.input.get(key).and_then(Value::as_str);
        Card {
            task_id: format!("b{}", hex(8)),
            run_id: run_id(),
            tool_use_id: id.to_owned(),
            description: text("description")
                .or_else(|| text("command"))
                .unwrap_or("")
                .to_owned(),
            background,
            ..Card::default()
        }
    }

    /// A shell command in the background: the call returns at once.
    pub(super) fn start_shell(&mut self, track: &Track, id: &str, tool: &Tool) {
        let card = self.shell_card(id, tool, true);
        self.list_background(Some(&card));
        self.print(&started(&self.session, &card));
        let file = self.session.output_file(&card.task_id);
        let text = format!(
            "Command running in background with ID: {}. Output is being written to: {file}.",
            card.task_id
        );
        let outcome = Outcome {
            block: json!({
                "tool_use_id": id, "type": "tool_result", "content": text, "is_error": false,
            }),
            structured: json!({
                "stdout": "", "stderr": "", "interrupted": false, "isImage": false,
                "noOutputExpected": false, "backgroundTaskId": card.task_id,
            }),
            meta: Some(accepted(id)),
        };
        self.print_result(&track.speaker, &outcome);
        self.enter(Track {
            speaker: Speaker {
                card: Some(card),
                heard: false,
                seen: false,
            },
            call: Some(Job::Tool {
                id: id.to_owned(),
                tool: Box::new(tool.clone()),
            }),
            cues: [Cue::Wait(tool.duration_ms), Cue::ShellEnd].into(),
            background: true,
            ..Track::default()
        });
    }

    /// A foreground command that takes long becomes visible as a task.
    pub(super) fn shell_task(&self, track: &mut Track, card: Card) {
        self.print(&started(&self.session, &card));
        track.cues.iter_mut().for_each(|cue| {
            if matches!(cue, Cue::ShellEnd) {
                let done = notification(
                    &self.session,
                    &card,
                    "completed",
                    &card.description,
                    Value::Null,
                );
                *cue = Cue::Frame(done);
            }
        });
    }

    pub(super) fn shell_end(&mut self, track: &Track) {
        let (Some(card), Some(Job::Tool { tool, .. })) = (&track.speaker.card, &track.call) else {
            return;
        };
        let summary = format!(
            "Background command \"{}\" completed (exit code 0)",
            card.description
        );
        self.print(&updated(&self.session, card, "completed", None));
        self.print(&notification(
            &self.session,
            card,
            "completed",
            &summary,
            Value::Null,
        ));
        self.list_background(None);
        self.notify(card, &tool.then, "The background command has finished.");
    }

    fn notify(&mut self, card: &Card, then: &[Step], usual: &str) {
        let steps = if then.is_empty() {
            vec![Step::text(usual)]
        } else {
            then.to_vec()
        };
        self.notices.push_back(Notice {
            run_id: card.run_id.clone(),
            steps,
        });
    }

    /// `background_tasks_changed` with the running tasks and, first of all, a new one.
    pub(super) fn list_background(&self, new: Option<&Card>) {
        let running = self.tracks.values().filter(|track| track.background);
        let cards = running.filter_map(|track| track.speaker.card.as_ref());
        self.print(&background_tasks(&self.session, cards.chain(new)));
    }

    /// Stops one background task, or with `None` every background agent. True if there was one.
    pub(super) fn stop_tasks(&mut self, task_id: Option<&str>) -> bool {
        let wanted = |track: &Track| {
            let card = track.speaker.card.as_ref().filter(|_| track.background);
            card.is_some_and(|card| match task_id {
                Some(id) => card.task_id == id,
                None => !card.is_shell(),
            })
        };
        let ids: Vec<u64> = self
            .tracks
            .values()
            .filter(|t| wanted(t))
            .map(|t| t.id)
            .collect();
        for id in &ids {
            self.stop_track(*id);
        }
        if !ids.is_empty() {
            self.list_background(None);
        }
        !ids.is_empty()
    }

    fn stop_track(&mut self, id: u64) {
        self.drop_children(id);
        let Some(track) = self.tracks.remove(&id) else {
            return;
        };
        if let Some(card) = &track.speaker.card {
            self.stopped_card(card);
        }
    }

    pub(super) fn stopped_card(&mut self, card: &Card) {
        self.session.ledger.agents.killed += u64::from(!card.is_shell());
        self.print(&updated(&self.session, card, "killed", None));
        let summary = &card.description;
        self.print(&notification(
            &self.session,
            card,
            "stopped",
            summary,
            Value::Null,
        ));
    }
}

impl AgentCount {
    fn spawn(&mut self, card: &Card) {
        if card.background {
            self.background += 1;
        } else {
            self.foreground += 1;
        }
        self.deepest = self.deepest.max(card.depth);
        self.nested += u64::from(card.depth > 1);
        let count = self
            .kinds
            .get(&card.kind)
            .and_then(Value::as_u64)
            .unwrap_or(0);
        self.kinds.insert(card.kind.clone(), (count + 1).into());
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

/// A run id sorts by time: milliseconds in base 36, then a random tail.
fn run_id() -> String {
    let (mut ms, mut digits) = (clock::now_ms(), Vec::new());
    while ms > 0 {
        digits.push(char::from_digit(u32::try_from(ms % 36).unwrap_or(0), 36).unwrap_or('0'));
        ms /= 36;
    }
    let time: String = digits.iter().rev().collect();
    format!("0{time}-{}", hex(8))
}
