//! The task that owns a child from its start until its last descendant has ended.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::input::Input;
use super::streams::Streams;
use super::termination_request::TerminationRequest;
use crate::child::{Leader, Round, Tree};
use crate::containment::Containment;
use crate::deadline::deadline_after;
use crate::exit::{Drained, Exit, ExitStatus};
use crate::log::SharedLog;
use crate::session_id::SessionId;
use crate::sys;
use crate::termination::{TerminationPolicy, TerminationReport};

/// Pauses between kill passes: the first suits a process that ends at once, the last one a process
/// that is stuck in the kernel.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(50);
const GROUP_PAUSE: Duration = Duration::from_millis(8);

/// How long the exit of the guard and the removal of an empty control group are awaited. On a machine where a
/// thousand sessions end at once, it takes seconds; afterwards survivors are looked for in the process table.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of kill passes, with the first pause after each, when the runtime shuts down.
const SHUTDOWN_PASSES: u32 = 500;

#[derive(Clone, Copy, Debug)]
enum TerminationStep {
    EndOfInput,
    Interrupt,
    Terminate,
}

impl TerminationStep {
    const ALL: [Self; 3] = [Self::EndOfInput, Self::Interrupt, Self::Terminate];

    fn grace(self, policy: TerminationPolicy) -> Duration {
        match self {
            Self::EndOfInput => policy.eof_grace,
            Self::Interrupt => policy.interrupt.unwrap_or_default(),
            Self::Terminate => policy.term_grace,
        }
    }
}

#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) id: SessionId,
    pub(super) leader: Arc<Leader>,
    /// Resolves when the child has ended. The child remains a zombie until it is reaped.
    pub(super) end: sys::ExitWatch,
    pub(super) tree: Tree,
    pub(super) streams: Streams,
    pub(super) output: Arc<SharedLog>,
    pub(super) errors: Arc<SharedLog>,
    pub(super) input: Input,
    pub(super) writer: AbortHandle,
    pub(super) request: TerminationRequest,
    pub(super) exit: watch::Sender<Option<Exit>>,
    pub(super) report: watch::Sender<Option<TerminationReport>>,
    /// The kernel's count of kills for lack of memory.
    pub(super) memory: Option<sys::OomCount>,
    /// Whether the process tree has been killed, so that drop has nothing to do.
    pub(super) tree_killed: bool,
}

impl Supervisor {
    pub(super) async fn run(mut self) {
        let requested = tokio::select! {
            biased;
            () = self.end.ended() => false,
            () = self.request.received() => true,
        };
        if requested {
            self.escalate().await;
            self.kill_tree().await;
        }
        let exit = self.settle().await;
        // The processes that an ended child has left in the background end with it.
        if !self.tree_killed {
            self.kill_tree().await;
        }
        self.release().await;
        self.publish_report(exit);
    }

    /// Releases the containment. The guard takes a moment to exit, and the kernel to notice that a
    /// group is empty.
    async fn release(&mut self) {
        let deadline = Instant::now() + REMOVAL_TIMEOUT;
        let mut pause = FIRST_PAUSE;
        while !self.tree.release() && Instant::now() < deadline {
            sleep(pause).await;
            pause = (pause * 2).min(GROUP_PAUSE);
        }
    }

    async fn escalate(&mut self) {
        for step in TerminationStep::ALL {
            if !step.grace(self.request.policy()).is_zero() {
                self.begin(step);
                if self.ends_within(step).await {
                    return;
                }
            }
        }
    }

    fn begin(&self, step: TerminationStep) {
        tracing::debug!(session = %self.id, ?step, "requesting the end of the child");
        match step {
            // A terminal's input cannot be closed; a hang-up is the equivalent.
            TerminationStep::EndOfInput if self.leader.has_console() => {
                self.signal_and_continue(Signal::HUP);
            }
            TerminationStep::EndOfInput => drop(self.input.close()),
            TerminationStep::Interrupt => self.signal_and_continue(Signal::INT),
            TerminationStep::Terminate => {
                self.writer.abort();
                self.signal_and_continue(Signal::TERM);
            }
        }
    }

