//! Claims of conversations: one writer for each in the fleet.

use bowline_process::SessionId;
use serde::{Deserialize, Serialize};

use super::names::RunnerId;

/// The claim of an agent's conversation: the value of its key in `BL_CLAIMS`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// The runner whose session writes the conversation.
    pub runner: RunnerId,
    /// The session.
    pub session: SessionId,
    /// Fences writers: each takeover increases it.
    pub generation: u64,
}

/// Whether a conversation may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimDecision {
    /// The claim is held already.
    Held,
    /// Write this claim.
    Put(ClaimRecord),
    /// Another session has it.
    Refused {
        /// The claim.
        by: ClaimRecord,
    },
}

/// Decides whether a session may claim a conversation that `stored` claims. `takes_over` is set when a person or a
/// policy asked for it; a claim is never taken because a lease lapsed.
#[must_use]
pub fn decide_claim(
    stored: Option<&ClaimRecord>,
    runner: &RunnerId,
    session: SessionId,
    takes_over: bool,
) -> ClaimDecision {
    let claim = |generation| {
        ClaimDecision::Put(ClaimRecord {
            runner: runner.clone(),
            session,
            generation,
        })
    };
    match stored {
        None => claim(1),
        Some(stored) if stored.runner == *runner && stored.session == session => {
            ClaimDecision::Held
        }
        Some(stored) if takes_over => claim(stored.generation.saturating_add(1)),
        Some(stored) => ClaimDecision::Refused { by: stored.clone() },
    }
}
