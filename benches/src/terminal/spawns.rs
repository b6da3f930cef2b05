//! Time to start and keep many sessions.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bowline_transport::{Containment, HardenedPtySystem, TerminationPolicy};
use portable_pty::{CommandBuilder, PtySystem};
use rustix::process::{Pid, Signal, kill_process};

use super::{Plan, Row, ours, stock};

/// A child that does nothing, the smallest that every system has.
const IDLE: [&str; 2] = ["/bin/sleep", "1000"];

pub(super) fn rows(plan: &Plan) -> Result<Vec<Row>> {
    let count = plan.sessions;
    let stock = by_system(&*stock::system(), count)?;
    let hardened = by_system(&HardenedPtySystem::default(), count)?;
    let group = sessions(count, Containment::Group)?;
    let cgroup = sessions(count, Containment::Cgroup)?;
    let contenders = [
        ("portable-pty + thread", stock),
        ("bowline, control groups", cgroup),
        ("bowline, process groups", group),
        ("bowline's PtySystem + thread", hardened),
    ];
    let rows = contenders.into_iter().map(|(contender, took)| Row {
        what: "start and keep sessions",
        contender,
        figure: format!("{:.2} s for {count}", took.as_secs_f64()),
        ratio: (contender != "portable-pty + thread")
            .then(|| took.as_secs_f64() / stock.as_secs_f64()),
        goal: contender.starts_with("bowline,").then_some("<= 0.4"),
    });
    Ok(rows.collect())
}

fn by_system(system: &dyn PtySystem, count: usize) -> Result<Duration> {
    let started = Instant::now();
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let mut command = CommandBuilder::new(IDLE[0]);
        command.arg(IDLE[1]);
        all.push(stock::start(system, command)?);
    }
    let took = started.elapsed();
    for stock in all {
        // Not through the trait: portable-pty waits between signals, and Bowline scans every
        // process.
        let mut child = stock.child;
        let pid = child
            .process_id()
            .and_then(|pid| Pid::from_raw(pid.cast_signed()));
        kill_process(pid.context("a child has a pid")?, Signal::KILL)?;
        child.wait()?;
    }
    Ok(took)
}

fn sessions(count: usize, containment: Containment) -> Result<Duration> {
    ours::runtime()?.block_on(async {
        let mut configuration = ours::configuration("", "", ours::raw_pty())?;
        configuration.program = IDLE[0].into();
        configuration.args = vec![IDLE[1].into()];
        configuration.containment = Some(containment);
        let started = Instant::now();
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(ours::start(configuration.clone())?);
            // Yields like a host with other work.
            tokio::task::yield_now().await;
        }
        let took = started.elapsed();
        // At the same time, so that they share scans of the process table.
        let mut ends = tokio::task::JoinSet::new();
        for session in all {
            ends.spawn(async move { session.terminate(TerminationPolicy::AT_ONCE).await });
        }
        ends.join_all().await;
        Ok(took)
    })
}
