//! Terminating a session, as a client of its shim.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bowline_transport::wire::{Attach, AttachMode, ExitNotice, KillReport, Lease, Message};
use bowline_transport::{SessionId, TerminationPolicy};
use rustix::process::{Pid, Signal};
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;
use uuid::Uuid;

use super::record::{SessionRecord, ShimStatus};
use super::shim_link::{ShimLink, ShimLinkError};
use super::store::SessionStore;
use crate::current_request::client_name;
use crate::shim::SessionDir;

/// Time limit for a termination beyond the grace periods of its policy, for draining the output.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// How often to check whether a shim has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long the guard of a killed shim may take to kill the child.
const GUARD_TIMEOUT: Duration = Duration::from_secs(5);

/// How a session ended.
#[derive(Debug, Default)]
pub(crate) struct Termination {
    /// The report of the kill, if the session was running.
    pub(crate) report: Option<KillReport>,
    /// The child's exit status.
    pub(crate) exit: Option<ExitNotice>,
}

/// Why a session was not terminated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TerminateError {
    /// There is no such session.
    #[error("session not found")]
    NotFound,
    /// The session's metadata cannot be read.
    #[error("the session's metadata is unreadable: {0}")]
    Metadata(#[source] io::Error),
    /// The connection to the shim failed.
    #[error(transparent)]
    Link(#[from] ShimLinkError),
    /// The shim does not respond, and cannot be killed.
    #[error("the session's process does not respond and cannot be killed: {0}")]
    Kill(#[source] io::Error),
    /// The session's folder cannot be removed.
    #[error("the session's folder cannot be removed: {0}")]
    Remove(#[source] io::Error),
}

impl SessionStore {
    /// Terminates a session and waits until its shim has ended. Keeps the session's folder. If the
    /// policy is [`TerminationPolicy::AT_ONCE`], a shim that does not respond is killed.
    pub(crate) async fn terminate(
        &self,
        id: SessionId,
        policy: TerminationPolicy,
    ) -> Result<Termination, TerminateError> {
        self.terminate_as(id, policy, None).await
    }

    /// Terminates a session as [`terminate`](Self::terminate) does, unless a client has taken the write
    /// lease since `generation`. The shim decides, so that a client that attaches at the same time either
    /// prevents the end or finds the session ended.
    pub(crate) async fn terminate_unattended(
        &self,
        id: SessionId,
        policy: TerminationPolicy,
        generation: u64,
    ) -> Result<Termination, TerminateError> {
        self.terminate_as(id, policy, Some(generation)).await
    }

    async fn terminate_as(
        &self,
        id: SessionId,
        policy: TerminationPolicy,
        generation: Option<u64>,
    ) -> Result<Termination, TerminateError> {
        let record = self.record(id).await.map_err(TerminateError::Metadata)?;
        let record = record.ok_or(TerminateError::NotFound)?;
        let ended = |record: SessionRecord| Termination {
            report: None,
            exit: record.info.exit,
        };
        if record.shim == ShimStatus::Gone {
            return Ok(ended(record));
        }
        let is_forced = policy == TerminationPolicy::AT_ONCE;
        match terminate(&record.session, policy, generation).await {
            Ok(termination) => {
                wait_for_shim(&record.session).await;
                Ok(termination)
            }
            // The session may have ended by itself in the meantime.
            Err(ShimLinkError::Disconnected(error)) => match self.record(id).await {
                Ok(Some(record)) if record.shim == ShimStatus::Gone => Ok(ended(record)),
                _ => Err(ShimLinkError::Disconnected(error).into()),
            },
            Err(ShimLinkError::TimedOut) if is_forced => kill_shim(&record).await,
            Err(error) => Err(error.into()),
        }
    }
}

/// Kills a shim that does not respond, since it is stopped or hangs. Its guard then kills the
/// processes of its child.
async fn kill_shim(record: &SessionRecord) -> Result<Termination, TerminateError> {
    let started = Instant::now();
    let pid = record.shim_pid().await.map_err(TerminateError::Kill)?;
    let child = record.info.pid.filter(|pid| is_running(*pid));
    warn!(session.id = %record.info.id, pid, "killing a session's process that does not respond");
    kill_process(pid).map_err(TerminateError::Kill)?;
    wait_for_shim(&record.session).await;
    let ended = async {
        while child.is_some_and(is_running) {
            sleep(POLL_INTERVAL).await;
        }
    };
    let has_ended = timeout(GUARD_TIMEOUT, ended).await.is_ok();
    let (mut killed, mut survivors) = (vec![pid], Vec::new());
    if has_ended {
        killed.extend(child);
    } else {
        survivors.extend(child);
    }
    let report = KillReport {
        killed,
        survivors,
        level: record.info.containment,
        took: started.elapsed(),
    };
    Ok(Termination {
        report: Some(report),
        exit: None,
    })
}

fn kill_process(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::NotFound)?;
    Ok(rustix::process::kill_process(pid, Signal::KILL)?)
}

/// Returns whether a process exists, and is not known to be a zombie (proc_pid_stat(5)).
fn is_running(pid: u32) -> bool {
    if let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        return state.is_some_and(|state| !state.starts_with(['Z', 'X']));
    }
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

async fn terminate(
    session: &SessionDir,
    policy: TerminationPolicy,
    generation: Option<u64>,
) -> Result<Termination, ShimLinkError> {
    let lease = match generation {
        Some(_) => Lease::Write,
        None => Lease::Append,
    };
    let mut link = ShimLink::open(session).await?;
    link.attach(Attach {
        session: session.id(),
        epoch: None,
        cursors: BTreeMap::new(),
        mode: AttachMode::Tail,
        lease,
        resume_generation: generation,
        size: None,
        credit: 0,
        client: client_name("end"),
    })
    .await?;
    link.queue(kill_request(policy));
    wait_until_ended(&mut link, policy).await
}

/// Waits until a shim whose exit was acknowledged has ended. It stays for a moment to serve its
/// other clients, and then writes its final metadata.
async fn wait_for_shim(session: &SessionDir) {
    let gone = async {
        while session.connect().await.is_ok() {
            sleep(POLL_INTERVAL).await;
        }
    };
    if timeout(DRAIN_TIMEOUT, gone).await.is_err() {
        warn!(session.id = %session.id(), "the shim of an ended session still runs");
    }
}

/// The message that kills a session.
pub(crate) fn kill_request(policy: TerminationPolicy) -> Message {
    let id = Uuid::new_v4().to_string();
    Message::Kill { id, policy }
}

/// Waits until a session that is being killed has ended and its shim disconnects.
pub(crate) async fn wait_until_ended(
    link: &mut ShimLink,
    policy: TerminationPolicy,
) -> Result<Termination, ShimLinkError> {
    let grace = policy.eof_grace + policy.interrupt.unwrap_or_default() + policy.term_grace;
    let limit = grace + policy.kill + DRAIN_TIMEOUT;
    let mut termination = Termination::default();
    match timeout(limit, read_until_disconnect(link, &mut termination)).await {
        Err(_) => Err(ShimLinkError::TimedOut),
        // After the exit, the shim has nothing more to report.
        Ok(ShimLinkError::Disconnected(_)) if termination.exit.is_some() => Ok(termination),
        Ok(error) => Err(error),
    }
}

/// Collects the kill report and the exit until the connection ends.
async fn read_until_disconnect(
    link: &mut ShimLink,
    termination: &mut Termination,
) -> ShimLinkError {
    loop {
        match link.next().await {
            Ok(Message::Killed { report, .. }) => termination.report = Some(report),
            Ok(Message::Exit(exit)) => {
                termination.exit = Some(exit);
                link.queue(Message::ExitAck);
            }
            Ok(Message::Fenced { .. }) => return ShimLinkError::Fenced,
            Ok(_) => {}
            Err(error) => return error,
        }
    }
}
