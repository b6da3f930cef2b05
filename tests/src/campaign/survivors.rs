//! Thirteen ways in which a process tries to outlive its session, at each level of containment and
//! each kind of end.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use bowline_transport::{
    Containment, LogReader, Piece, PtyMode, Stream, TerminalSession, TerminationPolicy,
};
use rustix::process::{Pid, Signal, kill_process};

use super::support::{
    describe, in_lanes, levels, marked, on_pty, own, shell, start, token, within,
};
use super::trees::{SHEDS_ALL, WAYS};
use super::{Job, Random, Report};

/// Hidden mode of a process whose main thread has ended while another one runs.
pub(super) const ENDED_MAIN: &str = "--ended-main-thread";

/// Hidden mode of a process that moves itself to the control group of its session's host.
pub(super) const OTHER_GROUP: &str = "--other-group";

/// Number of ways: those of `trees`, and three that leave no evidence at the level `Group`.
const COUNT: u64 = WAYS.len() as u64 + 3;

/// Upper bound of the time until the last process is gone.
const BOUND: Duration = Duration::from_secs(20);

/// How a session ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Terminated,
    Dropped,
    /// The child exits by itself while a handle is alive.
    Exited,
}

/// A way to escape.
struct Way {
    script: String,
    /// Whether the process prints its pid once it has escaped.
    is_reported: bool,
    /// Weakest level that contains it.
    weakest: Containment,
}

pub(super) fn run(job: &Job) -> Report {
    let levels = levels();
    let names: Vec<_> = levels.iter().map(ToString::to_string).collect();
    let count = levels.len() as u64;
    let mut report = in_lanes(job, 2, |number, random| {
        let level = levels[(number / COUNT % count) as usize];
        let end = [End::Terminated, End::Dropped, End::Exited];
        let end = end[(number / COUNT / count % 3) as usize];
        one(way(number % COUNT), level, end, random)
    });
    report.note(format!("{COUNT} ways at the levels {}", names.join(", ")));
    report
}

fn way(number: u64) -> Way {
    let hidden = |mode: &str| format!("(setsid {:?} {mode} @ &)", own());
    let (script, weakest) = match (number as usize).checked_sub(WAYS.len()) {
        None => (WAYS[number as usize].to_owned(), Containment::Group),
        Some(0) => (SHEDS_ALL.to_owned(), Containment::Subreaper),
        Some(1) => (hidden(ENDED_MAIN), Containment::Subreaper),
        Some(_) => (hidden(OTHER_GROUP), Containment::Subreaper),
    };
    Way {
        is_reported: script.contains("--"),
        script,
        weakest,
    }
}

async fn one(way: Way, level: Containment, end: End, mut random: Random) -> Result<(), String> {
    let token = token(&mut random);
    // sleep(1) adds up its arguments; the token contributes almost nothing.
    let script = way.script.replace('@', &format!("300 0.{token}"));
    let mut configuration = shell(&format!("{script}\necho ready\nread -r go"));
    configuration.containment = Some(level);
    configuration.env.set("CAMPAIGN", &token);
    // A control group contains all ways but one by itself.
    let needs_guard = level == Containment::Subreaper || script.contains(OTHER_GROUP);
    if level != Containment::Group && (needs_guard || random.below(2) == 0) {
        configuration.guard = Some(own());
    }
    if random.below(2) == 0 {
        configuration = on_pty(configuration, PtyMode::Cooked);
    }
    let session = start(configuration)?;
    if session.containment() != level {
        return Err(format!("held by {}, not {level}", session.containment()));
    }
    let mut output = session.reader(Stream::Output);
    let reported = reported(&mut output, usize::from(way.is_reported));
    let reported = within("a tree", reported).await??;
    let is_contained = level >= way.weakest;
    let left = if is_contained {
        finish(session, end).await?;
        left(&reported, &token, BTreeSet::is_empty).await
    } else {
        finish(session, End::Terminated).await?;
        left(&reported, &token, |_| true).await
    };
    for pid in left
        .iter()
        .filter_map(|pid| Pid::from_raw(pid.cast_signed()))
    {
        let _ = kill_process(pid, Signal::KILL);
    }
    // At a weaker level a process may have been killed before it had escaped.
    match (is_contained, left.is_empty()) {
        (true, true) | (false, _) => Ok(()),
        (true, false) => Err(format!(
            "{level}, {end:?}: {script} left {}",
            describe(&left)
        )),
    }
}

