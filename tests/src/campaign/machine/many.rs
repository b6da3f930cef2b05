//! Many sessions on one runner, and their cost.

use std::time::{Duration, Instant};

use bowline_runner::wire::Lease;
use bowline_transport::{Attachment, PtyMode, Stdio, TerminalEngine, TerminalSession, WindowSize};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::station::Station;
use super::usage::{descriptors, in_memory, on_processor};
use crate::campaign::support::{percentiles, run_to_end, terminate_all, within};
use crate::campaign::{Job, Random, Report};

/// Number of concurrent start requests.
const AT_ONCE: usize = 8;

/// Observation time of idle sessions, for few and for many. Hosts ping an idle session every 9 s,
/// and sessions created together are pinged together; a window of whole periods contains the same
/// number of pings wherever it starts.
const WINDOWS: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(18)];

/// Settling time before the observation, for the first journal sync and the thread that waited for
/// it.
const RESTS: [Duration; 2] = [Duration::ZERO, Duration::from_secs(15)];

/// Number of sessions from which the observation time for many applies.
const FULL_SIZE: u64 = 1_000;

/// Descriptors that a session may cost its runner.
const MOST_DESCRIPTORS: f64 = 8.0;

/// Performance goals that a loaded machine or a debug build may miss. They are printed, and
/// enforced only for a thousand sessions of an optimized build.
const GOALS: &str = "goals at 1,000: 4 s, 6 MiB, 2 % of a core, 8 descriptors, 50 ms";

pub(crate) fn run(job: &Job) -> Report {
    run_to_end(job, campaign)
}

async fn campaign(job: &Job, report: &mut Report) -> Result<(), String> {
    let station = Station::new().await?;
    let runner = station.pid().ok_or("no runner")?;
    // The first session allocates what all sessions share.
    let mut sessions = open(&station, 1).await?;
    let before = descriptors(&[runner]);
    let started = Instant::now();
    sessions.extend(open(&station, job.count).await?);
    let took = started.elapsed();
    report.done = job.count;
    let shims = shims(&station, &sessions)?;
    let each = |total: f64| total / sessions.len() as f64;
    let runners = (descriptors(&[runner]) as f64 - before as f64) / job.count as f64;
    let held = each(descriptors(&shims) as f64);
    let memory = each(in_memory(&shims) as f64) / 1048576.0;
    let all: Vec<u32> = shims.iter().copied().chain([runner]).collect();
    let size = usize::from(job.count >= FULL_SIZE);
    sleep(RESTS[size]).await;
    let (cpu, watched) = (on_processor(&all), Instant::now());
    sleep(WINDOWS[size]).await;
    let used = on_processor(&all).saturating_sub(cpu);
    let idle = 100.0 * used.as_secs_f64() / watched.elapsed().as_secs_f64();
    let attaches = attach(&station, &sessions, job.seed).await?;
    report.note(format!(
        "{} shells made in {:.2} s; of each shim {memory:.2} MiB (PSS) and {held:.1} descriptors, \
         {runners:.1} in the runner; idle {idle:.1} % of a core; attach {}",
        job.count,
        took.as_secs_f64(),
        percentiles(attaches)
    ));
    report.note(GOALS);
    if runners > MOST_DESCRIPTORS {
        report.violation(format!(
            "{runners:.1} descriptors of the runner for a session"
        ));
    }
    terminate_all(sessions, report).await
}

/// Starts shells and waits for their prompts.
async fn open(station: &Station, count: u64) -> Result<Vec<TerminalSession>, String> {
    let mut making = JoinSet::new();
    let mut sessions = Vec::new();
    for _ in 0..count {
        if making.len() >= AT_ONCE {
            sessions.push(made(&mut making).await?);
        }
        let mut order = station.order(&[]);
        order.configuration.program = "/bin/sh".into();
        order.configuration.env.remove("ENV");
        order.configuration.stdio = Stdio::Pty {
            size: WindowSize::default(),
            mode: PtyMode::Cooked,
        };
        let remote = station.remote();
        making.spawn(async move { TerminalEngine.make_remote(&remote, &order).await });
    }
    while !making.is_empty() {
        sessions.push(made(&mut making).await?);
    }
    Ok(sessions)
}

async fn made<E>(
    making: &mut JoinSet<Result<TerminalSession, E>>,
) -> Result<TerminalSession, String>
where
    E: std::fmt::Display + Send + 'static,
{
    let made = within("a session", making.join_next())
        .await?
        .ok_or("no session")?;
    let made = made.map_err(|error| error.to_string())?;
    made.map_err(|error| error.to_string())
}

fn shims(station: &Station, sessions: &[TerminalSession]) -> Result<Vec<u32>, String> {
    let state = station.state()?;
    let shim = |session: &TerminalSession| {
        let info = state.session(session.id()).info();
        let info = info.map_err(|error| error.to_string())?;
        Ok(info.ok_or("no info of a session")?.shim_pid)
    };
    sessions.iter().map(shim).collect()
}

/// Attaches one more host to each of some sessions.
async fn attach(
    station: &Station,
    sessions: &[TerminalSession],
    seed: u64,
) -> Result<Vec<Duration>, String> {
    let (remote, mut random) = (station.remote(), Random::new(seed));
    let mut times = Vec::new();
    for _ in 0..100 {
        let session = &sessions[random.below(sessions.len() as u64) as usize];
        let attachment = Attachment {
            lease: Lease::Read,
            ..Attachment::default()
        };
        let started = Instant::now();
        let joined = TerminalEngine.attach_remote(&remote, session.id(), attachment);
        let joined = within("an attach", joined).await?;
        joined.map_err(|error| error.to_string())?;
        times.push(started.elapsed());
    }
    Ok(times)
}
