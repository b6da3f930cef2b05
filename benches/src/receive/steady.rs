//! A stream without end through a session: what stays in memory.

use std::io;

use bowline_lifecycle::DialogueSession;
use serde::{Deserialize, Serialize};

use super::{Role, agent, one_reactor, status};

/// Resident memory along a stream.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Steady {
    /// Bytes of the stream.
    pub bytes: u64,
    /// Resident memory when each tenth of it was folded, in bytes.
    pub resident: Vec<u64>,
}

impl Steady {
    /// The last tenth over the second one: what a stream that is five times as long adds.
    #[must_use]
    pub fn growth(&self) -> f64 {
        match (self.resident.get(1), self.resident.last()) {
            (Some(&early), Some(&late)) => late as f64 / early as f64,
            _ => f64::NAN,
        }
    }
}

/// Streams so many bytes through one session.
///
/// # Errors
///
/// The session cannot be started.
pub fn steady(bytes: u64) -> io::Result<Steady> {
    one_reactor().block_on(async {
        let session = DialogueSession::start(agent::playing(Role::Chunks(bytes))?)
            .await
            .map_err(io::Error::other)?;
        let mut resident = Vec::new();
        for tenth in 1..=10 {
            agent::folded(&session, bytes / 10 * tenth).await;
            resident.push(status::resident());
        }
        session.terminate().await;
        Ok(Steady { bytes, resident })
    })
}
