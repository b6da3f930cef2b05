//! Memory during a long conversation through the whole path.

use std::io;

use bowline_lifecycle::{DialogueConfiguration, DialogueSession};
use bowline_reducer::{Transcript, Window};
use serde::{Deserialize, Serialize};

use super::{Role, agent, one_reactor, status};

/// Entries that the transcript keeps.
const WINDOW: usize = 1_000;

/// Resident memory during a stream.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Steady {
    /// Length of the stream in bytes.
    pub bytes: u64,
    /// Number of lines.
    pub lines: u64,
    /// Lines that did not parse, or were duplicates.
    pub broken: u64,
    /// Entries that the transcript evicted.
    pub given_up: u64,
    /// Entries in the transcript at the end.
    pub entries: u64,
    /// Resident memory after each tenth, in bytes.
    pub resident: Vec<u64>,
}

impl Steady {
    /// Returns minimum and maximum memory after the first fifth, which fills the window.
    #[must_use]
    pub fn least_and_most(&self) -> (u64, u64) {
        let rest = self.resident.iter().skip(2).copied();
        let [least, most] = [rest.clone().min(), rest.max()].map(Option::unwrap_or_default);
        (least, most)
    }
}

/// Streams `bytes` from a child through pipe, framer and parser into a transcript with a window.
///
/// # Errors
///
/// Fails if the child cannot be started, or if lines are missing or invalid.
pub fn steady(bytes: u64) -> io::Result<Steady> {
    one_reactor().block_on(async {
        let session = DialogueSession::start(DialogueConfiguration {
            window: Some(Window::of_entries(WINDOW)),
            ..agent::playing(Role::Conversation(bytes))?
        });
        let session = session.await.map_err(io::Error::other)?;
        let mut resident = Vec::new();
        for tenth in 1..=10 {
            agent::folded(&session, bytes / 10 * tenth).await;
            resident.push(status::resident());
        }
        session.ended().await;
        let steady = session.inspect(look).await;
        if steady.bytes < bytes {
            return Err(io::Error::other("bytes of the stream are missing"));
        }
        if steady.broken > 0 {
            return Err(io::Error::other("a line of the stream is broken"));
        }
        Ok(Steady { resident, ..steady })
    })
}

/// Returns the transcript's counters.
fn look(transcript: &Transcript) -> Steady {
    let stats = transcript.stats();
    Steady {
        bytes: transcript.applied(),
        lines: stats.lines(),
        broken: stats.parse_errors() + stats.duplicates(),
        given_up: u64::from(transcript.first_kept().number()),
        entries: transcript.main().entries().count() as u64,
        resident: Vec::new(),
    }
}
