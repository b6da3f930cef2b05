//! Shims that are killed by SIGKILL at any moment, with a tree of processes that do not want to end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bowline_runner::SessionDir;
use bowline_runner::wire::StreamId;
use bowline_transport::journal::{Folder, JournalReader};
use bowline_transport::{
    ConnectionState, Containment, RemoteOrder, Stream, TerminalEngine, TerminalSession, probe,
};
use rustix::process::Signal;

use super::lateness;
use super::program::SPEAK;
use super::speech::Speech;
use super::station::{Station, send};
use crate::campaign::support::{describe, in_lanes, marked, own, percentiles, runtime, within};
use crate::campaign::trees::{SHEDS_ALL, WAYS};
use crate::campaign::{Job, Random, Report};

/// How long anybody of the tree may outlive the shim.
const ORPHANS: Duration = Duration::from_millis(250);

/// How long the host may not know of it.
const TOLD: Duration = Duration::from_secs(2);

/// Shims at a time.
const LANES: u64 = 2;

#[derive(Debug, Default)]
struct Times {
    gone: Vec<Duration>,
    told: Vec<Duration>,
    most: usize,
    bytes: u64,
}

pub(crate) fn run(job: &Job) -> Report {
    lateness::watch();
    // The station outlives the runtime of the deeds.
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
    let times = std::mem::take(&mut *times.lock().unwrap_or_else(PoisonError::into_inner));
    report.note(format!(
        "{}: up to {} processes, all gone {}",
        probe().level,
        times.most,
        percentiles(times.gone)
    ));
    report.note(format!("hosts told {}", percentiles(times.told)));
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
    // Of this process alone: other campaigns draw the same numbers from the same seed.
    let token = format!(
        "{:010}{:010}",
        std::process::id(),
        random.below(10_000_000_000)
    );
    let order = order(&mut random, &station, seed, &token);
    let remote = station.remote();
    let making = TerminalEngine.make_remote(&remote, &order);
    let session = within("a session", making).await?;
    let session = session.map_err(|error| error.to_string())?;
    let folder = station.state()?.session(session.id());
    let mut speech = Speech::new(seed);
    let wanted = random.below(3).min(1) * random.below(200_000);
    let mut reader = session.reader(Stream::Output);
    let mut heard = 0;
    while heard < wanted {
        let piece = within("output", reader.next()).await?;
        heard = speech.hear(piece.ok_or("the output ends too early")?)?;
    }
    let info = folder.info().map_err(|error| error.to_string())?;
    let info = info.ok_or("no info of the session")?;
    let seen = marked(&token).len();
    let killed = Instant::now();
    send(Some(info.shim_pid), Signal::KILL);
    let looking = tokio::task::spawn_blocking(move || gone(killed, &token));
    let told = told(&session, killed).await;
    let gone = looking.await.map_err(|error| error.to_string())??;
    let told = told.map_err(|error| format!("seed {seed}: {error}"))?;
    while let Some(piece) = within("the last output", reader.next()).await? {
        heard = speech.hear(piece)?;
    }
    let kept = journal(&folder, seed).map_err(|error| format!("seed {seed}: journal: {error}"))?;
    if kept < heard {
        return Err(format!(
            "seed {seed}: {heard} bytes were shown and {kept} kept"
        ));
    }
    let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
    times.gone.push(gone);
    times.told.push(told);
    times.most = times.most.max(seen);
    times.bytes += kept;
    folder.remove().map_err(|error| error.to_string())
}

/// A tree that stays, around a child that speaks without a rest.
fn order(random: &mut Random, station: &Station, seed: u64, token: &str) -> RemoteOrder {
    let mut script = String::new();
    for _ in 0..=random.below(4) {
        script += WAYS[random.below(WAYS.len() as u64) as usize];
        script += "\n";
    }
    if probe().level > Containment::Group {
        script += SHEDS_ALL;
        script += "\n";
    }
    // sleep(1) adds up its arguments: the token is one of no weight.
    let script = script.replace('@', &format!("300 0.{token}"));
    let script = format!("{script}exec {} {SPEAK} {seed} 0", own().display());
    let mut order = station.order(&["-c".into(), script]);
    order.configuration.program = "/bin/sh".into();
    order.configuration.env.set("CAMPAIGN", token);
    order
}

/// Waits until nobody of the tree is left. Whoever is found by a look that began too late stays too
/// long.
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

/// Waits until the host knows that the session is gone for good.
async fn told(session: &TerminalSession, killed: Instant) -> Result<Duration, String> {
    let mut link = session.connection();
    let is_gone = |state: &ConnectionState| matches!(state, ConnectionState::Failed(_));
    let failed = within("the news", link.wait_for(is_gone)).await?;
    let why = failed.map_err(|error| error.to_string())?.clone();
    let took = killed.elapsed();
    if took > lateness::allow(TOLD) {
        return Err(format!("the host hears of it after {took:?}: {why:?}"));
    }
    let ConnectionState::Failed(failed) = why else {
        return Err(format!("{why:?}"));
    };
    match failed.failure {
        bowline_transport::ReconnectFailure::Gone => Ok(took),
        other => Err(format!("the host is told {other}")),
    }
}

/// Bytes of output that the journal has, all of them right.
fn journal(folder: &SessionDir, seed: u64) -> Result<u64, String> {
    let mut speech = Speech::new(seed);
    let disk = Folder::at(folder.journal());
    let mut journal = JournalReader::open(disk).map_err(|error| error.to_string())?;
    let mut at = 0;
    loop {
        let piece = journal.read(StreamId::STDOUT, at, 1 << 20);
        match piece.map_err(|error| error.to_string())? {
            Some(piece) => at = speech.hear(piece)?,
            None => return Ok(at),
        }
    }
}
