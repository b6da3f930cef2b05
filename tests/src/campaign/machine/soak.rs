//! Long-running sessions over links that are cut every two seconds, with kills of the runner and of shims.

mod dialogue;
mod inspector;
mod slopes;

use std::sync::Arc;
use std::time::Duration;

use bowline_runner::SessionSpec;
use bowline_runner::wire::SessionKind;
use bowline_transport::{
    Attachment, Carrier, Remote, RemoteUrl, SessionId, SystemNetwork, TerminalEngine, TokenFile,
};
use bytes::Bytes;
use rustix::process::Signal;
use tokio::process::Command;
use tokio::time::{Instant as At, sleep_until};

use super::host::Host;
use super::program::{SPEAK, socket};
use super::station::{Station, send};
use super::usage::on_processor;
use crate::campaign::support::{own, run_to_end, within};
use crate::campaign::{Job, Random, Report};
use crate::chaos::{Address, ChaosProxy, Faults, Impatient};
use dialogue::{DIALECTS, Dialogue};
use inspector::Inspector;
use slopes::Usage;

/// Interval between two cuts.
pub(crate) const EVERY: Duration = Duration::from_secs(2);

/// Number of cuts (one minute) from which the run counts as a soak.
const LONG: u64 = 30;

/// Number of sessions, in a soak and otherwise.
const LONG_SESSIONS: u64 = 200;
const SHORT_SESSIONS: u64 = 10;

/// One of this many sessions is a dialogue, and at least one for each protocol.
const DIALOGUES: u64 = 10;

/// One of this many steps (five minutes) of the first third kills the runner and a shim. Slopes are those of the
/// second half, in which the runner is one process, whose allocator has filled its free lists before.
const KILL_EVERY: u64 = 150;

/// Limit of a session's journal and of each stream's ring. Both are full after two minutes and
/// level from then on.
const CAP: u64 = 256 << 10;
const RING: u64 = 64 << 10;

/// Makes the C library return blocks of 64 KiB or more to the system at once. Otherwise it would
/// retain the peak of two hundred concurrent reconnects, which would hide a leak.
const LARGE: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "65536");

/// Interval between the blocks of a session, in milliseconds; two hundred sessions and their links
/// fit one core.
const PAUSE_MS: u64 = 500;

pub(crate) fn run(job: &Job) -> Report {
    run_to_end(job, campaign)
}

async fn campaign(job: &Job, report: &mut Report) -> Result<(), String> {
    let sessions = if job.count >= LONG {
        LONG_SESSIONS
    } else {
        SHORT_SESSIONS
    };
    let mut random = Random::new(job.seed);
    let mut station = Station::with_variable(LARGE.0, LARGE.1).await?;
    let proxy = ChaosProxy::start(
        Address::Unix(socket(station.folder())),
        job.seed,
        Faults::default(),
    );
    let proxy = proxy.await.map_err(|error| error.to_string())?;
    // The proxy cuts only on request.
    proxy.be_kind();
    let remote = through(&proxy, &station);
    let mut hosts = Vec::new();
    let dialogue_count = (sessions / DIALOGUES).max(DIALECTS.len() as u64);
    for _ in 0..sessions - dialogue_count {
        hosts.push(speaker(&station, &remote, random.draw()).await?);
    }
    let mut dialogues = Vec::new();
    for number in 0..dialogue_count {
        let dialect = DIALECTS[number as usize % DIALECTS.len()];
        dialogues.push(Dialogue::start(Some(&remote), dialect).await?);
    }
    let inspector = Inspector::start(&remote, &station.remote()).await?;
    let start = At::now();
    let end = start + EVERY * u32::try_from(job.count).unwrap_or(u32::MAX);
    let dialogues: Vec<_> = dialogues
        .into_iter()
        .map(|dialogue| dialogue.until(end))
        .collect();
    let ids: Vec<_> = hosts.iter().map(|host| host.session.id()).collect();
    let mut usage = Usage::new(&station, &ids)?;
    let mut busy = Duration::ZERO;
    let mut before = on_processor(usage.pids());
    let mut kills = 0;
    for number in 0..job.count {
        let due = start + EVERY * u32::try_from(number).unwrap_or(u32::MAX);
        sleep_until(due + EVERY / 2).await;
        if number < job.count / 3 && number % KILL_EVERY == 1 {
            busy += on_processor(usage.pids()).saturating_sub(before);
            kill_shim(&station, random.draw()).await?;
            restart(&mut station).await?;
            usage.runner_restarted(station.pid().ok_or("no runner")?);
            before = on_processor(usage.pids());
            kills += 1;
        }
        proxy.cut_all();
        report.done += 1;
        sleep_until(due + EVERY).await;
        usage.look();
        for host in &hosts {
            host.fine()?;
        }
    }
    busy += on_processor(usage.pids()).saturating_sub(before);
    report.note(format!(
        "{sessions} sessions, {} links were cut, the runner and a shim were killed {kills} times; runner and shims had \
         {:.0} % of a core",
        proxy.severed(),
        100.0 * busy.as_secs_f64() / start.elapsed().as_secs_f64().max(1e-9)
    ));
    inspector.finish(report).await?;
    dialogue::check(dialogues, report).await?;
    for host in hosts {
        if let Err(why) = host.finish().await {
            report.violation(format!("at the end: {why}"));
        }
    }
    usage.report_to(report);
    Ok(())
}

