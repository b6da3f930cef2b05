//! Floods on loopback while a client works: handshakes that never complete, unlimited attaches,
//! oversized messages and heads, pings at full speed.
//!
//! Each flood is bounded in count and time. Checked: a keystroke of the client takes at most twice
//! as long (p99), and the runner grows by at most 64 MiB. The flood comes from the same machine, so
//! that its own cost is part of the times; they are compared with those during the same flood
//! against a server that discards it.

mod attackers;
pub(in crate::campaign) mod baseline;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::super::support::runtime;
use super::super::{Job, Random, Report};
use super::daemon::Daemon;
use super::echo::{Echo, median, percentile};
use super::memory;
use attackers::{Attack, Target};
use baseline::BaselineServer;

/// Maximum growth of the runner.
const GROWTH: u64 = 64 << 20;

/// Maximum slowdown of a keystroke.
const LATER: f64 = 2.0;

/// Duration of each flood, and of each rest before it.
const LASTS: Duration = Duration::from_millis(1_200);

/// Attaches per second and session that the runner admits.
const ATTACHES: u32 = 10;

/// Number of attackers of each kind except slow handshakes.
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
    let baseline = BaselineServer::start(ATTACHES)?;
    let idle = Arc::new(Target::of(&daemon, id).at(baseline.address));
    measure(&mut echo).await?;
    let before = memory::private(daemon.pid());
    for attack in Attack::ALL {
        let (mut here, mut there, mut count) = (Vec::new(), Vec::new(), 0);
        for round in 0..job.count {
            let seed = job.seed.wrapping_add(round);
            there.push(under(attack, &idle, &mut echo, seed).await?.0);
            let (p99, actions) = under(attack, &runner, &mut echo, seed).await?;
            here.push(p99);
            count += actions;
        }
        let spread = spread(&there);
        let (here, there) = (median(&mut here), median(&mut there));
        let now = memory::private(daemon.pid());
        let grown = now.saturating_sub(before) >> 10;
        report.note(format!(
            "{attack:?}, {count} times: a key's p99 is {here:.2} ms, and {there:.2} ms while the same is done to \
             the baseline ({:.2} x, rounds of those lie {spread:.2} ms apart); the runner has grown by \
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
    report.done = job.count;
    Ok(())
}

/// Keystroke latency (p99) during a flood, in milliseconds, and the number of attacks.
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
        lanes.spawn(async move { attack.run(&target, random, &is_over).await });
    }
    let p99 = measure(echo).await;
    is_over.store(true, Ordering::Relaxed);
    let mut actions = 0;
    while let Some(done) = lanes.join_next().await {
        actions += done.map_err(|error| error.to_string())?;
    }
    Ok((p99?, actions))
}

/// Spread of repeated measurements, used as the measurement error.
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
