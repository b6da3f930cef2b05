//! Shims that are killed by SIGKILL at a random moment, with a process tree that resists
//! termination.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_runner::SessionDir;
use bowline_runner::wire::StreamId;
use bowline_transport::journal::{Folder, JournalReader};
use bowline_transport::{
    ConnectionState, Containment, SessionRequest, Stream, TerminalEngine, TerminalSession, probe,
};
use parking_lot::Mutex;
use rustix::process::Signal;

use super::lateness;
use super::output::OutputSequence;
use super::program::SPEAK;
use super::station::{Station, send};
use crate::campaign::support::{
    describe, in_lanes, marked, own, percentiles, runtime, token, within,
};
use crate::campaign::trees::{SHEDS_ALL, WAYS};
use crate::campaign::{Job, Random, Report};

/// How long a process of the tree may outlive the shim.
const ORPHANS: Duration = Duration::from_millis(250);

/// Longest time until the host is notified.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// Number of concurrent shims.
const LANES: u64 = 2;

#[derive(Debug, Default)]
struct Times {
    gone: Vec<Duration>,
    notified: Vec<Duration>,
    most: usize,
    bytes: u64,
}

pub(crate) fn run(job: &Job) -> Report {
    lateness::watch();
    // The runner must outlive the tasks' runtime.
    let runtime = runtime();
    let station = match runtime.block_on(Station::new()) {
        Ok(station) => Arc::new(station),
        Err(error) => {
            let mut report = Report::default();
            report.violation(error);
            return report;
        }
    };
    let times = Arc::new(Mutex::new(Times::default()));
    let mut report = in_lanes(job, LANES, |_, random| {
        one(random, Arc::clone(&station), Arc::clone(&times))
    });
    let times = std::mem::take(&mut *times.lock());
    report.note(format!(
        "{}: up to {} processes, all gone {}",
        probe().level,
        times.most,
        percentiles(times.gone)
    ));
    report.note(format!("hosts notified {}", percentiles(times.notified)));
    report.note(format!("{} bytes in the journals", times.bytes));
    report.note(lateness::note());
    report
}

async fn one(
    mut random: Random,
    station: Arc<Station>,
    times: Arc<Mutex<Times>>,
) -> Result<(), String> {
    let seed = random.draw();
    let token = token(&mut random);
    let order = order(&mut random, &station, seed, &token);
    let remote = station.remote();
    let making = TerminalEngine.make_remote(&remote, &order);
    let session = within("a session", making).await?;
    let session = session.map_err(|error| error.to_string())?;
    let folder = station.state()?.session(session.id());
    let mut speech = OutputSequence::new(seed);
    let wanted = random.below(3).min(1) * random.below(200_000);
    let mut reader = session.reader(Stream::Output);
    let mut received = 0;
    while received < wanted {
        let piece = within("output", reader.next()).await?;
        received = speech.check(piece.ok_or("the output ends too early")?)?;
    }
    let info = folder.info().map_err(|error| error.to_string())?;
    let info = info.ok_or("no info of the session")?;
    let seen = marked(&token).len();
    let killed = Instant::now();
    send(Some(info.shim_pid), Signal::KILL);
    let looking = tokio::task::spawn_blocking(move || gone(killed, &token));
    let notified = notified(&session, killed).await;
    let gone = looking.await.map_err(|error| error.to_string())??;
    let notified = notified.map_err(|error| format!("seed {seed}: {error}"))?;
    while let Some(piece) = within("the last output", reader.next()).await? {
        received = speech.check(piece)?;
    }
    let kept = journal(&folder, seed).map_err(|error| format!("seed {seed}: journal: {error}"))?;
    if kept < received {
        return Err(format!(
            "seed {seed}: {received} bytes were shown and {kept} kept"
        ));
    }
    let mut times = times.lock();
    times.gone.push(gone);
    times.notified.push(notified);
    times.most = times.most.max(seen);
    times.bytes += kept;
    folder.remove().map_err(|error| error.to_string())
}

/// A process tree that stays, around a child that writes continuously.
fn order(random: &mut Random, station: &Station, seed: u64, token: &str) -> SessionRequest {
    let mut script = String::new();
    for _ in 0..=random.below(4) {
        script += WAYS[random.below(WAYS.len() as u64) as usize];
        script += "\n";
    }
    if probe().level > Containment::Group {
        script += SHEDS_ALL;
        script += "\n";
    }
    // sleep(1) adds up its arguments; the token contributes almost nothing.
    let script = script.replace('@', &format!("300 0.{token}"));
    let script = format!("{script}exec {} {SPEAK} {seed} 0", own().display());
    let mut order = station.order(&["-c".into(), script]);
    order.configuration.program = "/bin/sh".into();
    order.configuration.env.set("CAMPAIGN", token);
    order
}

/// Waits until no process of the tree is left. A process found by a scan that began after the
/// deadline is a violation.
fn gone(killed: Instant, token: &str) -> Result<Duration, String> {
    loop {
        let began = killed.elapsed();
        let left: BTreeSet<u32> = marked(token);
        if left.is_empty() {
            return Ok(began);
        }
        if began > lateness::allow(ORPHANS) {
            return Err(format!("left {began:?} after: {}", describe(&left)));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until the host is notified that the session is gone.
async fn notified(session: &TerminalSession, killed: Instant) -> Result<Duration, String> {
    let mut link = session.connection();
    let is_gone = |state: &ConnectionState| matches!(state, ConnectionState::Failed(_));
    let failed = within("the failure", link.wait_for(is_gone)).await?;
    let why = failed.map_err(|error| error.to_string())?.clone();
    let took = killed.elapsed();
    if took > lateness::allow(MAX_DELAY) {
        return Err(format!("the host reports it after {took:?}: {why:?}"));
    }
    let ConnectionState::Failed(failed) = why else {
        return Err(format!("{why:?}"));
    };
    match failed.failure {
        bowline_transport::ReconnectFailure::Gone => Ok(took),
        other => Err(format!("the host reports {other}")),
    }
}

/// Checks the output in the journal and returns its length in bytes.
fn journal(folder: &SessionDir, seed: u64) -> Result<u64, String> {
    let mut speech = OutputSequence::new(seed);
    let disk = Folder::at(folder.journal());
    let mut journal = JournalReader::open(disk).map_err(|error| error.to_string())?;
    let mut at = 0;
    loop {
        let piece = journal.read(StreamId::STDOUT, at, 1 << 20);
        match piece.map_err(|error| error.to_string())? {
            Some(piece) => at = speech.check(piece)?,
            None => return Ok(at),
        }
    }
}
