//! Turns: begun, ended, interrupted, their results printed or kept back.

use std::time::Duration;

use serde_json::{Value, json};

use super::Stage;
use super::hear::Prompt;
use super::task::Notice;
use super::track::{Cue, Track};
use crate::clock;
use crate::frames::{Ending, Speaker, background_tasks, init, result, user_echo};
use crate::reply::reply;
use crate::scenario::{Hang, Otherwise, ResultChange, Step, Trigger, Turn};
use crate::session::{Tokens, new_uuid};

/// The turn that runs.
#[derive(Debug, Default)]
pub(super) struct LiveTurn {
    /// Uuids of all messages that it answers, folded ones included.
    pub(super) prompts: Vec<String>,
    /// Text of the messages that started it.
    pub(super) prompt: String,
    /// Those that joined while it ran.
    folded: Vec<String>,
    pub(super) track: u64,
    begun_at: Duration,
    origin: Option<Value>,
    change: ResultChange,
    cost_before: f64,
    /// A local command: nothing is asked of a model.
    local: bool,
    pub(super) requested: bool,
    pub(super) answered: bool,
    pub(super) messages: u64,
    pub(super) tokens: Tokens,
    pub(super) stop_reason: Value,
    pub(super) begun: Vec<String>,
    pub(super) denials: Vec<Value>,
    failure: Option<(u16, String)>,
    limit: Option<u64>,
}

impl LiveTurn {
    pub(super) fn end_failed(&mut self, status: u16, text: String) {
        self.failure = Some((status, text));
    }

    pub(super) fn end_at_limit(&mut self, limit: u64) {
        self.limit = Some(limit);
    }
}

impl Stage {
    /// Begins the next turn if none runs and something asks for one.
    pub(super) fn begin_turn(&mut self) {
        if self.turn.is_some() {
            return;
        }
        if let Some(notice) = self.notices.pop_front() {
            self.begin_notice(notice);
        } else if let Some(index) = self.unasked() {
            let turn = self.take(index);
            self.perform(turn, LiveTurn::default(), None);
        } else if !self.queue.is_empty() {
            let prompts = std::mem::take(&mut self.queue);
            self.begin_prompted(&prompts);
        }
    }

    fn begin_notice(&mut self, notice: Notice) {
        let origin = json!({
            "kind": "task-notification", "producer": "session-task", "runId": notice.run_id,
        });
        let live = LiveTurn {
            origin: Some(origin),
            ..LiveTurn::default()
        };
        let turn = Turn {
            steps: notice.steps,
            ..Turn::default()
        };
        self.perform(turn, live, None);
    }

    /// A turn that needs no prompt now.
    fn unasked(&self) -> Option<usize> {
        self.scenario
            .turns
            .iter()
            .enumerate()
            .position(|(index, turn)| {
                let due = match turn.on {
                    Trigger::Start => true,
                    Trigger::Follow => index.checked_sub(1) == self.last_turn && index > 0,
                    Trigger::Prompt | Trigger::Resume => false,
                };
                due && !self.used[index]
            })
    }

    fn take(&mut self, index: usize) -> Turn {
        self.used[index] = true;
        self.last_turn = Some(index);
        self.scenario.turns[index].clone()
    }

    fn begin_prompted(&mut self, prompts: &[Prompt]) {
        let text = prompts
            .iter()
            .map(Prompt::text)
            .collect::<Vec<_>>()
            .join("\n");
        self.hook_prompt(&text);
        let turn = match self.fitting(&text) {
            Some(index) => self.take(index),
            None => self.otherwise(&text),
        };
        let uuids: Vec<String> = prompts.iter().filter_map(|p| p.uuid.clone()).collect();
        let alone = prompts.len().saturating_sub(1);
        for prompt in prompts.iter().take(alone) {
            self.echo(prompt.content(), prompt.uuid.as_deref(), false);
        }
        for uuid in &uuids {
            self.lifecycle(uuid, "started");
        }
        let echo = Prompt::merged(prompts).filter(|_| self.session.replay);
        let live = LiveTurn {
            prompts: uuids,
            prompt: text,
            ..LiveTurn::default()
        };
        self.perform(turn, live, echo);
    }

