//! Clock steps under running sessions: years on the wall clock at any reading, days between the
//! monotonic clocks of a runner, its sessions and their hosts, days of suspend since boot; and a
//! suspended machine.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::process::Command;
use tokio::time::sleep;

use super::host::Host;
use super::station::{Station, send};
use super::stopped::Session;
use crate::campaign::support::{is_alive, runtime};
use crate::campaign::{Job, Random, Report};

/// Number of sessions of each run.
const SESSIONS: u64 = 3;

/// How long the links are observed; in one of ten runs longer than the silence timeout.
const SHORT: Duration = Duration::from_millis(1_500);
const LONG: Duration = Duration::from_secs(20);
const LONG_EVERY: u64 = 10;

/// Duration of a suspend; a link counts as dead after 14 s of silence.
const NIGHT: Duration = Duration::from_secs(17);

/// Longest time between the first and the next process that resumes, in milliseconds.
const WAKING_MS: u64 = 500;

/// Ten days, in seconds.
const AWAY: &str = "864000";

/// Steps the wall clock by ten years, back and forth, at each reading. It interposes the C
/// library's function, which Rust's standard library calls.
const STEPS: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static unsigned looks;
int clock_gettime(clockid_t clock, struct timespec *now) {
    int done = syscall(SYS_clock_gettime, clock, now);
    if (done == 0 && clock == CLOCK_REALTIME) {
        static const long years[] = {10, -10, 0, -10, 10};
        now->tv_sec += years[looks++ % 5] * 31556952L;
    }
    return done;
}
"#;

/// The clock that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// The wall clock, at each reading.
    Wall,
    /// The monotonic clock is ten days ahead for the runner and its sessions, but not for the
    /// second runner that takes over.
    Monotonic,
    /// The boot-time clock is ten days ahead of the monotonic clock: the runner's machine was
    /// suspended before.
    BootTime,
    /// All clocks jump, since no process runs: hosts, runner, shims and children are suspended
    /// together.
    Asleep,
}

impl Clock {
    const ALL: [Self; 4] = [Self::Wall, Self::Monotonic, Self::BootTime, Self::Asleep];
}

pub(crate) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let runtime = runtime();
    let mut random = Random::new(job.seed);
    for number in 0..job.count {
        let kinds = Clock::ALL.len() as u64;
        let clock = Clock::ALL[(number % kinds) as usize];
        // Each kind is observed for the long time in turn.
        let calm = match number % (kinds * LONG_EVERY) >= kinds * (LONG_EVERY - 1) {
            true => LONG,
            false => SHORT,
        };
        let outcome = match clock {
            Clock::Asleep => runtime.block_on(sleep_and_wake(&mut random)),
            clock => runtime.block_on(one(clock, calm, &mut random)),
        };
        match outcome {
            Ok(true) => report.done += 1,
            Ok(false) => report.note(format!("skipped: {clock:?} cannot be changed here")),
            Err(why) => report.one(Err(format!("{clock:?}, action {number}: {why}"))),
        }
    }
    let done = report.done;
    report.note(format!(
        "{SESSIONS} sessions each in {done} actions; every fourth time the machine slept for {NIGHT:?}"
    ));
    report
}

/// Returns whether the clock could be changed.
async fn one(clock: Clock, calm: Duration, random: &mut Random) -> Result<bool, String> {
    let mut station = Station::with_copy()?;
    let command = match clock {
        Clock::Wall => stepping(&station).await?,
        Clock::Monotonic => Some(days_ahead(
            &station,
            &["--monotonic", AWAY, "--boottime", AWAY],
        )),
        Clock::BootTime | Clock::Asleep => Some(days_ahead(&station, &["--boottime", AWAY])),
    };
    let Some(command) = command else {
        return Ok(false);
    };
    if let Err(why) = station.start_by(command).await {
        return if clock == Clock::Wall {
            Err(why)
        } else {
            Ok(false)
        };
    }
    let mut hosts = Vec::new();
    for _ in 0..SESSIONS {
        let seed = random.draw();
        let order = station.speaker(seed, 20);
        hosts.push(Host::start(&station.remote(), &order, seed).await?);
    }
    watch(&mut hosts, calm).await?;
    if clock != Clock::Wall {
        // The next runner uses the machine's own clock again, ten days earlier.
        let went = Instant::now();
        station.end_runner(Signal::KILL).await?;
        station.start().await?;
        for host in &hosts {
            host.up_after(went).await?;
        }
        watch(&mut hosts, SHORT).await?;
    }
    for host in hosts {
        host.finish().await?;
    }
    Ok(true)
}

/// Stops every process and continues them in random order. No process ends, and each link recovers
/// by itself.
async fn sleep_and_wake(random: &mut Random) -> Result<bool, String> {
    let station = Station::new().await?;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(Session::start(&station, random.draw()).await?);
    }
    for session in &mut sessions {
        session.goes_on().await?;
    }
    let pids = sessions.iter().flat_map(Session::pids).chain(station.pid());
    let mut pids: Vec<u32> = pids.collect();
    for pid in &pids {
        send(Some(*pid), Signal::STOP);
    }
    sleep(NIGHT).await;
    let first = random.below(pids.len() as u64) as usize;
    pids.swap(0, first);
    let (first, others) = pids.split_at(1);
    send(first.first().copied(), Signal::CONT);
    sleep(Duration::from_millis(random.below(WAKING_MS))).await;
    for pid in others {
        send(Some(*pid), Signal::CONT);
    }
    for session in &mut sessions {
        session.goes_on().await?;
    }
    for pid in &pids {
        if !is_alive(*pid) {
            return Err("a process did not survive the suspend".to_owned());
        }
    }
    for session in sessions {
        session.finish().await?;
    }
    Ok(true)
}

/// Checks that no link goes down, and that all output and input arrives.
async fn watch(hosts: &mut [Host], calm: Duration) -> Result<(), String> {
    let before: Vec<_> = hosts
        .iter()
        .map(|host| (host.read(), host.drops()))
        .collect();
    for host in hosts.iter_mut() {
        host.type_in("what time is it?\n")
            .await
            .map_err(|error| error.to_string())??;
    }
    sleep(calm).await;
    for (host, (read, drops)) in hosts.iter().zip(before) {
        host.until_read(read + 1).await?;
        if host.drops() != drops {
            return Err("a link was lost".to_owned());
        }
    }
    Ok(())
}

/// A runner with a stepping wall clock, or `None` where there is no C compiler.
async fn stepping(station: &Station) -> Result<Option<Command>, String> {
    let (source, library) = (
        station.folder().join("steps.c"),
        station.folder().join("steps.so"),
    );
    fs::write(&source, STEPS).map_err(|error| error.to_string())?;
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source);
    let compiled = compiler.stderr(Stdio::null()).status().await;
    if !compiled.is_ok_and(|status| status.success()) {
        return Ok(None);
    }
    let mut command = Command::new(station.program());
    command.env("LD_PRELOAD", library);
    Ok(Some(command))
}

/// A runner in a time namespace (time_namespaces(7)).
fn days_ahead(station: &Station, clocks: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.arg("--time").args(clocks);
    command
        .args(["--fork", "--kill-child"])
        .arg(station.program());
    command
}
