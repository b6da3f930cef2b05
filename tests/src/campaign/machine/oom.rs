//! Children that run out of memory, in a control group that contains their shim and the runner,
//! too.

use std::time::{Duration, Instant};

use bowline_transport::{ExitStatus, TerminalEngine};
use tokio::process::Command;
use tokio::time::sleep;

use super::host::Host;
use super::lateness;
use super::limited_group::LimitedGroup;
use super::program::HOG;
use super::station::Station;
use crate::campaign::support::{is_alive, percentiles, runtime, within};
use crate::campaign::{Job, Random, Report};

/// Memory limit of the group.
const BYTES: u64 = 192 << 20;

/// Longest time from the kill to the notification.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// The kernel's name of an OOM kill.
const SIGKILL: i32 = 9;

pub(crate) fn run(job: &Job) -> Report {
    lateness::watch();
    let mut report = Report::default();
    let group = match LimitedGroup::of_memory(BYTES) {
        Ok(group) => group,
        Err(error) => {
            report.note(format!(
                "skipped: no group with a limit can be made: {error}"
            ));
            return report;
        }
    };
    if let Err(error) = runtime().block_on(campaign(job, &group, &mut report)) {
        report.violation(error);
    }
    report
}

async fn campaign(job: &Job, group: &LimitedGroup, report: &mut Report) -> Result<(), String> {
    let mut random = Random::new(job.seed);
    let mut station = Station::with_copy()?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]);
    command.arg(group.members()).arg(station.program());
    station.start_by(command).await?;
    let seed = random.draw();
    let bystander = Host::start(&station.remote(), &station.speaker(seed, 20), seed).await?;
    let mut delays = Vec::new();
    for number in 0..job.count {
        let outcome = one(&station, group).await;
        report.one(
            outcome
                .map(|took| delays.push(took))
                .map_err(|why| format!("{number}: {why}")),
        );
    }
    let runner = station.pid();
    if !runner.is_some_and(is_alive) {
        report.violation("the runner was killed");
    }
    if let Err(error) = bystander.finish().await {
        report.violation(format!("another session: {error}"));
    }
    report.note(format!(
        "hosts notified {} after the kill",
        percentiles(delays)
    ));
    report.note(lateness::note());
    Ok(())
}

async fn one(station: &Station, group: &LimitedGroup) -> Result<Duration, String> {
    let before = group.kills().map_err(|error| error.to_string())?;
    let (remote, order) = (station.remote(), station.order(&[HOG.into()]));
    let session = within("a session", TerminalEngine.make_remote(&remote, &order)).await?;
    let session = session.map_err(|error| error.to_string())?;
    let folder = station.state()?.session(session.id());
    let info = folder.info().map_err(|error| error.to_string())?;
    let info = info.ok_or("no info of the session")?;
    check_scores(station.pid(), info.shim_pid, info.pid)?;
    let killed = within("a kill for want of memory", async {
        while group.kills().is_ok_and(|now| now == before) {
            sleep(Duration::from_millis(1)).await;
        }
        Instant::now()
    });
    let killed = killed.await?;
    let exit = within("the exit", session.exited()).await?;
    let took = killed.elapsed();
    if exit.status != ExitStatus::Signal(SIGKILL) || !exit.oom {
        return Err(format!("a wrong exit was reported: {exit:?}"));
    }
    if took > lateness::allow(MAX_DELAY) {
        return Err(format!("reported after {took:?}"));
    }
    Ok(took)
}

/// Checks that the OOM killer prefers the child over the runner and the shim.
fn check_scores(runner: Option<u32>, shim: u32, child: Option<u32>) -> Result<(), String> {
    let score = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).ok()?;
        text.trim().parse::<i32>().ok()
    };
    // The child may have exited.
    let Some(child) = child.and_then(score) else {
        return Ok(());
    };
    let others = [runner.and_then(score), score(shim)];
    match others
        .iter()
        .all(|other| other.is_some_and(|it| it < child))
    {
        true => Ok(()),
        false => Err(format!(
            "the child's score is {child}, the others' {others:?}"
        )),
    }
}