/// The runner over TCP, through the proxy.
fn through(proxy: &ChaosProxy, station: &Station) -> Remote {
    let url = RemoteUrl::Tcp {
        host: proxy.address().ip().to_string(),
        port: proxy.address().port(),
        tls: false,
        carrier: Carrier::WebSocket,
    };
    let token = TokenFile(station.folder().join("token"));
    let mut remote = Remote::new(url).with_credentials(token);
    // Cut every two seconds, a link would otherwise be retried every few seconds.
    remote.network = Arc::new(Impatient::new(Arc::new(SystemNetwork)));
    remote
}

/// Kills the runner and starts it again. Its sessions go on.
async fn restart(station: &mut Station) -> Result<(), String> {
    station.end_runner(Signal::KILL).await?;
    let mut command = Command::new(station.program());
    command.env(LARGE.0, LARGE.1);
    station.start_by(command).await.map(drop)
}

/// Starts a session, kills its shim, and removes what is left of it.
async fn kill_shim(station: &Station, seed: u64) -> Result<(), String> {
    let id = create(station, seed).await?;
    let info = station.state()?.session(id).info();
    let info = info.map_err(|error| error.to_string())?;
    send(info.map(|it| it.shim_pid), Signal::KILL);
    let path = format!("/api/sessions/{id}?remove=true");
    let remote = station.remote();
    let removed = within("a removal", remote.ask("DELETE", &path, Bytes::new())).await?;
    match removed {
        Ok((200, _)) => Ok(()),
        Ok((status, body)) => Err(format!("{status}: {}", String::from_utf8_lossy(&body))),
        Err(error) => Err(error.to_string()),
    }
}

/// A session that soon reaches its retention limits.
async fn speaker(station: &Station, remote: &Remote, seed: u64) -> Result<Host, String> {
    let id = create(station, seed).await?;
    let attachment = Attachment {
        connect_timeout: Duration::from_secs(30),
        ..Attachment::default()
    };
    let joined = TerminalEngine.attach_remote(remote, id, attachment);
    let joined = within("an attach", joined).await?;
    Ok(Host::of(joined.map_err(|error| error.to_string())?, seed))
}

/// Creates a session that writes continuously.
async fn create(station: &Station, seed: u64) -> Result<SessionId, String> {
    let mut spec = SessionSpec::new(SessionKind::Dialogue, own().display().to_string());
    spec.args = vec![SPEAK.into(), seed.to_string(), PAUSE_MS.to_string()];
    spec.journal.cap_bytes = CAP;
    spec.ring_bytes = Some(RING);
    let body = serde_json::to_vec(&spec).map_err(|error| error.to_string())?;
    let here = station.remote();
    let response = here.ask("POST", "/api/sessions", Bytes::from(body));
    let (status, body) = response.await.map_err(|error| error.to_string())?;
    if status != 201 {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&body)));
    }
    Ok(spec.id)
}
