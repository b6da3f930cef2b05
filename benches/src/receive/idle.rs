//! What a session costs that does nothing.

use std::io;
use std::time::Duration;

use bowline_lifecycle::DialogueSession;
use serde::{Deserialize, Serialize};

use super::fleet::Writer;
use super::{Fleet, agent, one_reactor, status};
use crate::clock::thread_cpu_time;

/// How long nothing happens.
const REST: Duration = Duration::from_secs(2);

/// Lines a second that a session hears for two seconds.
const LINES: u64 = 20;

/// The cost of sessions that rest.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Idle {
    /// Resident memory of one session that nothing was said in, in bytes.
    pub fresh: u64,
    /// The same after some lines: their text and records are in it.
    pub used: u64,
    /// Bytes of lines that were said in each.
    pub said: u64,
    /// Threads beside the reactor's.
    pub threads: u64,
    /// Times that the reactor woke in two seconds of rest. No timer runs when that is none.
    pub wakes: u64,
    /// CPU time of these two seconds, in microseconds.
    pub cpu_us: u64,
}

/// Measures so many sessions.
///
/// # Errors
///
/// A session cannot be started.
pub fn idle(sessions: usize) -> io::Result<Idle> {
    let reactor = one_reactor();
    // What the first session costs the process once is not what a session costs.
    let first = reactor.block_on(start(1))?;
    let before = status::resident();
    let all = reactor.block_on(start(sessions))?;
    reactor.block_on(async { tokio::time::sleep(REST / 4).await });
    let fresh = status::resident().saturating_sub(before) / sessions as u64;
    let said = reactor.block_on(say(&all))?;
    let used = status::resident().saturating_sub(before) / sessions as u64;
    let (wakes, cpu) = (status::sleeps(), thread_cpu_time());
    reactor.block_on(async { tokio::time::sleep(REST).await });
    let idle = Idle {
        fresh,
        used,
        said,
        threads: status::threads() - 1,
        // One sleep is the measurement's own.
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

/// Lets each session hear some lines; gives how many bytes that were.
async fn say(sessions: &[DialogueSession]) -> io::Result<u64> {
    let fleet = Fleet {
        sessions: sessions.len(),
        rate: LINES * sessions.len() as u64,
        seconds: 1,
    };
    let mut writer = Writer::start(fleet, sessions).await?;
    writer.number("begin ").await?;
    writer.number("end ").await?;
    writer.end().await?;
    match sessions.first() {
        Some(session) => Ok(agent::applied(session).await),
        None => Ok(0),
    }
}