    /// Sends a signal, and SIGCONT so that a stopped process handles it.
    fn signal_and_continue(&self, signal: Signal) {
        self.leader.signal_both(signal);
        self.leader.signal_both(Signal::CONT);
    }

    /// Waits for the child's end within the grace period of the step; a stricter policy shortens
    /// the wait.
    async fn ends_within(&mut self, step: TerminationStep) -> bool {
        let started = Instant::now();
        loop {
            let grace = step.grace(self.request.policy());
            let deadline = deadline_after(started, grace);
            tokio::select! {
                biased;
                () = self.end.ended() => return true,
                () = sleep_until(deadline) => return false,
                () = self.request.tightened() => {}
            }
        }
    }

    /// Kills the process tree until no process is left or the time limit expires.
    async fn kill_tree(&mut self) {
        self.writer.abort();
        let deadline = deadline_after(Instant::now(), self.request.policy().kill);
        let mut pause = FIRST_PAUSE;
        loop {
            // Yields so that concurrent passes share one scan of the process table.
            let since = std::time::Instant::now();
            tokio::task::yield_now().await;
            match self.tree.kill_pass(since) {
                Round::Empty => break,
                _ if Instant::now() >= deadline => break,
                Round::Fresh => {}
                Round::Dying => {
                    sleep(pause).await;
                    pause = (pause * 2).min(self.longest_pause());
                }
            }
        }
        self.tree_killed = true;
        // On macOS the exit of a session's leader waits until the output of its terminal is read.
        self.streams.lift();
        let left = deadline
            .saturating_duration_since(Instant::now())
            .max(LAST_PAUSE);
        if self.leader.is_ours() && timeout(left, self.end.ended()).await.is_err() {
            tracing::warn!(session = %self.id, "child did not end after SIGKILL");
        }
    }

    /// Returns the maximum pause: listing a control group is cheap, a scan of the process table is
    /// not.
    fn longest_pause(&self) -> Duration {
        match self.tree.level() {
            Containment::Cgroup => GROUP_PAUSE,
            _ => LAST_PAUSE,
        }
    }

    /// After the child's end: drains the streams, reaps the child and publishes its exit.
    async fn settle(&mut self) -> Exit {
        self.writer.abort();
        self.streams.lift();
        let drained = self.drain().await;
        self.streams.close();
        if !self.tree_killed && self.tree.needs_record() {
            self.record_members().await;
        }
        let status = self.leader.reap();
        let oom = self.is_oom_kill(status);
        self.end.release();
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

    /// Returns whether a SIGKILL that this crate did not send was caused by lack of memory.
    fn is_oom_kill(&self, status: ExitStatus) -> bool {
        let was_killed = status == ExitStatus::Signal(Signal::KILL.as_raw());
        let memory = self.memory.as_ref();
        was_killed && !self.tree_killed && memory.is_some_and(sys::OomCount::has_grown)
    }

    /// Records the descendants before the child is reaped, since its pid no longer identifies them
    /// afterwards.
    async fn record_members(&mut self) {
        // Shares one scan of the process table, as in `sweep`.
        let since = std::time::Instant::now();
        tokio::task::yield_now().await;
        self.tree.record_members(since);
    }

    /// Drains the streams. A termination request interrupts the wait: killing the processes that
    /// hold the streams ends them.
    async fn drain(&mut self) -> Drained {
        if !self.tree_killed {
            tokio::select! {
                biased;
                drained = self.streams.drained() => return drained,
                () = self.request.received() => {}
            }
            self.kill_tree().await;
        }
        self.streams.drained().await
    }

    fn publish_report(&mut self, exit: Exit) {
        let took = self
            .request
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

/// The runtime is shutting down with a live session: nothing can be awaited, and no process may be
/// left.
impl Drop for Supervisor {
    fn drop(&mut self) {
        if !self.tree_killed {
            for _ in 0..SHUTDOWN_PASSES {
                if self.tree.kill_pass(std::time::Instant::now()) == Round::Empty {
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
