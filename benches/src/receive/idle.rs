//! Cost of an idle session.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::time::Duration;

use bowline_lifecycle::DialogueSession;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{agent, line, one_reactor, status};
use crate::clock::thread_cpu_time;
use crate::reduce::Script;

/// Duration of the idle period.
const REST: Duration = Duration::from_secs(2);

/// Deltas of the message in the short dialogue.
const DELTAS: usize = 40;

/// Cost of idle sessions.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Idle {
    /// Resident memory of one session without output, in bytes.
    pub fresh: u64,
    /// The same after a short dialogue, whose text and records are included.
    pub used: u64,
    /// Bytes of output of each session.
    pub written: u64,
    /// Threads in addition to the reactor's.
    pub threads: u64,
    /// Wake-ups of the reactor in two seconds; 0 if no timer runs.
    pub wakes: u64,
    /// CPU time of these two seconds, in microseconds.
    pub cpu_us: u64,
}

/// Measures `sessions` idle sessions.
///
/// # Errors
///
/// Fails if a session cannot be started.
pub fn idle(sessions: usize) -> io::Result<Idle> {
    let reactor = one_reactor();
    // The first session includes one-time costs of the process.
    let first = reactor.block_on(start(1))?;
    let before = status::resident();
    let all = reactor.block_on(start(sessions))?;
    reactor.block_on(async { tokio::time::sleep(REST / 4).await });
    let fresh = status::resident().saturating_sub(before) / sessions as u64;
    let written = reactor.block_on(write_to(&all))?;
    let used = status::resident().saturating_sub(before) / sessions as u64;
    let (wakes, cpu) = (status::sleeps(), thread_cpu_time());
    reactor.block_on(async { tokio::time::sleep(REST).await });
    let idle = Idle {
        fresh,
        used,
        written,
        threads: status::threads() - 1,
        // One of the sleeps is the measurement's own.
        wakes: (status::sleeps() - wakes).saturating_sub(1),
        cpu_us: u64::try_from((thread_cpu_time().saturating_sub(cpu)).as_micros())
            .unwrap_or(u64::MAX),
    };
    reactor.block_on(agent::end(first.into_iter().chain(all)));
    Ok(idle)
}

async fn start(sessions: usize) -> io::Result<Vec<DialogueSession>> {
    let mut all = Vec::new();
    for _ in 0..sessions {
        let session = DialogueSession::start(agent::silent()).await;
        all.push(session.map_err(io::Error::other)?);
    }
    Ok(all)
}

/// Returns one streamed message and the end of its turn.
#[must_use]
pub fn short_dialogue() -> Bytes {
    let message = Script::default().streamed(DELTAS).take();
    [&*message, &line::result(1)].concat().into()
}

/// Writes a short dialogue to each session line by line. Returns its length in bytes.
async fn write_to(sessions: &[DialogueSession]) -> io::Result<u64> {
    let text = short_dialogue();
    for session in sessions {
        let pid = session.pid().ok_or(io::ErrorKind::BrokenPipe)?;
        let path = format!("/proc/{pid}/fd/1");
        let mut stdout = OpenOptions::new().write(true).open(path)?;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            stdout.write_all(line)?;
            tokio::task::yield_now().await;
        }
        agent::folded(session, text.len() as u64).await;
    }
    Ok(text.len() as u64)
}
