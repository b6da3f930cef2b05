//! The one task that owns a child from birth to the last of its tree.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::demand::Demand;
use super::input::Input;
use super::leader::Leader;
use super::streams::Streams;
use super::tree::{Round, Tree};
use crate::containment::Containment;
use crate::exit::{Drained, Exit, ExitStatus};
use crate::ladder::{Ladder, TerminationReport};
use crate::log::SharedLog;
use crate::session_id::SessionId;
use crate::sys;

/// Pauses between the rounds of a kill: the first suits a process that dies at once, the last one
/// that is stuck in the kernel.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(50);
const GROUP_PAUSE: Duration = Duration::from_millis(2);

/// How long an empty control group may refuse to be removed.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Rounds, with the first pause after each, that a runtime's shutdown may be held up by.
const LAST_ROUNDS: u32 = 500;

#[derive(Clone, Copy, Debug)]
enum Step {
    EndOfInput,
    Interrupt,
    Terminate,
}

impl Step {
    const ALL: [Self; 3] = [Self::EndOfInput, Self::Interrupt, Self::Terminate];

    fn grace(self, ladder: Ladder) -> Duration {
        match self {
            Self::EndOfInput => ladder.eof_grace,
            Self::Interrupt => ladder.interrupt.unwrap_or_default(),
            Self::Terminate => ladder.term_grace,
        }
    }
}

#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) id: SessionId,
    pub(super) leader: Arc<Leader>,
    /// Resolves when the child has ended. It stays a zombie until it is reaped.
    pub(super) end: sys::ExitWatch,
    pub(super) tree: Tree,
    pub(super) streams: Streams,
    pub(super) output: Arc<SharedLog>,
    pub(super) errors: Arc<SharedLog>,
    pub(super) input: Input,
    pub(super) writer: AbortHandle,
    pub(super) demand: Demand,
    pub(super) exit: watch::Sender<Option<Exit>>,
    pub(super) report: watch::Sender<Option<TerminationReport>>,
    /// What the kernel counts when it kills for want of memory.
    pub(super) memory: Option<sys::OomCount>,
    /// Whether the tree is gone, so that a drop has nothing to kill.
    pub(super) swept: bool,
}

impl Supervisor {
    pub(super) async fn run(mut self) {
        let demanded = tokio::select! {
            biased;
            () = self.end.ended() => false,
            () = self.demand.made() => true,
        };
        if demanded {
            self.climb().await;
            self.sweep().await;
        }
        let exit = self.settle().await;
        if !self.swept {
            self.demand.made().await;
            self.sweep().await;
        }
        self.let_go().await;
        self.tell(exit);
    }

    /// The kernel may take a moment to notice that everybody is gone.
    async fn let_go(&mut self) {
        let deadline = Instant::now() + LAST_WORDS;
        while !self.tree.let_go() && Instant::now() < deadline {
            sleep(FIRST_PAUSE).await;
        }
    }

    async fn climb(&mut self) {
        for step in Step::ALL {
            if !step.grace(self.demand.ladder()).is_zero() {
                self.take(step);
                if self.ends_within(step).await {
                    return;
                }
            }
        }
    }

    fn take(&self, step: Step) {
        tracing::debug!(session = %self.id, ?step, "asking the child to end");
        match step {
            // A terminal has no end of input; that it is gone is the news of the same weight.
            Step::EndOfInput if self.leader.has_console() => self.urge(Signal::HUP),
            Step::EndOfInput => drop(self.input.close()),
            Step::Interrupt => self.urge(Signal::INT),
            Step::Terminate => {
                self.writer.abort();
                self.urge(Signal::TERM);
            }
        }
    }

    /// A stopped process must go on to act on a signal.
    fn urge(&self, signal: Signal) {
        self.leader.signal_both(signal);
        self.leader.signal_both(Signal::CONT);
    }

    /// Waits for the child's end as long as the step may take; a harder ladder shortens it.
    async fn ends_within(&mut self, step: Step) -> bool {
        let started = Instant::now();
        loop {
            let deadline = started + step.grace(self.demand.ladder());
            tokio::select! {
                biased;
                () = self.end.ended() => return true,
                () = sleep_until(deadline) => return false,
                () = self.demand.harder() => {}
            }
        }
    }

