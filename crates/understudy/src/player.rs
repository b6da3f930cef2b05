//! Plays a scenario: a scheduler with a virtual clock, and the reactions to input.
//!
//! A turn is a *fiber*: a queue of operations. Each running tool call and each sub-agent is a fiber
//! of its own, so that parallel and background work interleaves. The fiber whose operation is due
//! first runs next. Time between operations is virtual and scaled by the pace, so every pace gives
//! the same order of lines.

mod control;
mod exit;
mod faults;
mod fiber;
mod hook_events;
mod input;
mod interrupt;
mod message;
mod placeholders;
mod rpc;
mod step;
mod task;
mod tool_call;
mod tool_result;
mod turn;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::dialect::Dialect;
use crate::event::Event;
use crate::hooks::Hooks;
use crate::input::InputQueue;
use crate::lines::{TurnEnd, encode};
use crate::output::Output;
use crate::prompt::Prompt;
use crate::scenario::{Hang, Scenario};
use crate::session::Session;

pub(crate) use exit::Exit;
use fiber::{Fiber, Wait};
use task::TaskReport;
use turn::RunningTurn;

/// Longest wait at pace 1; longer ones overflow when they are scaled.
const MAX_WAIT: Duration = Duration::from_secs(30 * 24 * 3600);

/// The result of an action; an error ends the process.
type Played = Result<(), Exit>;

/// Plays one scenario.
pub(crate) struct Player {
    session: Session,
    /// The protocol, if it is not stream-json.
    dialect: Option<Box<dyn Dialect>>,
    output: Output,
    inputs: InputQueue,
    scenario: Scenario,
    hooks: Hooks,
    used: Vec<bool>,
    resumed: bool,
    pace: f64,
    now: Duration,
    fibers: BTreeMap<u64, Fiber>,
    next_fiber: u64,
    turn: Option<RunningTurn>,
    /// Index of the turn that was started last, for `follow`.
    last_turn: Option<usize>,
    queue: Vec<Prompt>,
    seen: HashSet<String>,
    task_reports: VecDeque<TaskReport>,
    held: Vec<TurnEnd>,
    /// Open control requests by id: the waiting fiber and the request.
    open_requests: BTreeMap<String, (u64, Value)>,
    /// Tools that the host has allowed for the session.
    always_allowed: HashSet<String>,
    abort_requested: bool,
    spare_agents: bool,
    hang: Hang,
    eof: bool,
    last_failed: bool,
    child_pid: u32,
}

impl Player {
    pub(crate) fn new(
        session: Session,
        output: Output,
        inputs: InputQueue,
        scenario: Scenario,
        hooks: Hooks,
        resumed: bool,
        pace: f64,
    ) -> Self {
        Self {
            session,
            dialect: None,
            output,
            inputs,
            used: vec![false; scenario.turns.len()],
            scenario,
            hooks,
            resumed,
            pace,
            now: Duration::ZERO,
            fibers: BTreeMap::new(),
            next_fiber: 0,
            turn: None,
            last_turn: None,
            queue: Vec::new(),
            seen: HashSet::new(),
            task_reports: VecDeque::new(),
            held: Vec::new(),
            open_requests: BTreeMap::new(),
            always_allowed: HashSet::new(),
            abort_requested: false,
            spare_agents: false,
            hang: Hang::default(),
            eof: false,
            last_failed: false,
            child_pid: 0,
        }
    }

    /// Speaks this dialect instead of stream-json.
    pub(crate) fn speaking(mut self, dialect: Option<Box<dyn Dialect>>) -> Self {
        self.dialect = dialect;
        self
    }

    /// Plays until the process is to end. With a `prompt`, stdin is not read.
    pub(crate) fn run(&mut self, prompt: Option<String>) -> Exit {
        if let Some(text) = prompt {
            self.queue.push(Prompt::plain(text));
            self.eof = true;
        }
        self.hook_start();
        loop {
            if let Err(exit) = self.step_once() {
                self.hook_end(exit);
                self.output.finish();
                return exit;
            }
        }
    }

