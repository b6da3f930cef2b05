//! Servers that are killed, frozen or stopped, or all lose their power, while sessions are copied.
//!
//! Checked at the end: what was acknowledged is there, nothing is repeated or out of order, and each replica equals
//! the journal.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::time::sleep;

use super::writers::Writers;
use crate::campaign::support::{percentiles, run_to_end, within};
use crate::campaign::{Job, Random, Report};
use crate::fleet::{NatsServers, RecordedBus};

/// Servers of the cluster.
const SERVERS: usize = 3;

/// Sessions that are written meanwhile.
const SESSIONS: u64 = 8;

/// Longest time before a failure, and before a killed server is started again.
const MAX_PAUSE_MS: u64 = 2_000;

/// A failure of the server that leads the stream, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NatsFailure {
    /// SIGKILL, and a start.
    Kill,
    /// SIGSTOP until the others go on, then SIGCONT.
    Freeze,
    /// SIGTERM, and a start.
    Stop,
    /// What no server has synced is lost, and all are started.
    PowerCut,
}

impl NatsFailure {
    /// Longest time without an acknowledgement: the server's elections take 4 to 9 s.
    const fn max_pause(self) -> Duration {
        match self {
            Self::Kill => Duration::from_secs(12),
            Self::Freeze | Self::PowerCut => Duration::from_secs(20),
            Self::Stop => Duration::from_millis(500),
        }
    }
}

pub(in crate::campaign) fn kills(job: &Job) -> Report {
    run_to_end(job, async |job, report| {
        failures(job, report, NatsFailure::Kill).await
    })
}

pub(in crate::campaign) fn freezes(job: &Job) -> Report {
    run_to_end(job, async |job, report| {
        failures(job, report, NatsFailure::Freeze).await
    })
}

pub(in crate::campaign) fn stops(job: &Job) -> Report {
    run_to_end(job, async |job, report| {
        failures(job, report, NatsFailure::Stop).await
    })
}

pub(in crate::campaign) fn power_cuts(job: &Job) -> Report {
    run_to_end(job, async |job, report| {
        failures(job, report, NatsFailure::PowerCut).await
    })
}

async fn failures(job: &Job, report: &mut Report, failure: NatsFailure) -> Result<(), String> {
    let is_power_cut = failure == NatsFailure::PowerCut;
    if is_power_cut && let Some(why) = NatsServers::disks_missing() {
        report.note(format!("left out: a file system cannot be mounted: {why}"));
        return Ok(());
    }
    let mut servers = match is_power_cut {
        true => NatsServers::start_on_disks(SERVERS)?,
        false => NatsServers::start(SERVERS, "")?,
    };
    let bus = RecordedBus::new(within("a cluster", servers.set_up()).await?);
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut random = Random::new(job.seed);
    let mut writers = Writers::start(&bus, folder.path(), SESSIONS, &mut random)?;
    let (mut pauses, mut delays) = (Vec::new(), Vec::new());
    for _ in 0..job.count {
        writers.copied().await?;
        sleep(Duration::from_millis(random.below(MAX_PAUSE_MS))).await;
        bus.with(|it| it.take_pause());
        let begin = Instant::now();
        fail(&mut servers, &bus, &mut writers, failure, &mut random).await?;
        writers.copied().await?;
        let pause = bus.with(|it| it.take_pause());
        if pause > failure.max_pause() {
            report.late(format!(
                "{failure:?}: {pause:.1?} without an acknowledgement"
            ));
        }
        pauses.push(pause);
        delays.push(begin.elapsed());
        report.done += 1;
    }
    let acknowledged = writers.finish().await?;
    report.note(format!(
        "without an acknowledgement: {}; until all was copied: {}",
        percentiles(pauses),
        percentiles(delays)
    ));
    report.note(format!(
        "{acknowledged} acknowledged messages of {SESSIONS} sessions: none lost, repeated or out of order"
    ));
    Ok(())
}

/// Causes the failure, and ends it.
async fn fail(
    servers: &mut NatsServers,
    bus: &RecordedBus,
    writers: &mut Writers,
    failure: NatsFailure,
    random: &mut Random,
) -> Result<(), String> {
    let leader = within("a leader", servers.leader(bus.connection())).await?;
    let pause = Duration::from_millis(random.below(MAX_PAUSE_MS));
    match failure {
        NatsFailure::Kill | NatsFailure::Stop => {
            let is_kill = failure == NatsFailure::Kill;
            let signal = if is_kill { Signal::KILL } else { Signal::TERM };
            servers.end(leader, signal);
            // Half of the time, the others go on without it.
            if random.below(2) == 0 {
                writers.copied().await?;
            } else {
                sleep(pause).await;
            }
            servers.run(leader)?;
        }
        NatsFailure::Freeze => {
            servers.signal(leader, Signal::STOP);
            let copied = writers.copied().await;
            servers.signal(leader, Signal::CONT);
            copied?;
        }
        NatsFailure::PowerCut => {
            servers.cut_power()?;
            sleep(pause).await;
            for n in 0..servers.count() {
                servers.run(n)?;
            }
        }
    }
    Ok(())
}
