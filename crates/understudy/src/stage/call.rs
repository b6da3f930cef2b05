//! Tool calls: planned, asked about, run, answered.

use serde_json::{Map, Value, json};

use super::Stage;
use super::hook::Verdict;
use super::outcome::{Outcome, outcome};
use super::track::{Cue, Decision, Job, Track, Wait};
use crate::frames::{Speaker, can_use_tool, cancel, system, tool_result};
use crate::scenario::{Call, Request, Tool};
use crate::session::new_uuid;

/// A shell command that runs this long is announced as a task (observed.md 20: 3 s yes, 1 s no).
const TASK_AFTER_MS: u64 = 2_000;

/// Tools that need no question in `acceptEdits` mode.
const EDITS: &[&str] = &["Edit", "Write", "NotebookEdit"];

impl Stage {
    /// Gives a call its ids and fills in its placeholders.
    pub(super) fn plan(&mut self, track: &Track, call: Call) -> Job {
        match call {
            Call::Tool(mut tool) => {
                let id = self.tool_use_id(&tool.id);
                tool.input = self.fill_map(&tool.input, None);
                Job::Tool {
                    id,
                    tool: Box::new(tool),
                }
            }
            Call::Agent(agent) => self.plan_agent(track, agent),
        }
    }

    pub(super) fn tool_use_id(&mut self, wanted: &str) -> String {
        if wanted.is_empty() {
            self.session.fresh("toolu")
        } else {
            wanted.to_owned()
        }
    }

    pub(super) fn start_jobs(&mut self, track: &mut Track, jobs: Vec<Job>) {
        track.push_front([Cue::Fold]);
        for job in jobs {
            if self.start_job(track, job) {
                track.wait = Wait::Children;
            }
        }
    }

    /// True if the caller must wait for it.
    fn start_job(&mut self, track: &Track, job: Job) -> bool {
        match job {
            Job::Agent { card, agent } => self.start_agent(track, *card, *agent),
            Job::Tool { id, tool } if tool.background => {
                self.start_shell(track, &id, &tool);
                false
            }
            job @ Job::Tool { .. } => {
                let child = Track {
                    parent: Some(track.id),
                    speaker: track.speaker.clone(),
                    call: Some(job),
                    cues: [Cue::Run].into(),
                    ..Track::default()
                };
                self.enter(child);
                true
            }
        }
    }

    pub(super) fn run_job(&mut self, track: &mut Track) {
        let Some(Job::Tool { id, tool }) = track.call.clone() else {
            return;
        };
        let told = self.hook_tool(&track.speaker, &id, &tool);
        let must_ask = matches!(told, Some(Verdict::Ask));
        if let Some(Verdict::Decided(decision)) = told {
            track.push_front([Cue::Decide(decision)]);
        } else if !must_ask && (!tool.ask || self.runs_unasked(&tool.name)) {
            track.push_front([Cue::Decide(Decision::Ruled)]);
        } else if !self.session.asks_host {
            self.deny_unasked(track, &id, &tool);
        } else if self.eof {
            track.push_front([Cue::Decide(stream_closed())]);
        } else {
            self.ask(track, &id, &tool);
        }
    }

    fn runs_unasked(&self, name: &str) -> bool {
        match self.session.mode.as_str() {
            "bypassPermissions" => true,
            "acceptEdits" => EDITS.contains(&name),
            _ => false,
        }
    }

    fn deny_unasked(&self, track: &mut Track, id: &str, tool: &Tool) {
        let message = unasked(&tool.name);
        let rest = json!({"tool_name": tool.name, "tool_use_id": id, "message": message});
        self.print(&system(&self.session, "permission_denied", rest));
        track.push_front([Cue::Decide(Decision::Unasked)]);
    }

    fn ask(&mut self, track: &mut Track, id: &str, tool: &Tool) {
        let request_id = new_uuid();
        let frame = can_use_tool(&request_id, &track.speaker, &tool.name, id, &tool.input);
        self.put(track, request_id, frame, tool.withdraw_ms);
    }

    /// A question of any kind.
    pub(super) fn ask_anything(&mut self, track: &mut Track, request: Request) {
        let request_id = new_uuid();
        let body = self.fill_map(&request.request, None);
        let frame = json!({"type": "control_request", "request_id": request_id, "request": body});
        if !self.eof {
            self.put(track, request_id, frame, request.withdraw_ms);
        }
    }

    fn put(&mut self, track: &mut Track, id: String, frame: Value, withdraw_ms: Option<u64>) {
        self.print(&frame);
        if let Some(ms) = withdraw_ms {
            let cues = [Cue::Wait(ms), Cue::Withdraw(id.clone())].into();
            self.enter(Track {
                speaker: Speaker::main(),
                cues,
                ..Track::default()
            });
        }
        self.asks.insert(id, (track.id, frame));
        track.wait = Wait::Answer;
    }

