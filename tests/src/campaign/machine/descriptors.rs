//! Exhausted descriptors and terminals.
//!
//! A runner is started under 64 limits of RLIMIT_NOFILE (getrlimit(2)), which its shims inherit;
//! another one runs on a devpts file system with few terminals. Finally, a thousand hosts connect
//! and disconnect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_runner::wire::Lease;
use bowline_transport::{
    Attachment, PtyMode, RemoteError, Stdio, TerminalEngine, TerminalSession, WindowSize,
};
use rustix::process::Signal;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::time::sleep;

use super::host::Host;
use super::program;
use super::station::Station;
use super::usage::{self, on_processor};
use crate::campaign::support::{in_lanes, runtime, within};
use crate::campaign::{Job, Random, Report};

/// The limits that are tried, and their distance.
const LIMITS: u64 = 64;
const STEP: u64 = 2;
const LEAST: u64 = 8;

/// CPU usage allowed to a runner that cannot accept connections, in percent of a core.
const MOST_CPU: f64 = 5.0;

/// Duration of that measurement.
const WINDOW: Duration = Duration::from_millis(400);

/// Longest response time of a runner that has descriptors left.
const ANSWER: Duration = Duration::from_secs(3);

/// Number of departed hosts that the runner may still have open; it refuses too many at once.
const LEAVING: u64 = 16;

/// Number of terminals of the separate devpts file system.
const TERMINALS: usize = 5;

pub(crate) fn run(job: &Job) -> Report {
    let sweep = Job {
        count: LIMITS,
        ..*job
    };
    let most = Arc::new(std::sync::Mutex::new((0_u64, 0.0_f64)));
    let mut report = in_lanes(&sweep, 2, |number, random| {
        let most = Arc::clone(&most);
        let limit = LEAST + number * STEP;
        async move {
            let done = under_limit(limit, random).await;
            let cpu = done.map_err(|why| format!("{limit} descriptors: {why}"))?;
            if let (Some(cpu), Ok(mut most)) = (cpu, most.lock()) {
                *most = (most.0 + 1, most.1.max(cpu));
            }
            Ok(())
        }
    });
    if let Ok(most) = most.lock() {
        let (served, cpu) = *most;
        report.note(format!(
            "of {LIMITS} limits {served} were enough for a session; out of descriptors the runner \
             used up to {cpu:.1} % of a core"
        ));
    }
    let (runtime, mut notes) = (runtime(), Vec::new());
    let outcome = runtime.block_on(out_of_terminals());
    report.one(outcome.map(|note| notes.push(note)));
    report.notes.append(&mut notes);
    match runtime.block_on(come_and_go(job.count)) {
        Ok((done, note)) => {
            report.done += done;
            report.note(note);
        }
        Err(why) => report.violation(why),
    }
    report
}

/// Returns the CPU usage in percent of a core while no connection could be accepted, or `None` if
/// the limit was too small for a session.
async fn under_limit(limit: u64, mut random: Random) -> Result<Option<f64>, String> {
    let mut station = Station::with_copy()?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -n $0 && exec \"$@\""]);
    command.arg(limit.to_string()).arg(station.program());
    if station.start_by(command).await.is_err() {
        // The runner reported the error and exited; `start_by` has read its last line.
        return Ok(None);
    }
    let (remote, seed) = (station.remote(), random.draw());
    let order = station.speaker(seed, 20);
    let making = TerminalEngine.make_remote(&remote, &order);
    let session = match tokio::time::timeout(ANSWER, making).await {
        Ok(Ok(session)) => session,
        Ok(Err(RemoteError::Refused { .. } | RemoteError::Link { .. })) => {
            return alive(&mut station).await.map(|()| None);
        }
        Ok(Err(other)) => return Err(format!("refused without a reason: {other:?}")),
        // The runner can accept no connection, and must not spin.
        Err(_) => {
            idle(&station).await?;
            return alive(&mut station).await.map(|()| None);
        }
    };
    let host = Host::of(session, seed);
    host.until_read(1).await?;
    let socket = program::socket(station.folder());
    let mut connections = Vec::new();
    for _ in 0..limit + 8 {
        // As many connections as the listener's backlog holds.
        match tokio::time::timeout(WINDOW, UnixStream::connect(&socket)).await {
            Ok(Ok(stream)) => connections.push(stream),
            _ => break,
        }
    }
    let cpu = idle(&station).await?;
    let read = host.read();
    host.until_read(read + 1).await?;
    drop(connections);
    // There is room again.
    let attachment = Attachment {
        lease: Lease::Read,
        connect_timeout: Duration::from_secs(30),
        ..Attachment::default()
    };
    let again = TerminalEngine.attach_remote(&remote, host.session.id(), attachment);
    let again = within("another host", again).await?;
    drop(again.map_err(|error| format!("no connection is accepted: {error}"))?);
    host.finish().await?;
    Ok(Some(cpu))
}

