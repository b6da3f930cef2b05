//! Exhausted threads and processes.
//!
//! A runner, its shims and their children are in a control group with a task limit (the pids
//! controller of cgroups(7)). The limit starts at what a single thread needs and increases until
//! everything works. Under each limit that permits a session, the group is then denied further
//! threads and processes until there is room again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline_runner::wire::Lease;
use bowline_transport::{Attachment, Remote, RemoteError, TerminalEngine, TerminalSession};
use bytes::Bytes;
use rustix::process::Signal;
use tokio::process::Command;
use tokio::time::timeout;

use super::host::Host;
use super::limited_group::LimitedGroup;
use super::station::Station;
use crate::campaign::support::{in_lanes, is_alive, within};
use crate::campaign::{Job, Random, Report};

/// Largest initial task limit; a runner, a shim, its guard and a child need about ten tasks.
const MOST: u64 = 24;

/// A limit that is sufficient for everything.
const ROOM: u64 = 10_000;

/// Longest time of a refusal, and of any operation that needs no thread.
const ANSWER: Duration = Duration::from_secs(12);

/// Number of limits too small for a runner, too small for a session, and sufficient.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    no_runner: u64,
    no_session: u64,
    served: u64,
}

/// What a limit is sufficient for.
enum Enough {
    Nothing,
    Runner,
    Session,
}

pub(crate) fn run(job: &Job) -> Report {
    if let Err(error) = LimitedGroup::of_tasks(ROOM) {
        let mut report = Report::default();
        report.note(format!(
            "skipped: no group with a limit can be made: {error}"
        ));
        return report;
    }
    let tally = Arc::new(Mutex::new(Tally::default()));
    let mut report = in_lanes(job, 2, |number, random| {
        let tally = Arc::clone(&tally);
        let limit = 1 + number % MOST;
        async move {
            let enough = under_limit(limit, random).await;
            let enough = enough.map_err(|why| format!("{limit} tasks: {why}"))?;
            let mut tally = tally.lock().map_err(|error| error.to_string())?;
            match enough {
                Enough::Nothing => tally.no_runner += 1,
                Enough::Runner => tally.no_session += 1,
                Enough::Session => tally.served += 1,
            }
            Ok(())
        }
    });
    if let Ok(tally) = tally.lock() {
        report.note(format!(
            "limits from 1 to {MOST}: too few for a runner {}, for a session {}, for neither {}",
            tally.no_runner, tally.no_session, tally.served
        ));
    }
    report
}

async fn under_limit(limit: u64, mut random: Random) -> Result<Enough, String> {
    let group = LimitedGroup::of_tasks(limit).map_err(|error| error.to_string())?;
    let mut station = Station::with_copy()?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]);
    command.arg(group.members()).arg(station.program());
    if let Err(why) = station.start_by(command).await {
        // The runner must report the failure instead of hanging.
        let has_ended = why.starts_with("the runner does not serve");
        return if has_ended {
            Ok(Enough::Nothing)
        } else {
            Err(why)
        };
    }
    let (remote, seed) = (station.remote(), random.draw());
    let order = station.speaker(seed, 20);
    let made = within(
        "a session or a refusal",
        TerminalEngine.make_remote(&remote, &order),
    );
    let enough = match made.await? {
        Ok(session) => {
            let host = Host::of(session, seed);
            host.until_read(1).await?;
            squeezed(&station, &group, host).await?;
            Enough::Session
        }
        Err(RemoteError::Refused { .. } | RemoteError::Link { .. }) => Enough::Runner,
        Err(other) => return Err(format!("refused without a reason: {other:?}")),
    };
    has_room(&station, &group, random.draw()).await?;
    if !station.pid().is_some_and(is_alive) {
        return Err("the runner has ended".to_owned());
    }
    station.end_runner(Signal::TERM).await?;
    Ok(enough)
}

/// Checks that a session survives while no thread can be created, and that every request is
/// answered.
async fn squeezed(station: &Station, group: &LimitedGroup, mut host: Host) -> Result<(), String> {
    group.set(1).map_err(|error| error.to_string())?;
    let remote = station.remote();
    let typed = host.type_in("squeezed\n");
    within("a line that is typed", typed)
        .await?
        .map_err(|error| error.to_string())??;
    let read = host.read();
    host.until_read(read + 1).await?;
    drop(join(&remote, &host.session).await?);
    let order = station.speaker(1, 20);
    match answered("a refusal", TerminalEngine.make_remote(&remote, &order)).await? {
        Err(RemoteError::Refused { code, .. }) if code == "NO_RESOURCES" => {}
        other => return Err(format!("another session without a process: {other:?}")),
    }
    let id = host.session.id();
    for path in [
        "/api/sessions".to_owned(),
        format!("/api/sessions/{id}"),
        format!("/api/sessions/{id}/log?from=0&max=1000"),
    ] {
        let answer = answered(&path, remote.ask("GET", &path, Bytes::new())).await?;
        let (status, body) = answer.map_err(|error| format!("{path}: {error}"))?;
        if status != 200 {
            return Err(format!("{path}: {status} {body:?}"));
        }
    }
    let read = host.read();
    host.until_read(read + 1).await?;
    host.finish().await
}

/// Checks that everything works again once there is room.
async fn has_room(station: &Station, group: &LimitedGroup, seed: u64) -> Result<(), String> {
    group.set(ROOM).map_err(|error| error.to_string())?;
    let order = station.speaker(seed, 20);
    let host = Host::start(&station.remote(), &order, seed).await;
    let host = host.map_err(|why| format!("with room again: {why}"))?;
    host.until_read(1).await?;
    host.finish().await
}

async fn join(remote: &Remote, session: &TerminalSession) -> Result<TerminalSession, String> {
    let attachment = Attachment {
        lease: Lease::Read,
        ..Attachment::default()
    };
    let joined = TerminalEngine.attach_remote(remote, session.id(), attachment);
    let joined = answered("another host", joined).await?;
    joined.map_err(|error| format!("another host: {error}"))
}

async fn answered<T>(what: &str, answer: impl Future<Output = T>) -> Result<T, String> {
    let answer = timeout(ANSWER, answer).await;
    answer.map_err(|_| format!("{what}: no answer within {ANSWER:?}"))
}
