//! Turns: how they begin and end, and their results.

use std::time::Duration;

use serde_json::{Value, json};

use super::Player;
use super::fiber::{Fiber, Op};
use super::task::TaskReport;
use crate::clock;
use crate::dialect::Joining;
use crate::event::{Event, Outcome};
use crate::lines::{AgentThread, TurnEnd, background_tasks, init, result, user_echo};
use crate::prompt::Prompt;
use crate::reply::reply;
use crate::scenario::{ApiFailure, Hang, Otherwise, ResultChange, Step, Trigger, Turn};
use crate::session::{Tokens, new_uuid};

/// The running turn.
#[derive(Debug, Default)]
pub(super) struct RunningTurn {
    /// Uuids of all messages that it answers, including folded ones.
    pub(super) prompts: Vec<String>,
    /// Text of the messages that started it.
    pub(super) prompt: String,
    /// Uuids of the messages that joined it later.
    pub(super) folded: Vec<String>,
    /// A prompt joined it.
    pub(super) joined: bool,
    pub(super) fiber: u64,
    begun_at: Duration,
    origin: Option<Value>,
    change: ResultChange,
    cost_before: f64,
    /// A local command, without an API request.
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

impl RunningTurn {
    pub(super) fn end_failed(&mut self, status: u16, text: String) {
        self.failure = Some((status, text));
    }

    pub(super) fn end_at_limit(&mut self, limit: u64) {
        self.limit = Some(limit);
    }
}

impl Player {
    /// Starts the next turn if none is running and one is due.
    pub(super) fn begin_turn(&mut self) {
        if self.turn.is_some() || !self.is_open() {
            return;
        }
        if let Some(report) = self.task_reports.pop_front() {
            self.begin_notified(report);
        } else if let Some(index) = self.unprompted_turn() {
            let turn = self.take(index);
            self.start_turn(turn, RunningTurn::default(), &[]);
        } else if !self.queue.is_empty() {
            self.begin_queued();
        }
    }

    fn begin_queued(&mut self) {
        let mut prompts = std::mem::take(&mut self.queue);
        match self.joining() {
            Joining::Folded => self.begin_prompted(&prompts),
            Joining::Separate => {
                self.queue = prompts.split_off(1);
                self.begin_prompted(&prompts);
            }
            Joining::Steered => {
                let rest = prompts.split_off(1);
                self.begin_prompted(&prompts);
                for prompt in &rest {
                    self.steer(prompt);
                }
            }
        }
    }

    fn begin_notified(&mut self, report: TaskReport) {
        let origin = json!({
            "kind": "task-notification", "producer": "session-task", "runId": report.run_id,
        });
        let live = RunningTurn {
            origin: Some(origin),
            ..RunningTurn::default()
        };
        let turn = Turn {
            steps: report.steps,
            ..Turn::default()
        };
        self.start_turn(turn, live, &[]);
    }