/// CPU usage of the idle runner, in percent of a core.
async fn idle(station: &Station) -> Result<f64, String> {
    let runner = [station.pid().ok_or("no runner")?];
    let before = (on_processor(&runner), Instant::now());
    sleep(WINDOW).await;
    let used = on_processor(&runner).saturating_sub(before.0);
    let cpu = 100.0 * used.as_secs_f64() / before.1.elapsed().as_secs_f64();
    if cpu > MOST_CPU {
        return Err(format!("the runner used {cpu:.1} % of a core for nothing"));
    }
    Ok(cpu)
}

async fn alive(station: &mut Station) -> Result<(), String> {
    if !station
        .pid()
        .is_some_and(crate::campaign::support::is_alive)
    {
        return Err("the runner has ended".to_owned());
    }
    station.end_runner(Signal::TERM).await
}

/// Starts sessions until no terminal is left.
async fn out_of_terminals() -> Result<String, String> {
    let mut station = Station::with_copy()?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "/bin/sh", "-c"]);
    command.arg(
        "mount -t devpts -o newinstance,ptmxmode=0666,max=$0 devpts /dev/pts && \
         mount --bind /dev/pts/ptmx /dev/ptmx && exec \"$@\"",
    );
    command.arg(TERMINALS.to_string()).arg(station.program());
    if let Err(why) = station.start_by(command).await {
        return Ok(format!("terminals did not run out here: {why}"));
    }
    let mut order = station.order(&["-c".into(), "stty -echo; echo up; cat".into()]);
    order.configuration.program = "/bin/sh".into();
    order.configuration.stdio = Stdio::Pty {
        size: WindowSize::default(),
        mode: PtyMode::Cooked,
    };
    let remote = station.remote();
    let mut sessions: Vec<TerminalSession> = Vec::new();
    let refusal = loop {
        match within(
            "a terminal or a refusal",
            TerminalEngine.make_remote(&remote, &order),
        )
        .await?
        {
            Ok(session) => sessions.push(session),
            Err(refusal) => break refusal,
        }
        if sessions.len() > TERMINALS {
            return Err("there are more terminals than there are".to_owned());
        }
    };
    let RemoteError::Refused { code, detail, .. } = &refusal else {
        return Err(format!("refused without a reason: {refusal:?}"));
    };
    for session in &sessions {
        let mut output = session.reader(bowline_transport::Stream::Output);
        let mut received = Vec::new();
        let typed = session.write("still here\n".into());
        within("a line", typed)
            .await?
            .map_err(|error| error.to_string())?;
        while !String::from_utf8_lossy(&received).contains("still here") {
            match within("an echo", output.next()).await? {
                Some(bowline_transport::Piece::Bytes { bytes, .. }) => {
                    received.extend_from_slice(&bytes)
                }
                other => return Err(format!("a session ended: {other:?}")),
            }
        }
    }
    let count = sessions.len();
    Ok(format!(
        "{count} terminals, and for the next: {code}, {detail}"
    ))
}

/// Hosts connect and disconnect; afterwards the runner has as many descriptors as before.
async fn come_and_go(count: u64) -> Result<(u64, String), String> {
    let station = Station::new().await?;
    let (remote, seed) = (station.remote(), 5);
    let host = Host::start(&remote, &station.speaker(seed, 50), seed).await?;
    let id = host.session.id();
    let runner = [station.pid().ok_or("no runner")?];
    let join = async || {
        let attachment = Attachment {
            lease: Lease::Read,
            ..Attachment::default()
        };
        let joined = TerminalEngine.attach_remote(&remote, id, attachment);
        within("a host", joined)
            .await?
            .map_err(|error| error.to_string())
    };
    // The first host opens what stays open.
    drop(join().await?);
    sleep(WINDOW).await;
    let before = usage::descriptors(&runner);
    let down_to = async |most: u64| {
        let settled = within("as few descriptors as before", async {
            while usage::descriptors(&runner) > most {
                sleep(Duration::from_millis(5)).await;
            }
        });
        let settled = settled.await;
        settled.map_err(|why| format!("{why}: {before} before"))
    };
    for _ in 0..count {
        drop(join().await?);
        down_to(before + LEAVING).await?;
    }
    down_to(before).await?;
    host.finish().await?;
    Ok((
        count,
        format!("{count} hosts came and went, {before} descriptors before and after"),
    ))
}
