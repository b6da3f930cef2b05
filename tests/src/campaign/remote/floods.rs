//! Floods on loopback while somebody does their work: handshakes that never come to an end, attaches
//! without number, messages and heads longer than any may be, pings as fast as they go.
//!
//! Each flood is bounded in count and time. What is promised, and checked: a key of the one who works
//! takes twice as long at most, at the 99th of a hundred, and the runner grows by 64 MiB at most. The
//! flood comes from this very machine, so that its own work is in the times: the same work against a
//! server that does nothing with it stands beside them.

mod attackers;
pub(in crate::campaign) mod nobody;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::super::support::runtime;
use super::super::{Job, Random, Report};
use super::daemon::Daemon;
use super::echo::{Echo, median, percentile};
use super::memory;
use attackers::{Attack, Target};
use nobody::Nobody;

/// The most that the runner may grow by.
const GROWTH: u64 = 64 << 20;

/// How much later a key may come back.
const LATER: f64 = 2.0;

/// How long each flood lasts, and each rest before it.
const LASTS: Duration = Duration::from_millis(1_200);

/// Attaches to a session that the runner lets happen in a second.
const ATTACHES: u32 = 10;

/// Attackers of each kind but that of the slow handshakes.
const ATTACKERS: u64 = 4;

pub(in crate::campaign) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    if let Err(error) = runtime().block_on(floods(job, &mut report)) {
        report.violation(error);
    }
    report
}

async fn floods(job: &Job, report: &mut Report) -> Result<(), String> {
    let daemon = Daemon::serve(([127, 0, 0, 1], 0).into(), ATTACHES)?;
    let mut echo = Echo::start(&daemon).await?;
    let id = daemon
        .leave(super::super::support::shell("exec sleep 1000"))
        .await?;
    let runner = Arc::new(Target::of(&daemon, id));
    let nobody = Nobody::start(ATTACHES)?;
    let idle = Arc::new(Target::of(&daemon, id).at(nobody.address));
    measure(&mut echo).await?;
    let before = memory::private(daemon.pid());
    for attack in Attack::ALL {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for round in 0..job.count {
            let seed = job.seed.wrapping_add(round);
            there.push(under(attack, &idle, &mut echo, seed).await?.0);
            let (p99, deeds) = under(attack, &runner, &mut echo, seed).await?;
            here.push(p99);
            report.done += deeds;
        }
        let spread = spread(&there);
        let (here, there) = (median(&mut here), median(&mut there));
        let now = memory::private(daemon.pid());
        let grown = now.saturating_sub(before) >> 10;
        report.note(format!(
            "{attack:?}: a key's p99 is {here:.2} ms, and {there:.2} ms while the same is done to \
             nobody ({:.2} x, rounds of those lie {spread:.2} ms apart); the runner has grown by \
             {grown} KiB",
            here / there
        ));
        if here > there * LATER + spread {
            report.late(format!("{attack:?}: p99 {here:.2} ms beside {there:.2} ms"));
        }
        if grown << 10 > GROWTH {
            report.violation(format!("{attack:?}: the runner grows by {grown} KiB"));
        }
    }
    echo.beat().await?;
    Ok(())
}

/// The 99th of a hundred keys during a flood, in milliseconds, and how much was done in it.
async fn under(
    attack: Attack,
    target: &Arc<Target>,
    echo: &mut Echo,
    seed: u64,
) -> Result<(f64, u64), String> {
    let is_over = Arc::new(AtomicBool::new(false));
    let mut lanes = tokio::task::JoinSet::new();
    for lane in 0..ATTACKERS {
        let (target, is_over) = (Arc::clone(target), Arc::clone(&is_over));
        let random = Random::new(seed ^ (lane << 40));
        lanes.spawn(async move { attack.rage(&target, random, &is_over).await });
    }
    let p99 = measure(echo).await;
    is_over.store(true, Ordering::Relaxed);
    let mut deeds = 0;
    while let Some(done) = lanes.join_next().await {
        deeds += done.map_err(|error| error.to_string())?;
    }
    Ok((p99?, deeds))
}

/// How far the same thing lies apart when it is done again: what is not known of it.
fn spread(times: &[f64]) -> f64 {
    let most = times.iter().copied().fold(0.0, f64::max);
    most - times.iter().copied().fold(most, f64::min)
}

async fn measure(echo: &mut Echo) -> Result<f64, String> {
    let started = Instant::now();
    let mut times = Vec::new();
    while started.elapsed() < LASTS {
        times.push(echo.beat().await?);
    }
    Ok(percentile(&mut times, 99))
}