    fn step_once(&mut self) -> Played {
        while let Ok(input) = self.inputs.queue.try_recv() {
            self.on_input(input)?;
        }
        if self.output.is_full() {
            return self.pause();
        }
        self.begin_turn();
        match self.next_fiber() {
            Some((id, wait)) if wait.is_zero() => self.run_next_op(id),
            Some((_, wait)) => self.sleep(wait),
            None if self.is_over() => {
                self.print_held_results();
                Err(Exit::Code(u8::from(self.last_failed)))
            }
            None => match self.inputs.queue.recv() {
                Ok(input) => self.on_input(input),
                Err(_) => Err(Exit::Code(0)),
            },
        }
    }

    /// Waits for input for a moment, because much of stdout is unread.
    fn pause(&mut self) -> Played {
        match self.inputs.queue.recv_timeout(Duration::from_millis(5)) {
            Ok(input) => self.on_input(input),
            Err(_) => Ok(()),
        }
    }

    /// Returns the fiber that is due first, and the real time until then.
    fn next_fiber(&mut self) -> Option<(u64, Duration)> {
        let ready = self
            .fibers
            .values()
            .filter(|fiber| matches!(fiber.wait, Wait::No));
        let (due, id) = ready.map(|fiber| (fiber.due, fiber.id)).min()?;
        let ahead = due
            .saturating_sub(self.now)
            .min(MAX_WAIT)
            .mul_f64(self.pace);
        if ahead.is_zero() {
            self.now = self.now.max(due);
        }
        Some((id, ahead))
    }

    fn sleep(&mut self, wait: Duration) -> Played {
        let begun = Instant::now();
        let input = self.inputs.queue.recv_timeout(wait);
        let passed = if input.is_ok() {
            begun.elapsed().min(wait)
        } else {
            wait
        };
        self.now += passed.div_f64(self.pace);
        match input {
            Ok(input) => self.on_input(input),
            // One nanosecond covers the rounding of the division.
            Err(RecvTimeoutError::Timeout) => {
                self.now += Duration::from_nanos(1);
                Ok(())
            }
            Err(RecvTimeoutError::Disconnected) => Err(Exit::Code(0)),
        }
    }

    fn run_next_op(&mut self, id: u64) -> Played {
        let Some(mut fiber) = self.fibers.remove(&id) else {
            return Ok(());
        };
        let op = fiber.ops.pop_front();
        let ended = op.is_none();
        if let Some(op) = op {
            self.run_op(&mut fiber, op)?;
        }
        if ended {
            self.finish_fiber(&fiber);
        } else {
            self.fibers.insert(id, fiber);
        }
        if std::mem::take(&mut self.abort_requested) {
            self.abort(true);
        }
        Ok(())
    }

    /// Wakes the parent of a fiber that has ended, if it was the last child.
    fn finish_fiber(&mut self, fiber: &Fiber) {
        let Some(parent) = fiber.parent else { return };
        if self
            .fibers
            .values()
            .any(|other| other.parent == Some(parent))
        {
            return;
        }
        let now = self.now;
        if let Some(parent) = self.fibers.get_mut(&parent) {
            parent.wake(now);
        }
    }

    /// Starts a fiber; returns its id.
    fn spawn_fiber(&mut self, mut fiber: Fiber) -> u64 {
        self.next_fiber += 1;
        fiber.id = self.next_fiber;
        fiber.due = self.now;
        self.fibers.insert(fiber.id, fiber);
        self.next_fiber
    }

    /// Whether nothing runs and no input can follow.
    fn is_over(&self) -> bool {
        let idle = self.turn.is_none() && self.queue.is_empty() && self.task_reports.is_empty();
        (self.eof || self.scenario.ignore_stdin) && idle && self.fibers.is_empty()
    }

    /// Prints a line of stream-json; in other dialects nothing.
    fn print(&self, line: &Value) {
        if self.dialect.is_none() {
            self.output.write(encode(line));
        }
    }

    /// Prints an event in a dialect other than stream-json.
    fn emit(&mut self, event: Event<'_>) {
        let Some(dialect) = &mut self.dialect else {
            return;
        };
        for line in dialect.write(event, &self.session) {
            self.output.write(encode(&line));
        }
    }
}
