//! Clocks that step under sessions: years on the wall's clock, at any reading, days between the
//! monotonic clocks of a runner, its sessions and their hosts, days that a machine has slept since
//! it was started; and a machine that sleeps.

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

/// Sessions of each deed.
const SESSIONS: u64 = 3;

/// How long nothing may happen: in a tenth of the deeds, longer than a silence may be.
const SHORT: Duration = Duration::from_millis(1_500);
const LONG: Duration = Duration::from_secs(20);
const LONG_EVERY: u64 = 10;

/// How long a machine sleeps: a link counts as dead after 14 s of silence.
const NIGHT: Duration = Duration::from_secs(17);

/// Longest time between the first and the next one that wakes, in milliseconds.
const WAKING_MS: u64 = 500;

/// Ten days, in seconds.
const AWAY: &str = "864000";

/// Steps the wall's clock by ten years, there and back, each time that somebody looks. It stands in
/// for the C library's own call, which Rust's standard library makes.
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

/// Whose clock is wrong, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// The wall's, at each look.
    Wall,
    /// The monotonic one is ten days ahead for the runner and its sessions, and not for a second
    /// runner that takes over.
    Monotonic,
    /// The boot-time one is ten days ahead of the monotonic one: the runner's machine has slept so
    /// long before.
    BootTime,
    /// All of them jump, since nobody runs: hosts, runner, shims and children sleep together.
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
        // Each kind has its turn at being watched for long.
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
            Err(why) => report.one(Err(format!("{clock:?}, deed {number}: {why}"))),
        }
    }
    let done = report.done;
    report.note(format!(
        "{SESSIONS} sessions each in {done} deeds; every fourth time the machine slept for {NIGHT:?}"
    ));
    report
}

/// Answers whether the clock could be changed.
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
        // The next one has the machine's own clock again, ten days behind.
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

/// Everybody stops and goes on later, whoever is the first. Nothing is killed, and each link is there
/// again without anybody's doing.
async fn sleep_and_wake(random: &mut Random) -> Result<bool, String> {
    let station = Station::new().await?;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(Session::start(&station, random.draw()).await?);
    }
    for session in &mut sessions {
        session.goes_on().await?;
    }
    let everybody = sessions.iter().flat_map(Session::pids).chain(station.pid());
    let mut everybody: Vec<u32> = everybody.collect();
    for pid in &everybody {
        send(Some(*pid), Signal::STOP);
    }
    sleep(NIGHT).await;
    let first = random.below(everybody.len() as u64) as usize;
    everybody.swap(0, first);
    let (first, others) = everybody.split_at(1);
    send(first.first().copied(), Signal::CONT);
    sleep(Duration::from_millis(random.below(WAKING_MS))).await;
    for pid in others {
        send(Some(*pid), Signal::CONT);
    }
    for session in &mut sessions {
        session.goes_on().await?;
    }
    for pid in &everybody {
        if !is_alive(*pid) {
            return Err("somebody has not survived the night".to_owned());
        }
    }
    for session in sessions {
        session.finish().await?;
    }
    Ok(true)
}

/// Nothing happens to any link, and all that is said and typed comes.
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

/// The runner with a wall's clock that steps; nothing where there is no C compiler.
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

/// The runner in a time namespace (time_namespaces(7)).
fn days_ahead(station: &Station, clocks: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.arg("--time").args(clocks);
    command
        .args(["--fork", "--kill-child"])
        .arg(station.program());
    command
}
