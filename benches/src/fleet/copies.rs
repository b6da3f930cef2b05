//! Many sessions that write 12 KB a second each, and are copied meanwhile.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bowline_fleet::{LocalJournal, ReplicaState, replicate};
use bowline_tests::fleet::RecordedBus;
use bowline_transport::SessionId;
use bowline_transport::journal::{Arrival, Folder, JournalLimits, JournalWriter};
use bowline_transport::wire::{Epoch, StreamId};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::{Plan, Row, percentiles, started};

/// What each session writes, and how often.
const RECORD_BYTES: usize = 3_000;
const WRITE_EVERY: Duration = Duration::from_millis(250);

/// Time before the measurement, in which all sessions begin.
const WARM_UP: Duration = Duration::from_secs(5);

/// Name of the threads that copy.
const COPIER: &str = "copier";

const OUT: StreamId = StreamId::STDOUT;

/// A session, as far as it is written and copied.
struct CopiedSession {
    end: Arc<AtomicU64>,
    copied: watch::Receiver<ReplicaState>,
}

pub(super) fn rows(plan: &Plan) -> Result<Vec<Row>> {
    let servers = started()?;
    // Its threads have a name, by which their time is found.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name(COPIER)
        .enable_all()
        .build()?;
    let bus = RecordedBus::without_bodies(runtime.block_on(servers.set_up()));
    let folder = tempfile::tempdir()?;
    let (mut sessions, mut writers) = (Vec::new(), Vec::new());
    // A copy runs as long as its sender.
    let mut ends = Vec::new();
    for n in 0..plan.sessions {
        let path = folder.path().join(n.to_string());
        let limits = JournalLimits::default();
        let writer = JournalWriter::create(Folder::make(&path)?, limits, Epoch(1), 1)?;
        let (has_ended, ended) = watch::channel(false);
        ends.push(has_ended);
        sessions.push(copy(&runtime, &bus, &path, ended));
        writers.push(writer);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let counts: Vec<_> = sessions.iter().map(|it| Arc::clone(&it.end)).collect();
    let writing = {
        let stop = Arc::clone(&stop);
        thread::spawn(move || write(writers, &counts, &stop))
    };
    thread::sleep(WARM_UP);
    bus.with(|it| drop(it.take_times()));
    let pids = servers.pids();
    let usage = || (cpu_of(&pids), cpu_of_threads(COPIER));
    let (begin, before) = (Instant::now(), usage());
    let mut behind = Vec::new();
    while begin.elapsed() < plan.copying {
        thread::sleep(WRITE_EVERY);
        behind.push(sessions.iter().map(most_behind).max().unwrap_or(0));
    }
    let (time, after) = (begin.elapsed().as_secs_f64(), usage());
    let mut times = bus.with(|it| it.take_times());
    stop.store(true, Ordering::Relaxed);
    let written = writing.join().ok().context("the writer panicked")??;
    let cores = |after: Duration, before: Duration| (after - before).as_secs_f64() / time;
    let (p50, p99) = percentiles(&mut times)?;
    let most = behind.iter().max().copied().unwrap_or(0) as f64 / 1e3;
    let usual = crate::terminal::median(behind) as f64 / 1e3;
    let row = |contender, figure, goal| Row {
        what: "1,000 sessions of 12 KB/s copied to three servers",
        contender,
        figure,
        ratio: None,
        goal: Some(goal),
    };
    let servers_used = cores(after.0, before.0);
    let copiers_used = cores(after.1, before.1);
    Ok(vec![
        row(
            "most behind, usual; worst",
            format!("{usual:.0} KB; {most:.0} KB"),
            "<= 64 KB",
        ),
        row(
            "a message stored",
            format!("p50 {p50:.1} ms, p99 {p99:.0} ms"),
            "p99 <= 200 ms",
        ),
        row(
            "the three servers",
            format!("{servers_used:.2} cores"),
            "<= 1.5",
        ),
        row(
            "the runner",
            format!("{copiers_used:.2} cores, {written:.1} MB/s written"),
            "<= 0.3",
        ),
    ])
}

/// Begins to copy a session.
fn copy(
    runtime: &Runtime,
    bus: &RecordedBus,
    path: &Path,
    ended: watch::Receiver<bool>,
) -> CopiedSession {
    let (state, copied) = watch::channel(ReplicaState::default());
    let journal = LocalJournal {
        session: SessionId::random(),
        path: path.to_owned(),
    };
    let bus = bus.clone();
    // It ends with the runtime.
    drop(runtime.spawn(async move { replicate(&bus, journal, &state, ended).await }));
    CopiedSession {
        end: Arc::default(),
        copied,
    }
}

fn most_behind(session: &CopiedSession) -> u64 {
    let end = session.end.load(Ordering::Relaxed);
    end.saturating_sub(session.copied.borrow().copied.at(OUT))
}

/// Writes all journals, spread over each interval, until it is stopped. Returns the rate in MB/s.
fn write(
    mut writers: Vec<JournalWriter<Folder>>,
    ends: &[Arc<AtomicU64>],
    stop: &AtomicBool,
) -> Result<f64> {
    let bytes = bytes::Bytes::from(vec![b'x'; RECORD_BYTES]);
    let begin = Instant::now();
    let share = WRITE_EVERY / u32::try_from(writers.len())?;
    let mut count = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        for (writer, end) in writers.iter_mut().zip(ends) {
            let due = share * count;
            if let Some(early) = due.checked_sub(begin.elapsed()) {
                thread::sleep(early);
            }
            count += 1;
            let at = writer.end(OUT);
            writer.append(OUT, at, bytes.clone(), Arrival::at(1), Instant::now())?;
            end.store(writer.end(OUT), Ordering::Relaxed);
        }
    }
    let written = count as usize * RECORD_BYTES;
    Ok(crate::terminal::megabytes(written, begin.elapsed()))
}

/// CPU time of processes.
fn cpu_of(pids: &[u32]) -> Duration {
    let times = pids.iter().map(|pid| threads_of(&pid.to_string(), None));
    times.sum()
}

/// CPU time of this process's threads with a name.
fn cpu_of_threads(name: &str) -> Duration {
    threads_of("self", Some(name))
}

/// CPU time of the threads of a process (`schedstat`, sched-stats.rst).
fn threads_of(process: &str, name: Option<&str>) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let times = threads.into_iter().flatten().flatten().filter_map(|it| {
        let comm = fs::read_to_string(it.path().join("comm")).ok()?;
        if name.is_some_and(|name| comm.trim() != name) {
            return None;
        }
        let text = fs::read_to_string(it.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(times.sum())
}