    /// Returns the index of a due turn that needs no prompt.
    fn unprompted_turn(&self) -> Option<usize> {
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

    pub(super) fn take(&mut self, index: usize) -> Turn {
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
        let turn = match self.matching_turn(&text) {
            Some(index) => self.take(index),
            None => self.default_turn(&text),
        };
        let uuids: Vec<String> = prompts.iter().filter_map(|p| p.uuid.clone()).collect();
        let alone = prompts.len().saturating_sub(1);
        for prompt in prompts.iter().take(alone) {
            self.echo(prompt.content(), prompt.uuid.as_deref(), false);
        }
        for uuid in &uuids {
            self.lifecycle(uuid, "started");
        }
        let live = RunningTurn {
            prompts: uuids,
            prompt: text,
            ..RunningTurn::default()
        };
        self.start_turn(turn, live, prompts);
    }

    /// Returns the index of the first turn for a prompt. A resumed process only plays the turns for
    /// resumed ones, if there are any.
    pub(super) fn matching_turn(&self, text: &str) -> Option<usize> {
        if self.scenario.logged_out {
            return None;
        }
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

    pub(super) fn default_turn(&self, text: &str) -> Turn {
        let steps = match self.scenario.otherwise {
            _ if self.scenario.logged_out => vec![Step::Fail(ApiFailure::logged_out())],
            Otherwise::Reply => reply(text),
            Otherwise::Silence => vec![Step::Hang(Hang::default())],
        };
        Turn {
            steps,
            ..Turn::default()
        }
    }

    fn start_turn(&mut self, turn: Turn, mut live: RunningTurn, prompts: &[Prompt]) {
        let Turn {
            steps,
            result,
            quiet,
            ..
        } = turn;
        live.local = matches!(steps.first(), Some(Step::Clear(_)));
        live.change = result;
        live.begun_at = self.now;
        live.cost_before = self.session.usage.cost;
        let has_no_init = quiet || live.local;
        if !has_no_init {
            self.print(&init(&self.session, &live.prompts));
        }
        let ops = steps.into_iter().map(Op::step);
        let closing = [Op::MessageDelta, Op::MessageStop, Op::EndTurn];
        let ops = ops.chain(closing).collect();
        live.fiber = self.spawn_fiber(Fiber {
            thread: AgentThread::main(),
            ops,
            ..Fiber::default()
        });
        self.turn = Some(live);
        self.emit(Event::TurnStarted(prompts));
        if !has_no_init {
            self.print_requesting();
        }
        if let Some(prompt) = Prompt::merged(prompts).filter(|_| self.session.replay) {
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

    /// Adds the queued prompts to the running turn, at the end of a round of tools.
    pub(super) fn fold(&mut self) {
        if self.joining() != Joining::Folded {
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

    pub(super) fn end_turn(&mut self, fiber: &Fiber) {
        let Some(turn) = self.turn.take() else { return };
        let failed = turn.failure.as_ref().map(|(_, text)| text.as_str());
        self.hook_stop(failed, &fiber.last_text);
        let end = self.end(&turn, fiber.last_text.clone());
        self.close_turn(turn, end, false);
    }

    fn end(&self, turn: &RunningTurn, text: String) -> TurnEnd {
        let success = TurnEnd {
            subtype: "success".to_owned(),
            terminal_reason: (!turn.local).then(|| "completed".to_owned()),
            stop_reason: turn.stop_reason.clone(),
            text: Some(text),
            num_turns: turn.messages,
            ..self.empty_end(turn)
        };
        if let Some((status, text)) = turn.failure.clone() {
            return TurnEnd {
                is_error: true,
                terminal_reason: Some("api_error".to_owned()),
                stop_reason: "stop_sequence".into(),
                text: Some(text),
                api_status: Some(status),
                num_turns: turn.messages + 1,
                ..success
            };
        }
        match turn.limit {
            None => success,
            Some(limit) => TurnEnd {
                subtype: "error_max_turns".to_owned(),
                is_error: true,
                terminal_reason: Some("max_turns".to_owned()),
                text: None,
                errors: vec![format!("Reached maximum number of turns ({limit})")],
                num_turns: turn.messages + 1,
                ..success
            },
        }
    }

    pub(super) fn empty_end(&self, turn: &RunningTurn) -> TurnEnd {
        TurnEnd {
            duration_ms: millis(self.now.saturating_sub(turn.begun_at)),
            tokens: turn.tokens,
            denials: turn.denials.clone(),
            begun: turn.begun.clone(),
            prompts: turn.prompts.clone(),
            origin: turn.origin.clone(),
            queued: self.queue.len(),
            ..TurnEnd::default()
        }
    }

    /// Prints or holds the result, and prints the lifecycle lines around it.
    pub(super) fn close_turn(&mut self, turn: RunningTurn, mut end: TurnEnd, interrupted: bool) {
        for uuid in &turn.folded {
            self.lifecycle(uuid, "completed");
        }
        let change = turn.change;
        if let Some(cost) = change.cost_usd {
            self.session.usage.cost = turn.cost_before + cost;
        }
        end.tokens.input = change.input_tokens.unwrap_or(end.tokens.input);
        end.tokens.output = change.output_tokens.unwrap_or(end.tokens.output);
        end.set = self.fill_map(&change.set, None);
        end.unset = change.unset;
        self.last_failed = end.is_error;
        if !change.skip {
            self.emit(Event::TurnEnded(match (&turn.failure, turn.limit) {
                _ if interrupted => Outcome::Interrupted,
                (Some((status, text)), _) => Outcome::Failed {
                    status: *status,
                    text,
                },
                (None, Some(limit)) => Outcome::Limited(limit),
                (None, None) => Outcome::Completed,
            }));
        }
        let agents = self.fibers.values().any(Fiber::is_background_agent);
        let hold = change.hold
            || (change.hold_if_interrupted && interrupted)
            || (self.eof && agents && !interrupted);
        if hold {
            self.held.push(end);
        } else if !change.skip {
            self.print_held_results();
            self.print_result_line(&end);
        }
        for uuid in turn
            .prompts
            .iter()
            .filter(|uuid| !turn.folded.contains(uuid))
        {
            self.lifecycle(uuid, "completed");
        }
    }

    fn print_result_line(&mut self, end: &TurnEnd) {
        let line = result(&mut self.session, end);
        self.print(&line);
    }

    pub(super) fn print_held_results(&mut self) {
        for end in std::mem::take(&mut self.held) {
            self.print_result_line(&end);
        }
    }

    /// `/clear`: the last line of the old session, then a new session.
    pub(super) fn clear(&mut self) {
        let id = new_uuid();
        let mut line = json!({
            "type": "conversation_reset", "new_conversation_id": id, "uuid": id,
            "trigger": "clear",
        });
        let prompts = self
            .turn
            .as_ref()
            .map(|turn| turn.prompts.clone())
            .unwrap_or_default();
        if let Some(uuid) = prompts.last() {
            line["user_message_uuid"] = uuid.clone().into();
        }
        line["timestamp"] = clock::timestamp().into();
        line["session_id"] = self.session.id.clone().into();
        self.print(&line);
        self.print(&background_tasks(&self.session, std::iter::empty()));
        self.session.begin_conversation(id);
        self.print(&init(&self.session, &prompts));
        if let Some(turn) = &mut self.turn {
            turn.cost_before = 0.0;
        }
    }
}

impl Fiber {
    fn is_background_agent(&self) -> bool {
        self.background
            && self
                .thread
                .task
                .as_ref()
                .is_some_and(|task| !task.is_shell())
    }
}

/// Returns whole milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
