//! Runners that are killed or upgraded while sessions write output.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::time::sleep;

use super::host::{Host, after};
use super::lateness;
use super::station::Station;
use crate::campaign::support::{percentiles, runtime, within};
use crate::campaign::{Job, Random, Report};

/// Number of sessions that write continuously.
const SESSIONS: u64 = 20;

/// Pause between two blocks of a session, in milliseconds.
const PAUSE_MS: u64 = 20;

/// Time between outages: a link that is lost sooner is retried with a longer delay.
const STABLE: Duration = Duration::from_secs(2);

/// Longest reconnect time of a host after the runner is back (p99).
const BACK: Duration = Duration::from_secs(1);

/// How the runner stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    Killed,
    Upgraded,
}

/// The runner is killed by SIGKILL and started again.
pub(crate) fn run_killed(job: &Job) -> Report {
    run(job, Outage::Killed)
}

/// The runner's program file is replaced, and the runner is restarted.
pub(crate) fn run_upgraded(job: &Job) -> Report {
    run(job, Outage::Upgraded)
}

fn run(job: &Job, outage: Outage) -> Report {
    lateness::watch();
    let mut report = Report::default();
    if let Err(error) = runtime().block_on(campaign(job, outage, &mut report)) {
        report.violation(error);
    }
    report
}

async fn campaign(job: &Job, outage: Outage, report: &mut Report) -> Result<(), String> {
    let mut random = Random::new(job.seed);
    let mut station = Station::with_copy()?;
    station.start().await?;
    let mut hosts = Vec::new();
    for _ in 0..SESSIONS {
        let seed = random.draw();
        let order = station.speaker(seed, PAUSE_MS);
        hosts.push(Host::start(&station.remote(), &order, seed).await?);
    }
    let (mut back, mut down) = (Vec::new(), Vec::new());
    for number in 0..job.count {
        sleep(STABLE + Duration::from_micros(random.below(100_000))).await;
        let outcome = one(number, outage, &mut station, &mut hosts).await;
        report.one(outcome.map(|one| {
            back.extend(one.back);
            down.push(one.down);
        }));
    }
    for host in hosts {
        if let Err(error) = host.finish().await {
            report.violation(format!("a session at its end: {error}"));
        }
    }
    back.sort_unstable();
    let late = back.get(back.len() * 99 / 100).copied().unwrap_or_default();
    if late > lateness::allow(BACK) {
        report.violation(format!(
            "the 99th of a hundred hosts is back after {late:?}"
        ));
    }
    report.note(format!(
        "{SESSIONS} sessions, hosts back {} after the runner was",
        percentiles(back)
    ));
    report.note(format!("without a runner {}", percentiles(down)));
    report.note(lateness::note());
    Ok(())
}

/// Durations of one outage.
struct One {
    back: Vec<Duration>,
    down: Duration,
}

async fn one(
    number: u64,
    outage: Outage,
    station: &mut Station,
    hosts: &mut [Host],
) -> Result<One, String> {
    let text = format!("outage {number}\n");
    let typed: Vec<_> = hosts.iter_mut().map(|host| host.type_in(&text)).collect();
    let went = Instant::now();
    match outage {
        Outage::Killed => station.end_runner(Signal::KILL).await?,
        Outage::Upgraded => {
            station.replace_program()?;
            station.end_runner(Signal::TERM).await?;
        }
    }
    let came = station.start().await?;
    let mut back = Vec::new();
    for host in hosts.iter() {
        let before = host.read();
        back.push(after(host.up_after(went).await?, came));
        host.until_read(before + 1).await?;
    }
    for typed in typed {
        within("what was typed", typed)
            .await?
            .map_err(|error| error.to_string())??;
    }
    Ok(One {
        back,
        down: after(came, went),
    })
}