    /// The first turn for this prompt; a resumed process prefers the turns for it.
    fn fitting(&self, text: &str) -> Option<usize> {
        let turns = &self.scenario.turns;
        let resumes = self.resumed && turns.iter().any(|turn| turn.on == Trigger::Resume);
        let wanted = if resumes {
            Trigger::Resume
        } else {
            Trigger::Prompt
        };
        (0..turns.len()).find(|&index| {
            let turn = &turns[index];
            let fits = turn
                .matches
                .as_deref()
                .is_none_or(|part| text.contains(part));
            turn.on == wanted && fits && (turn.repeat || !self.used[index])
        })
    }

    fn otherwise(&self, text: &str) -> Turn {
        let steps = match self.scenario.otherwise {
            Otherwise::Reply => reply(text),
            Otherwise::Silence => vec![Step::Hang(Hang::default())],
        };
        Turn {
            steps,
            ..Turn::default()
        }
    }

    fn perform(&mut self, turn: Turn, mut live: LiveTurn, echo: Option<Prompt>) {
        let Turn {
            steps,
            result,
            quiet,
            ..
        } = turn;
        live.local = matches!(steps.first(), Some(Step::Clear(_)));
        live.change = result;
        live.begun_at = self.now;
        live.cost_before = self.session.ledger.cost;
        let silent = quiet || live.local;
        if !silent {
            self.print(&init(&self.session, &live.prompts));
        }
        let cues = steps.into_iter().map(Cue::step);
        let closing = [Cue::MessageDelta, Cue::MessageStop, Cue::EndTurn];
        let cues = cues.chain(closing).collect();
        live.track = self.enter(Track {
            speaker: Speaker::main(),
            cues,
            ..Track::default()
        });
        self.turn = Some(live);
        if !silent {
            self.request();
        }
        if let Some(prompt) = echo {
            self.echo(prompt.content(), prompt.uuid.as_deref(), true);
        }
    }

    pub(super) fn echo(&self, content: Value, uuid: Option<&str>, dated: bool) {
        if self.session.replay {
            let uuid = uuid.map_or_else(new_uuid, str::to_owned);
            self.print(&user_echo(&self.session, &content, &uuid, dated));
        }
    }

    pub(super) fn lifecycle(&self, uuid: &str, state: &str) {
        self.print(&json!({
            "type": "command_lifecycle", "command_uuid": uuid, "state": state,
            "uuid": new_uuid(), "session_id": self.session.id,
        }));
    }

    /// Prompts that wait when a round of tools ends join the turn (protocol.md B.2).
    pub(super) fn fold(&mut self) {
        if !self.scenario.fold {
            return;
        }
        for prompt in std::mem::take(&mut self.queue) {
            self.echo(prompt.content(), prompt.uuid.as_deref(), true);
            let Some(uuid) = prompt.uuid else { continue };
            self.lifecycle(&uuid, "started");
            if let Some(turn) = &mut self.turn {
                turn.prompts.push(uuid.clone());
                turn.folded.push(uuid);
            }
        }
    }

    pub(super) fn end_turn(&mut self, track: &Track) {
        let Some(turn) = self.turn.take() else { return };
        let failed = turn.failure.as_ref().map(|(_, text)| text.as_str());
        self.hook_stop(failed, &track.last_text);
        let ending = self.ending(&turn, track.last_text.clone());
        self.close_turn(turn, ending, false);
    }

