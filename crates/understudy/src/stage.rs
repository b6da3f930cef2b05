//! The stage: tracks of cues, one virtual clock, and what comes from outside.
//!
//! A turn is a *track*: a queue of cues. Each running tool call and each sub-agent is a track of
//! its own, so that parallel and background work interleaves. The track whose cue is due first
//! goes on; time between cues is virtual and scaled by the pace, so that pace 0 gives the same
//! order of lines as the natural pace.

mod abort;
mod call;
mod control;
mod exit;
mod fill;
mod hear;
mod hook;
mod mischief;
mod outcome;
mod speech;
mod step;
mod task;
mod track;
mod turn;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::frames::{Ending, encode};
use crate::hooks::Hooks;
use crate::input::Inputs;
use crate::output::Output;
use crate::scenario::{Hang, Scenario};
use crate::session::Session;

pub(crate) use exit::Exit;
use hear::Prompt;
use task::Notice;
use track::{Track, Wait};
use turn::LiveTurn;

/// The longest wait at pace 1. Longer ones are as good as for ever.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// What an act leads to: more acts, or the end of the process.
type Act = Result<(), Exit>;

/// The running program.
pub(crate) struct Stage {
    session: Session,
    output: Output,
    inputs: Inputs,
    scenario: Scenario,
    hooks: Hooks,
    used: Vec<bool>,
    resumed: bool,
    pace: f64,
    now: Duration,
    tracks: BTreeMap<u64, Track>,
    next_track: u64,
    turn: Option<LiveTurn>,
    /// Index of the turn that began last, for `follow`.
    last_turn: Option<usize>,
    queue: Vec<Prompt>,
    seen: HashSet<String>,
    notices: VecDeque<Notice>,
    held: Vec<Ending>,
    /// Open permission requests: the request and the track that waits for it.
    asks: BTreeMap<String, (u64, Value)>,
    abort_requested: bool,
    spare_agents: bool,
    hang: Hang,
    eof: bool,
    last_failed: bool,
    child_pid: u32,
}

impl Stage {
    pub(crate) fn new(
        session: Session,
        output: Output,
        inputs: Inputs,
        scenario: Scenario,
        hooks: Hooks,
        resumed: bool,
        pace: f64,
    ) -> Self {
        Self {
            session,
            output,
            inputs,
            used: vec![false; scenario.turns.len()],
            scenario,
            hooks,
            resumed,
            pace,
            now: Duration::ZERO,
            tracks: BTreeMap::new(),
            next_track: 0,
            turn: None,
            last_turn: None,
            queue: Vec::new(),
            seen: HashSet::new(),
            notices: VecDeque::new(),
            held: Vec::new(),
            asks: BTreeMap::new(),
            abort_requested: false,
            spare_agents: false,
            hang: Hang::default(),
            eof: false,
            last_failed: false,
            child_pid: 0,
        }
    }

    /// Plays until the process is to end. A `prompt` stands for a whole stdin.
    pub(crate) fn run(&mut self, prompt: Option<String>) -> Exit {
        if let Some(text) = prompt {
            self.queue.push(Prompt::plain(text));
            self.eof = true;
        }
        self.hook_start();
        loop {
            if let Err(exit) = self.act() {
                self.hook_end(exit);
                self.output.finish();
                return exit;
            }
        }
    }

    fn act(&mut self) -> Act {
        while let Ok(input) = self.inputs.queue.try_recv() {
            self.hear(input)?;
        }
        if self.output.is_full() {
            return self.pause();
        }
        self.begin_turn();
        match self.next_track() {
            Some((id, wait)) if wait.is_zero() => self.take_cue(id),
            Some((_, wait)) => self.wait(wait),
            None if self.is_over() => {
                self.deliver_held();
                Err(Exit::Code(u8::from(self.last_failed)))
            }
            None => match self.inputs.queue.recv() {
                Ok(input) => self.hear(input),
                Err(_) => Err(Exit::Code(0)),
            },
        }
    }

    /// The reader is far behind: only listen for a moment.
    fn pause(&mut self) -> Act {
        match self.inputs.queue.recv_timeout(Duration::from_millis(5)) {
            Ok(input) => self.hear(input),
            Err(_) => Ok(()),
        }
    }

    /// The track that is due first, and the real time until then.
    fn next_track(&mut self) -> Option<(u64, Duration)> {
        let ready = self
            .tracks
            .values()
            .filter(|track| matches!(track.wait, Wait::No));
        let (due, id) = ready.map(|track| (track.due, track.id)).min()?;
        let ahead = due.saturating_sub(self.now).min(LONGEST).mul_f64(self.pace);
        if ahead.is_zero() {
            self.now = self.now.max(due);
        }
        Some((id, ahead))
    }

    fn wait(&mut self, wait: Duration) -> Act {
        let begun = Instant::now();
        let heard = self.inputs.queue.recv_timeout(wait);
        let passed = if heard.is_ok() {
            begun.elapsed().min(wait)
        } else {
            wait
        };
        self.now += passed.div_f64(self.pace);
        match heard {
            Ok(input) => self.hear(input),
            // One nanosecond covers what the division rounds off.
            Err(RecvTimeoutError::Timeout) => {
                self.now += Duration::from_nanos(1);
                Ok(())
            }
            Err(RecvTimeoutError::Disconnected) => Err(Exit::Code(0)),
        }
    }

    fn take_cue(&mut self, id: u64) -> Act {
        let Some(mut track) = self.tracks.remove(&id) else {
            return Ok(());
        };
        let cue = track.cues.pop_front();
        let ended = cue.is_none();
        if let Some(cue) = cue {
            self.play(&mut track, cue)?;
        }
        if ended {
            self.leave(&track);
        } else {
            self.tracks.insert(id, track);
        }
        if std::mem::take(&mut self.abort_requested) {
            self.abort(true);
        }
        Ok(())
    }

    /// A track is done: its parent may go on.
    fn leave(&mut self, track: &Track) {
        let Some(parent) = track.parent else { return };
        if self
            .tracks
            .values()
            .any(|other| other.parent == Some(parent))
        {
            return;
        }
        let now = self.now;
        if let Some(parent) = self.tracks.get_mut(&parent) {
            parent.wake(now);
        }
    }

    fn enter(&mut self, mut track: Track) -> u64 {
        self.next_track += 1;
        track.id = self.next_track;
        track.due = self.now;
        self.tracks.insert(track.id, track);
        self.next_track
    }

    /// Nothing runs and nothing can come.
    fn is_over(&self) -> bool {
        let idle = self.turn.is_none() && self.queue.is_empty() && self.notices.is_empty();
        (self.eof || self.scenario.ignore_stdin) && idle && self.tracks.is_empty()
    }

    fn print(&self, frame: &Value) {
        self.output.write(encode(frame));
    }
}