async fn finish(session: TerminalSession, end: End) -> Result<(), String> {
    match end {
        End::Terminated => {
            let report = session.terminate(TerminationPolicy::AT_ONCE);
            let report = within("terminate", report).await?;
            if !report.survivors.is_empty() {
                return Err(format!("survivors: {report:?}"));
            }
        }
        End::Dropped => drop(session),
        End::Exited => {
            let go = session.write("\n".into());
            let written = within("a write", go).await?;
            written.map_err(|error| error.to_string())?;
            within("an exit", session.exited()).await?;
            // The handle lives until the processes are gone.
            tokio::spawn(async move {
                tokio::time::sleep(BOUND).await;
                drop(session);
            });
        }
    }
    Ok(())
}

/// Reads until the tree is ready and `count` processes have reported their pids.
async fn reported(output: &mut LogReader, count: usize) -> Result<Vec<u32>, String> {
    let mut text = String::new();
    loop {
        let lines = text.lines().filter_map(|line| line.strip_prefix("pid "));
        let pids: Vec<u32> = lines.filter_map(|line| line.trim().parse().ok()).collect();
        if pids.len() >= count && text.contains("ready") && text.ends_with('\n') {
            return Ok(pids);
        }
        match output.next().await {
            Some(Piece::Bytes { bytes, .. }) => text += &String::from_utf8_lossy(&bytes),
            other => return Err(format!("{other:?} after {text:?}")),
        }
    }
}

/// Polls the live processes until `is_last`, for at most [`BOUND`], and returns them.
async fn left(
    reported: &[u32],
    token: &str,
    is_last: impl Fn(&BTreeSet<u32>) -> bool + Send,
) -> BTreeSet<u32> {
    let deadline = Instant::now() + BOUND;
    loop {
        let mut left = marked(token);
        left.extend(reported);
        left.retain(|pid| is_running(*pid));
        if is_last(&left) || Instant::now() > deadline {
            return left;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns whether any thread of a process is alive. The state of the process itself is that of its
/// main thread.
fn is_running(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let mut stats = threads.map(|thread| fs::read_to_string(thread.path().join("stat")));
    stats.any(|stat| {
        let stat = stat.unwrap_or_default();
        let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        state.is_some_and(|state| !state.starts_with(['Z', 'X']))
    })
}

/// Ends this process's main thread while another one runs.
#[expect(unsafe_code, reason = "exit(2) of one thread has no safe form")]
pub(super) fn end_main_thread() -> ExitCode {
    std::thread::spawn(|| {
        report_pid();
        std::thread::sleep(Duration::from_secs(300));
        std::process::exit(0);
    });
    // SAFETY: ends this thread alone; it holds no lock, and nothing refers to its stack.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::syscall(libc::SYS_exit, 0)
    };
    // SAFETY: as above.
    #[cfg(not(target_os = "linux"))]
    unsafe {
        libc::pthread_exit(std::ptr::null_mut())
    };
    #[cfg_attr(not(target_os = "linux"), expect(unreachable_code))]
    ExitCode::FAILURE
}

/// Reports this process once its main thread has ended.
fn report_pid() {
    let is_ended = || {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        stat.contains(") Z ")
    };
    while !is_ended() {
        std::thread::yield_now();
    }
    let _ = writeln!(io::stdout().lock(), "pid {}", std::process::id());
}

/// Moves this process to the group of the host, two levels up, and replaces it by a process without
/// environment.
pub(super) fn leave_group() -> ExitCode {
    let group = own_group();
    let host = group
        .as_deref()
        .and_then(Path::parent)
        .and_then(Path::parent);
    if let Some(host) = host {
        // Refused where this process is not in a group of its session.
        let _ = fs::write(host.join("cgroup.procs"), std::process::id().to_string());
    }
    let arguments = std::env::args().skip(2).collect::<Vec<_>>().join(" ");
    let script = format!("echo \"pid $$\"; exec sleep {arguments}");
    let failed = Command::new("/bin/sh")
        .env_clear()
        .arg("-c")
        .arg(script)
        .exec();
    let _ = writeln!(io::stderr().lock(), "cannot run sh: {failed}");
    ExitCode::FAILURE
}

/// Returns the directory of this process's control group (cgroups(7)).
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    Some(Path::new(mount.split(' ').nth(4)?).join(group))
}
