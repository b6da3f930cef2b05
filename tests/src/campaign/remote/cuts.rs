//! Sessions over links that are cut at random bytes, both ways, on real sockets, through the
//! WebSocket and the gRPC door.
//!
//! What is promised, and checked for each session: its output is byte for byte what its input makes
//! of it, so that nothing was lost, repeated or moved in either direction; its end is told once, with
//! its code, behind the last byte, and then the session is gone; a dialogue's transcript is the one
//! of a dialogue on this machine.

mod dialogue;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::super::support::runtime;
use super::super::{Job, Random, Report};
use super::daemon::Daemon;
use crate::chaos::{Address, ChaosProxy, Fault, Faults};

/// Sessions at a time. Most of their time is spent waiting for the next try.
const LANES: usize = 48;

/// The longest time between two cuts of a link that meets no fault of its own, as a rule.
const CUT_EVERY: Duration = Duration::from_millis(200);

pub(in crate::campaign) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    if let Err(error) = runtime().block_on(storm(job, &mut report)) {
        report.violation(error);
    }
    report
}

/// What became of a session.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    sessions: u64,
    bytes: u64,
    lines: u64,
    dialogues: u64,
}

async fn storm(job: &Job, report: &mut Report) -> Result<(), String> {
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
        "{} sessions and {} dialogues, {} bytes heard, {} lines typed; {:.0} cuts a second",
        sum.sessions,
        sum.dialogues,
        sum.bytes,
        sum.lines,
        report.done as f64 / took
    ));
    Ok(())
}

/// One session behind a proxy of its own, which cuts it until it has ended.
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
    let storm = Storm {
        proxy,
        counted: AtomicU64::new(0),
        cuts,
    };
    let work = async {
        match number % 8 {
            0 | 5 => stream::run(daemon, &storm, seed, stream::Kind::Terminal).await,
            1 => stream::run(daemon, &storm, seed, stream::Kind::Pipes).await,
            2 => stream::run(daemon, &storm, seed, stream::Kind::TerminalOverGrpc).await,
            3 => stream::run(daemon, &storm, seed, stream::Kind::PipesOverGrpc).await,
            kind => dialogue::run(daemon, &storm, expected, kind == 6).await,
        }
    };
    tokio::select! {
        done = work => done,
        never = storm.rage(Random::new(seed)) => match never {},
    }
}

/// A proxy that is at its worst, and the count of what it did.
struct Storm<'a> {
    proxy: ChaosProxy,
    counted: AtomicU64,
    cuts: &'a AtomicU64,
}

impl Storm<'_> {
    /// Cuts links that meet no fault of their own, too.
    async fn rage(&self, mut random: Random) -> std::convert::Infallible {
        loop {
            // Now and then a link has time: a machine that is overrun makes way, too.
            let often = if random.below(8) == 0 { 10 } else { 1 };
            let pause = often * random.below(CUT_EVERY.as_micros() as u64);
            tokio::time::sleep(Duration::from_micros(pause)).await;
            if !self.proxy.is_kind() {
                self.proxy.cut_all();
            }
            self.count();
        }
    }

    /// The end has been told: what is left is to take leave.
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

/// All of them, with pauses of up to half a second, within the first so many bytes.
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
