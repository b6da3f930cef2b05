//! Whether a session can be reached, derived from the lease of its runner.

use super::records::{RunnerRecord, SessionRecord};

/// Whether a session can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Its runner renews its lease.
    Live {
        /// The subject on which the runner accepts links.
        link: String,
    },
    /// Its runner does not renew its lease: it may run and be cut off. The copy is readable up to `copied`.
    Silent {
        /// Time of its last renewal, in milliseconds since the Unix epoch by the server's clock; `None` if unknown.
        since_ms: Option<u64>,
    },
}

/// Derives whether a session can be reached from its runner's lease, and from the time at which the runner was seen
/// last.
#[must_use]
pub fn reach(session: &SessionRecord, lease: Option<&RunnerRecord>, seen_ms: Option<u64>) -> Reach {
    match lease {
        Some(runner) if runner.runner == session.runner => Reach::Live {
            link: runner.link.clone(),
        },
        _ => Reach::Silent { since_ms: seen_ms },
    }
}
