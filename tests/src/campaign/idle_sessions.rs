//! Many shells that wait for a command.

use std::fs;
use std::time::Instant;

use bowline_transport::{Configuration, PtyMode, Stream, TerminalSession};

use super::support::{on_pty, run_to_end, start, terminate_all, within};
use super::{Job, Report};

/// Maximum number of descriptors that a session may hold.
const MOST: f64 = 8.0;

pub(super) fn run(job: &Job) -> Report {
    run_to_end(job, measure)
}

async fn measure(job: &Job, report: &mut Report) -> Result<(), String> {
    let count = job.count;
    // The first session allocates what all sessions share.
    drop(open(1).await?);
    let (descriptors, memory) = (open_descriptors(), resident());
    let started = Instant::now();
    let sessions = open(count).await?;
    let took = started.elapsed().as_secs_f64();
    let each = |total: f64| total / count as f64;
    let descriptors = each(open_descriptors() as f64 - descriptors as f64);
    let memory = each(resident() as f64 - memory as f64) / 1024.0;
    report.done = count;
    report.note(format!(
        "{count} shells at their prompt in {took:.2} s; a session has {descriptors:.1} descriptors \
         and {memory:.1} KiB of our memory"
    ));
    if descriptors > MOST {
        report.violation(format!("{descriptors} descriptors a session"));
    }
    terminate_all(sessions, report).await
}

/// Starts shells and waits for their prompts.
async fn open(count: u64) -> Result<Vec<TerminalSession>, String> {
    let mut sessions = Vec::new();
    for _ in 0..count {
        let mut configuration = on_pty(Configuration::new("/bin/sh"), PtyMode::Cooked);
        configuration.env.remove("ENV");
        sessions.push(start(configuration)?);
    }
    for session in &sessions {
        within("a prompt", session.reader(Stream::Output).next()).await?;
    }
    Ok(sessions)
}

fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Resident memory of this process, in bytes (proc_pid_statm(5)).
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm
        .split(' ')
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    pages * 4096
}