    /// Takes one question back; an answer that is on its way finds none.
    pub(super) fn withdraw(&mut self, request_id: &str) {
        if let Some((id, _)) = self.asks.remove(request_id) {
            self.print(&cancel(request_id));
            self.resolve(id, Decision::Broken("the request was withdrawn".to_owned()));
        }
    }

    /// The host's answer to one of our questions; late and second answers find none.
    pub(super) fn answered(&mut self, response: &Value) {
        let request_id = response["request_id"].as_str().unwrap_or_default();
        let Some((id, _)) = self.asks.remove(request_id) else {
            return;
        };
        let payload = &response["response"];
        let decision = match payload["behavior"].as_str() {
            _ if response["subtype"] == "error" => Decision::Broken(text(&response["error"])),
            Some("allow") => self.allowed(id, payload),
            Some("deny") => Decision::Denied {
                message: text(&payload["message"]),
                interrupt: payload["interrupt"] == true,
            },
            _ => Decision::Broken("the answer has no behavior".to_owned()),
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
        let asked = || match self.tracks.get(&id).and_then(|track| track.call.as_ref()) {
            Some(Job::Tool { tool, .. }) => tool.input.clone(),
            _ => Map::new(),
        };
        Decision::Allowed(updated.unwrap_or_else(asked))
    }

    fn resolve(&mut self, id: u64, decision: Decision) {
        let now = self.now;
        if let Some(track) = self.tracks.get_mut(&id) {
            track.push_front([Cue::Decide(decision)]);
            track.wake(now);
        }
    }

    /// Stdin has ended: what waits for an answer is denied, and the turn goes on.
    pub(super) fn close_asks(&mut self) {
        for (_, (id, _)) in std::mem::take(&mut self.asks) {
            self.resolve(id, stream_closed());
        }
    }

    /// A decided call runs or fails.
    pub(super) fn decide(&mut self, track: &mut Track, decision: Decision) {
        let Some(Job::Tool { id, tool }) = track.call.clone() else {
            return;
        };
        let runs = matches!(decision, Decision::Ruled | Decision::Allowed(_));
        let follow = if runs {
            tool.allowed.clone()
        } else {
            tool.denied.clone()
        };
        if let Some(parent) = track.parent.and_then(|parent| self.tracks.get_mut(&parent)) {
            // In front of what follows, but after the fold point that ends the round of tools.
            let rest = parent.cues.pop_front();
            parent.push_front(rest.into_iter().chain(follow.into_iter().map(Cue::step)));
        }
        if !runs {
            track.push_front([Cue::Return(decision)]);
            return;
        }
        let long = tool.name == "Bash" && tool.duration_ms >= TASK_AFTER_MS;
        let mut cues = vec![Cue::Wait(tool.duration_ms)];
        if long {
            let card = self.shell_card(&id, &tool, false);
            cues = vec![
                Cue::Wait(TASK_AFTER_MS),
                Cue::ShellTask(Box::new(card)),
                Cue::Wait(tool.duration_ms - TASK_AFTER_MS),
                Cue::ShellEnd,
            ];
        }
        cues.push(Cue::Return(decision));
        track.push_front(cues);
    }

    pub(super) fn give_result(&mut self, track: &Track, decision: &Decision) {
        let Some(Job::Tool { id, tool }) = &track.call else {
            return;
        };
        let input = match decision {
            Decision::Allowed(input) => input.clone(),
            _ => tool.input.clone(),
        };
        let ran = matches!(decision, Decision::Ruled | Decision::Allowed(_));
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
            self.hook_result(&track.speaker, id, &filled, &filled.input);
        }
        self.print_result(&track.speaker, &outcome(id, &filled, decision));
        self.note_refusal(id, tool, decision);
    }

    pub(super) fn print_result(&self, speaker: &Speaker, outcome: &Outcome) {
        if speaker.seen {
            let Outcome {
                block,
                structured,
                meta,
            } = outcome;
            self.print(&tool_result(
                &self.session,
                speaker,
                block,
                structured,
                meta.clone(),
            ));
        }
    }

    fn note_refusal(&mut self, id: &str, tool: &Tool, decision: &Decision) {
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

/// What the agent says when it may not ask.
pub(super) fn unasked(name: &str) -> String {
    format!("Claude requested permissions to use {name}, but you haven't granted it yet.")
}

fn stream_closed() -> Decision {
    Decision::Broken("Stream closed".to_owned())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
