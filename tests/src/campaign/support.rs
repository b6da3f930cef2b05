//! Helpers shared by the campaigns.

use std::collections::BTreeSet;
use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bowline_transport::{
    Configuration, Containment, PtyMode, Stdio, TerminalEngine, TerminalSession, TerminationPolicy,
    WindowSize,
};
use tokio::task::JoinSet;

use super::{Job, Random, Report};

/// Upper bound of every wait.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// Path of this binary, which also serves as guard, host and child.
pub(crate) fn own() -> PathBuf {
    std::env::current_exe().expect("the system knows what it runs")
}

/// Configuration that runs this binary in a hidden mode.
pub(super) fn hidden(mode: &str, args: &[String]) -> Configuration {
    let mut configuration = Configuration::new(own());
    configuration.args = [mode.into()]
        .into_iter()
        .chain(args.iter().map(Into::into))
        .collect();
    configuration
}

pub(super) fn shell(script: &str) -> Configuration {
    let mut configuration = Configuration::new("/bin/sh");
    configuration.args = vec!["-c".into(), script.into()];
    configuration
}

pub(super) fn on_pty(mut configuration: Configuration, mode: PtyMode) -> Configuration {
    let size = WindowSize::default();
    configuration.stdio = Stdio::Pty { size, mode };
    configuration
}

pub(super) fn start(configuration: Configuration) -> Result<TerminalSession, String> {
    let session = TerminalEngine.make_session(configuration);
    session.map_err(|error| format!("failed to {error}"))
}

pub(super) async fn within<T>(what: &str, future: impl Future<Output = T>) -> Result<T, String> {
    let done = tokio::time::timeout(TIMEOUT, future).await;
    done.map_err(|_| format!("{what}: not within {TIMEOUT:?}"))
}

/// Runs `job.count` tasks, `lanes` at a time on two threads, each with its own random sequence.
pub(super) fn in_lanes<F>(job: &Job, lanes: u64, action: impl Fn(u64, Random) -> F) -> Report
where
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    runtime().block_on(async {
        let mut report = Report::default();
        let mut running = JoinSet::new();
        for number in 0..job.count {
            if running.len() as u64 >= lanes {
                count(&mut report, running.join_next().await);
            }
            let random = Random::new(job.seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
            running.spawn(action(number, random));
        }
        while let Some(done) = running.join_next().await {
            count(&mut report, Some(done));
        }
        report
    })
}

fn count(report: &mut Report, done: Option<Result<Result<(), String>, tokio::task::JoinError>>) {
    let done = done.unwrap_or_else(|| Ok(Err("no task".into())));
    report.one(done.unwrap_or_else(|error| Err(error.to_string())));
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all();
    builder.build().expect("a runtime can be made")
}

/// Runs a campaign that is one future; its error is a violation.
pub(super) fn run_to_end(
    job: &Job,
    campaign: impl AsyncFnOnce(&Job, &mut Report) -> Result<(), String>,
) -> Report {
    let mut report = Report::default();
    if let Err(error) = runtime().block_on(campaign(job, &mut report)) {
        report.violation(error);
    }
    report
}

/// Terminates sessions at once, and notes how long that took. A survivor is a violation.
pub(super) async fn terminate_all(
    sessions: Vec<TerminalSession>,
    report: &mut Report,
) -> Result<(), String> {
    let started = Instant::now();
    let mut ends = JoinSet::new();
    for session in sessions {
        ends.spawn(async move { session.terminate(TerminationPolicy::AT_ONCE).await });
    }
    while let Some(end) = within("terminate", ends.join_next()).await? {
        let end = end.map_err(|error| error.to_string())?;
        if !end.survivors.is_empty() {
            report.violation(format!("{end:?}"));
        }
    }
    let took = started.elapsed().as_secs_f64();
    report.note(format!("all terminated in {took:.2} s"));
    Ok(())
}

/// The containment levels available on this machine.
pub(super) fn levels() -> Vec<Containment> {
    let mut levels = vec![Containment::Group];
    if cfg!(target_os = "linux") {
        levels.push(Containment::Subreaper);
    }
    if bowline_transport::probe().level == Containment::Cgroup {
        levels.push(Containment::Cgroup);
    }
    levels
}

/// Returns the mark of a session's processes. Unique to this process, since other campaigns that run at
/// the same time may draw the same numbers.
pub(super) fn token(random: &mut Random) -> String {
    let number = random.below(10_000_000_000);
    format!("{:010}{number:010}", std::process::id())
}

/// Every live process whose command line or environment contains `token`.
pub(crate) fn marked(token: &str) -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| is_marked(*pid, token)).collect()
}

fn is_marked(pid: u32, token: &str) -> bool {
    let has = |file: &str| {
        let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        memchr_find(&text, token.as_bytes())
    };
    pid != std::process::id() && (has("cmdline") || has("environ"))
}

fn memchr_find(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

/// Polls until no marked process is left, for at most `timeout`, and returns the remaining ones.
pub(super) fn left_after(timeout: Duration, token: &str) -> BTreeSet<u32> {
    let deadline = Instant::now() + timeout;
    loop {
        let left = marked(token);
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process exists and is not a zombie.
pub(super) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Command line and state of each process, for messages.
pub(crate) fn describe(pids: &BTreeSet<u32>) -> String {
    let one = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let stat: String = stat.chars().take(60).collect();
        format!(
            "{} [{stat}]",
            String::from_utf8_lossy(&command).replace('\0', " ")
        )
    };
    pids.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Formats the median, the 99th percentile and the maximum, in milliseconds.
pub(super) fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| {
        let time = times.get((times.len() * share / 100).min(times.len().saturating_sub(1)));
        time.map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    format!(
        "p50 {:.1} ms, p99 {:.1} ms, worst {:.1} ms",
        at(50),
        at(99),
        at(100)
    )
}
