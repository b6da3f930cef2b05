//! Hostile clients of every endpoint, while the owner uses the runner.
//!
//! The runner may open few descriptors. Checked during each kind of hostility: the owner's requests
//! over the Unix socket are answered, within a second unless the machine is busy; the runner stays
//! below 200 MiB, also while ten readers of a large transcript stop reading; and an agent whose host
//! acknowledges everything writes its output to the end, whatever other clients read. Hostile clients
//! compete with the agent for the processors, so that its time is compared with that beside as many busy
//! threads as there are processors, which do nothing to the runner.

mod hostility;
mod large_transcript;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bowline_runner::wire::SessionKind;
use bowline_transport::{
    LogReader, Piece, PtyMode, Remote, SessionRequest, Stream, TerminalSession,
};
use bytes::Bytes;
use tokio::time::sleep;

use super::super::support::{hidden, on_pty, runtime, shell, within};
use super::super::{Job, Report};
use super::daemon::Daemon;
use super::flood::{self, LINE};
use super::memory;
use hostility::{Hostility, Target};

/// Maximum number of descriptors of the runner.
const DESCRIPTORS: u64 = 256;

/// Maximum memory of the runner.
const MEMORY: u64 = 200 << 20;

/// Time within which the owner is answered on a machine that is not busy.
const ANSWER: Duration = Duration::from_secs(1);

/// Pause between the owner's requests.
const REQUEST_PAUSE: Duration = Duration::from_millis(20);

/// Bytes that the agent writes during each hostility; more than any buffer holds.
const OUTPUT: u64 = 8 << 20;

/// How much longer than beside busy threads the agent may take: hostile clients cause work in several
/// processes. A client that held the agent back would do so until it leaves.
const SLOWDOWN: u32 = 6;

/// Added to that, for the scheduling of a machine that is busy with other work.
const SLACK: Duration = Duration::from_secs(2);

/// Messages of a large transcript, each of 1 KB, in one round and in several.
const LARGE_TRANSCRIPT: [usize; 2] = [24_000, 80_000];

/// Minimum duration of each hostility.
const LASTS: Duration = Duration::from_millis(800);

pub(in crate::campaign) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    if let Err(error) = runtime().block_on(all(job, &mut report)) {
        report.violation(error);
    }
    report
}

async fn all(job: &Job, report: &mut Report) -> Result<(), String> {
    let daemon = Daemon::serve_with_descriptors(DESCRIPTORS)?;
    let mut agent = Agent::start(&daemon).await?;
    let shell = on_pty(shell("exec sleep 1000"), PtyMode::Raw);
    let terminal = daemon.leave(shell).await?;
    let target = Arc::new(Target::new(&daemon, agent.session.id(), terminal));
    let calm = agent.write(OUTPUT).await?;
    for hostility in Hostility::ALL {
        let mut worst = Observed::default();
        let mut beside_threads = Duration::ZERO;
        for _ in 0..job.count {
            let competing = beside_busy_threads(&mut agent).await?;
            beside_threads = beside_threads.max(competing);
            let observed = under(hostility, &daemon, &target, &mut agent).await;
            let observed = observed.map_err(|error| format!("{hostility:?}: {error}"))?;
            let limit = competing.max(calm) * SLOWDOWN + SLACK;
            if observed.output > limit {
                report.violation(format!(
                    "{hostility:?}: the agent takes {:?}, and {competing:?} beside busy threads",
                    observed.output
                ));
            }
            worst = worst.max(observed);
        }
        report.note(format!(
            "{hostility:?}: the agent takes {:.0} ms ({:.0} ms in calm, {:.0} ms beside busy threads)",
            worst.output.as_secs_f64() * 1e3,
            calm.as_secs_f64() * 1e3,
            beside_threads.as_secs_f64() * 1e3,
        ));
        judge(&format!("{hostility:?}"), worst, report);
    }
    let messages = LARGE_TRANSCRIPT[usize::from(job.count > 1)];
    let observed = large_transcript::observe(&daemon, messages).await;
    let observed = observed.map_err(|error| format!("a large transcript: {error}"))?;
    judge("ten readers of a large transcript", observed, report);
    report.done = job.count;
    Ok(())
}

