//! Sessions over links that are cut at random bytes in both directions, on real sockets, over the
//! WebSocket and the gRPC endpoint.
//!
//! Checked for each session: its output is exactly the function of its input, so that nothing was
//! lost, repeated or reordered in either direction; its end is reported once, with its exit code,
//! after the last byte, and then the session is gone; a dialogue's transcript equals that of a
//! local dialogue.

pub(in crate::campaign) mod dialogue;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::super::support::runtime;
use super::super::{Job, Random, Report};
use super::daemon::Daemon;
use crate::chaos::{Address, ChaosProxy, Fault, Faults};

/// Number of concurrent sessions. They mostly wait for the next reconnect.
const LANES: usize = 48;

/// Cuts of a session after which they become rarer; most sessions end with fewer.
const CUTS_AT_FULL_RATE: u64 = 100;

/// Usual upper bound of the time between two cuts of a link without a planned fault.
const CUT_EVERY: Duration = Duration::from_millis(200);

pub(in crate::campaign) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    if let Err(error) = runtime().block_on(sessions(job, &mut report)) {
        report.violation(error);
    }
    report
}

/// Results of a session.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    sessions: u64,
    bytes: u64,
    lines: u64,
    dialogues: u64,
}

async fn sessions(job: &Job, report: &mut Report) -> Result<(), String> {
    let started = Instant::now();
    let daemon = Arc::new(Daemon::start()?);
    let expected = Arc::new(dialogue::expected().await?);
    let cuts = Arc::new(AtomicU64::new(0));
    let mut lanes = JoinSet::new();
    let (mut number, mut sum) = (0, Tally::default());
    while cuts.load(Ordering::Relaxed) < job.count || !lanes.is_empty() {
        while lanes.len() < LANES && cuts.load(Ordering::Relaxed) < job.count {
            let seed = Random::new(job.seed.wrapping_add(number)).draw();
            let (daemon, expected) = (Arc::clone(&daemon), Arc::clone(&expected));
            let (number_now, cuts) = (number, Arc::clone(&cuts));
            lanes.spawn(async move {
                let done = session(&daemon, seed, number_now, &expected, &cuts).await;
                done.map_err(|why| format!("session {number_now}, seed {seed}: {why}"))
            });
            number += 1;
        }
        let Some(done) = lanes.join_next().await else {
            break;
        };
        match done.map_err(|error| error.to_string()).flatten() {
            Ok(more) => {
                sum.sessions += more.sessions;
                sum.bytes += more.bytes;
                sum.lines += more.lines;
                sum.dialogues += more.dialogues;
            }
            Err(why) => report.violation(why),
        }
        if report.violations.len() > 20 {
            break;
        }
    }
    report.done = cuts.load(Ordering::Relaxed);
    let took = started.elapsed().as_secs_f64();
    report.note(format!(
        "{} sessions and {} dialogues, {} bytes received, {} lines typed; {:.0} cuts a second",
        sum.sessions,
        sum.dialogues,
        sum.bytes,
        sum.lines,
        report.done as f64 / took
    ));
    Ok(())
}

/// Runs one session through its own proxy, which cuts links until it has ended.
async fn session(
    daemon: &Daemon,
    seed: u64,
    number: u64,
    expected: &serde_json::Value,
    cuts: &AtomicU64,
) -> Result<Tally, String> {
    let is_dialogue = number % 8 > 5 || number % 8 == 4;
    let faults = faults(if is_dialogue { 96 << 10 } else { 24 << 10 });
    let proxy = ChaosProxy::start(Address::Tcp(daemon.address()), seed, faults).await;
    let proxy = proxy.map_err(|error| error.to_string())?;
    let faults = CuttingProxy {
        proxy,
        counted: AtomicU64::new(0),
        cuts,
    };
    let work = async {
        match number % 8 {
            0 | 5 => stream::run(daemon, &faults, seed, stream::Kind::Terminal).await,
            1 => stream::run(daemon, &faults, seed, stream::Kind::Pipes).await,
            2 => stream::run(daemon, &faults, seed, stream::Kind::TerminalOverGrpc).await,
            3 => stream::run(daemon, &faults, seed, stream::Kind::PipesOverGrpc).await,
            kind => dialogue::run(daemon, &faults, expected, kind == 6).await,
        }
    };
    tokio::select! {
        done = work => done,
        never = faults.cut_links(Random::new(seed)) => match never {},
    }
}

/// A proxy that injects faults, and the count of them.
struct CuttingProxy<'a> {
    proxy: ChaosProxy,
    counted: AtomicU64,
    cuts: &'a AtomicU64,
}

impl CuttingProxy<'_> {
    /// Cuts links without a planned fault, too.
    async fn cut_links(&self, mut random: Random) -> std::convert::Infallible {
        loop {
            // Now and then a link gets more time, so that an overloaded machine makes progress.
            let often = if random.below(8) == 0 { 10 } else { 1 };
            // One that gets nowhere is cut less and less often.
            let slower = 1 + self.counted.load(Ordering::Relaxed) / CUTS_AT_FULL_RATE;
            let pause = often * slower * random.below(CUT_EVERY.as_micros() as u64);
            tokio::time::sleep(Duration::from_micros(pause)).await;
            if !self.proxy.is_kind() {
                self.proxy.cut_all();
            }
            self.count();
        }
    }

    /// The end has been reported; only the detach remains.
    fn calm(&self) {
        self.proxy.be_kind();
        self.count();
    }

    fn count(&self) {
        let now = self.proxy.severed();
        let before = self.counted.swap(now, Ordering::Relaxed);
        self.cuts
            .fetch_add(now.saturating_sub(before), Ordering::Relaxed);
    }
}

/// All kinds of faults, with pauses of up to half a second, within the given number of bytes.
fn faults(reach: u64) -> Faults {
    Faults {
        kinds: vec![
            Fault::Cut,
            Fault::Cut,
            Fault::HalfClose,
            Fault::HalfClose,
            Fault::Reset,
            Fault::Reset,
            Fault::Stall(Duration::from_millis(20)),
            Fault::Stall(Duration::from_millis(500)),
            Fault::Delay(Duration::from_millis(5)),
            Fault::Delay(Duration::from_millis(500)),
        ],
        after: 0..reach,
    }
}