    fn ending(&self, turn: &LiveTurn, text: String) -> Ending {
        let usual = Ending {
            subtype: "success".to_owned(),
            terminal_reason: (!turn.local).then(|| "completed".to_owned()),
            stop_reason: turn.stop_reason.clone(),
            text: Some(text),
            num_turns: turn.messages,
            ..self.blank_ending(turn)
        };
        if let Some((status, text)) = turn.failure.clone() {
            return Ending {
                is_error: true,
                terminal_reason: Some("api_error".to_owned()),
                stop_reason: "stop_sequence".into(),
                text: Some(text),
                api_status: Some(status),
                num_turns: turn.messages + 1,
                ..usual
            };
        }
        match turn.limit {
            None => usual,
            Some(limit) => Ending {
                subtype: "error_max_turns".to_owned(),
                is_error: true,
                terminal_reason: Some("max_turns".to_owned()),
                text: None,
                errors: vec![format!("Reached maximum number of turns ({limit})")],
                num_turns: turn.messages + 1,
                ..usual
            },
        }
    }

    pub(super) fn blank_ending(&self, turn: &LiveTurn) -> Ending {
        Ending {
            duration_ms: millis(self.now.saturating_sub(turn.begun_at)),
            tokens: turn.tokens,
            denials: turn.denials.clone(),
            begun: turn.begun.clone(),
            prompts: turn.prompts.clone(),
            origin: turn.origin.clone(),
            queued: self.queue.len(),
            ..Ending::default()
        }
    }

    /// Prints or keeps the result, and the life cycle lines around it.
    pub(super) fn close_turn(&mut self, turn: LiveTurn, mut ending: Ending, interrupted: bool) {
        for uuid in &turn.folded {
            self.lifecycle(uuid, "completed");
        }
        let change = turn.change;
        if let Some(cost) = change.cost_usd {
            self.session.ledger.cost = turn.cost_before + cost;
        }
        ending.tokens.input = change.input_tokens.unwrap_or(ending.tokens.input);
        ending.tokens.output = change.output_tokens.unwrap_or(ending.tokens.output);
        ending.set = self.fill_map(&change.set, None);
        ending.unset = change.unset;
        self.last_failed = ending.is_error;
        let agents = self.tracks.values().any(Track::is_background_agent);
        let hold = change.hold
            || (change.hold_if_interrupted && interrupted)
            || (self.eof && agents && !interrupted);
        if hold {
            self.held.push(ending);
        } else if !change.skip {
            self.deliver_held();
            self.deliver(&ending);
        }
        for uuid in turn
            .prompts
            .iter()
            .filter(|uuid| !turn.folded.contains(uuid))
        {
            self.lifecycle(uuid, "completed");
        }
    }

    fn deliver(&mut self, ending: &Ending) {
        let frame = result(&mut self.session, ending);
        self.print(&frame);
    }

    pub(super) fn deliver_held(&mut self) {
        for ending in std::mem::take(&mut self.held) {
            self.deliver(&ending);
        }
    }

    /// `/clear`: the old session's last line, then a new session (protocol.md A.11).
    pub(super) fn clear(&mut self) {
        let id = new_uuid();
        let mut frame = json!({
            "type": "conversation_reset", "new_conversation_id": id, "uuid": id,
            "trigger": "clear",
        });
        let prompts = self
            .turn
            .as_ref()
            .map(|turn| turn.prompts.clone())
            .unwrap_or_default();
        if let Some(uuid) = prompts.last() {
            frame["user_message_uuid"] = uuid.clone().into();
        }
        frame["timestamp"] = clock::timestamp().into();
        frame["session_id"] = self.session.id.clone().into();
        self.print(&frame);
        self.print(&background_tasks(&self.session, std::iter::empty()));
        self.session.reset(id);
        self.print(&init(&self.session, &prompts));
        if let Some(turn) = &mut self.turn {
            turn.cost_before = 0.0;
        }
    }
}

impl Track {
    fn is_background_agent(&self) -> bool {
        self.background
            && self
                .speaker
                .card
                .as_ref()
                .is_some_and(|card| !card.is_shell())
    }
}

/// Whole milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