    /// Kills the tree until nothing is left of it or time runs out.
    async fn sweep(&mut self) {
        self.writer.abort();
        let deadline = Instant::now() + self.demand.ladder().kill;
        let mut pause = FIRST_PAUSE;
        loop {
            // Lets all who are about to look ask first, so that one look serves them all.
            let since = std::time::Instant::now();
            tokio::task::yield_now().await;
            match self.tree.strike(since) {
                Round::Empty => break,
                _ if Instant::now() >= deadline => break,
                Round::Fresh => {}
                Round::Dying => {
                    sleep(pause).await;
                    pause = (pause * 2).min(self.longest_pause());
                }
            }
        }
        self.swept = true;
        let left = deadline
            .saturating_duration_since(Instant::now())
            .max(LAST_PAUSE);
        if self.leader.is_ours() && timeout(left, self.end.ended()).await.is_err() {
            tracing::warn!(session = %self.id, "the child outlives SIGKILL");
        }
    }

    /// A look at a control group is cheap, one at the whole process table is not.
    fn longest_pause(&self) -> Duration {
        match self.tree.level() {
            Containment::Cgroup => GROUP_PAUSE,
            _ => LAST_PAUSE,
        }
    }

    /// After the child's end: the rest of its streams, its status, and the news.
    async fn settle(&mut self) -> Exit {
        self.writer.abort();
        self.streams.lift();
        let drained = self.drain().await;
        self.streams.close();
        if !self.swept && self.tree.needs_memory() {
            self.remember().await;
        }
        let status = self.leader.reap();
        let oom = self.is_for_memory(status);
        self.end.let_go();
        let (output_end, errors_end) = (self.output.end(), self.errors.end());
        let exit = Exit {
            status,
            oom,
            drained,
            output_end,
            errors_end,
        };
        tracing::debug!(session = %self.id, ?exit, "child ended");
        self.exit.send_replace(Some(exit));
        exit
    }

    /// Whether a kill that was none of ours was for want of memory.
    fn is_for_memory(&self, status: ExitStatus) -> bool {
        let was_killed = status == ExitStatus::Signal(Signal::KILL.as_raw());
        let memory = self.memory.as_ref();
        was_killed && !self.swept && memory.is_some_and(sys::OomCount::has_grown)
    }

    /// Before the child is reaped: who would be left of its tree, and out of reach by its number.
    async fn remember(&mut self) {
        // One look for all whose children end now, as in `sweep`.
        let since = std::time::Instant::now();
        tokio::task::yield_now().await;
        self.tree.remember(since);
    }

    /// A demand cuts in: whoever holds the streams is killed, and then they end.
    async fn drain(&mut self) -> Drained {
        if !self.swept {
            tokio::select! {
                biased;
                drained = self.streams.drained() => return drained,
                () = self.demand.made() => {}
            }
            self.sweep().await;
        }
        self.streams.drained().await
    }

    fn tell(&mut self, exit: Exit) {
        let took = self
            .demand
            .since()
            .map(|since| since.elapsed())
            .unwrap_or_default();
        let (killed, survivors) = self.tree.outcome();
        let report = TerminationReport {
            killed,
            survivors,
            level: self.tree.level(),
            took,
            exit,
        };
        tracing::debug!(session = %self.id, ?report, "session ended");
        self.report.send_replace(Some(report));
    }
}

/// The runtime shuts down under a living session: nothing can be awaited, and nothing may be left.
impl Drop for Supervisor {
    fn drop(&mut self) {
        if !self.swept {
            for _ in 0..LAST_ROUNDS {
                if self.tree.strike(std::time::Instant::now()) == Round::Empty {
                    self.leader.reap();
                    if !self.leader.is_ours() {
                        break;
                    }
                }
                std::thread::sleep(FIRST_PAUSE);
            }
        }
        self.leader.reap();
        self.streams.close();
    }
}