/// Reports the runner's memory and the owner's longest request.
fn judge(what: &str, worst: Observed, report: &mut Report) {
    let memory = worst.memory >> 20;
    report.note(format!(
        "{what}: the owner waits {:.0} ms at most, the runner has {memory} MiB",
        worst.answer.as_secs_f64() * 1e3,
    ));
    if worst.memory > MEMORY {
        report.violation(format!("{what}: the runner has {memory} MiB"));
    }
    if worst.answer > ANSWER {
        report.late(format!("{what}: the owner waits {:?}", worst.answer));
    }
}

/// Returns how long the agent takes beside as many busy threads as there are processors.
async fn beside_busy_threads(agent: &mut Agent) -> Result<Duration, String> {
    let is_over = Arc::new(AtomicBool::new(false));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for _ in 0..threads {
        let is_over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
    }
    let output = agent.write(OUTPUT).await;
    is_over.store(true, Ordering::Relaxed);
    output
}

/// The worst that was observed.
#[derive(Clone, Copy, Debug, Default)]
struct Observed {
    /// Time that a request of the owner took.
    answer: Duration,
    /// Time that the agent took for its output.
    output: Duration,
    /// Memory of the runner, in bytes.
    memory: u64,
}

impl Observed {
    fn max(self, other: Self) -> Self {
        Self {
            answer: self.answer.max(other.answer),
            output: self.output.max(other.output),
            memory: self.memory.max(other.memory),
        }
    }
}

/// Observes the runner during a hostility, which continues until the agent has written its output.
async fn under(
    hostility: Hostility,
    daemon: &Daemon,
    target: &Arc<Target>,
    agent: &mut Agent,
) -> Result<Observed, String> {
    let is_over = Arc::new(AtomicBool::new(false));
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..hostility.clients() {
        let (target, is_over) = (Arc::clone(target), Arc::clone(&is_over));
        clients.spawn(async move { hostility.act(&target, number, &is_over).await });
    }
    let owner = daemon.owner();
    let watching = watch(&owner, daemon.pid(), &is_over);
    let working = async {
        let started = Instant::now();
        let output = agent.write(OUTPUT).await;
        sleep(LASTS.saturating_sub(started.elapsed())).await;
        is_over.store(true, Ordering::Relaxed);
        output
    };
    let (watched, output) = tokio::join!(watching, working);
    let ended = async { while clients.join_next().await.is_some() {} };
    within("the end of the clients", ended).await?;
    let observed = watched?;
    Ok(Observed {
        output: output?,
        ..observed
    })
}

/// Sends requests of the owner until the end.
async fn watch(owner: &Remote, runner: u32, is_over: &AtomicBool) -> Result<Observed, String> {
    let mut worst = Observed::default();
    while !is_over.load(Ordering::Relaxed) {
        let started = Instant::now();
        let asked = owner.ask("GET", "/api/sessions", Bytes::new());
        let (status, _) = within("an answer to the owner", asked)
            .await?
            .map_err(|error| format!("the owner is refused: {error}"))?;
        if status != 200 {
            return Err(format!("the owner receives the status {status}"));
        }
        worst = worst.max(Observed {
            answer: started.elapsed(),
            memory: memory::private(runner),
            ..Observed::default()
        });
        sleep(REQUEST_PAUSE).await;
    }
    Ok(worst)
}

/// A session that may not lose output, and its host.
struct Agent {
    session: TerminalSession,
    output: LogReader,
    written: u64,
}

impl Agent {
    async fn start(daemon: &Daemon) -> Result<Self, String> {
        let mut order = SessionRequest::new(SessionKind::Dialogue, hidden(flood::MODE, &[]));
        // With a journal, a client that lags could hold the agent back only much later.
        order.journal = false;
        let session = daemon.make_with(&order).await?;
        let output = session.reader(Stream::Output);
        Ok(Self {
            session,
            output,
            written: 0,
        })
    }

    /// Lets the agent write, and reads everything as its host. Returns how long it took.
    async fn write(&mut self, bytes: u64) -> Result<Duration, String> {
        let started = Instant::now();
        let lines = bytes / LINE as u64;
        let order = self.session.write(format!("{lines}\n").into());
        let ordered = within("an order", order).await?;
        ordered.map_err(|error| error.to_string())?;
        let end = self.written + lines * LINE as u64;
        while self.written < end {
            match within("the agent's output", self.output.next()).await? {
                Some(Piece::Bytes { offset, bytes }) if offset == self.written => {
                    self.written += bytes.len() as u64;
                }
                other => return Err(format!("{other:?} after {} bytes", self.written)),
            }
        }
        Ok(started.elapsed())
    }
}
