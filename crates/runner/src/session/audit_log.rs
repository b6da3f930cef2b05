//! The audit log of a session: what happened to it, as JSON lines on the stream
//! [`LIFECYCLE`](crate::wire::StreamId::LIFECYCLE).

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_transport::{Drained, ExitStatus};
use bytes::Bytes;
use serde::Serialize;

use crate::wire::{Epoch, Lease, SessionFacts, StreamId};

/// One line of the audit log. Readers ignore unknown events and fields.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub(super) enum AuditEvent<'a> {
    /// The child was started.
    Started {
        epoch: Epoch,
        #[serde(flatten)]
        facts: &'a SessionFacts,
    },
    /// A client attached with a lease to append or to write.
    Attached {
        client: &'a str,
        lease: Lease,
        generation: u64,
    },
    /// An HTTP request has led to a prompt, an answer or another intent.
    Requested {
        request_id: &'a str,
        /// Id of the prompt: of the line on the stream `CONTROL`, if it is one.
        prompt: &'a str,
    },
    /// The holder of the write lease is gone.
    Detached {
        client: &'a str,
        generation: u64,
        /// Whether it sent `Detach`, rather than losing its connection.
        requested: bool,
    },
    /// A feature of the session works worse than promised.
    Degraded { kind: &'a str, detail: &'a str },
    /// A degraded feature works again.
    Recovered { kind: &'a str },
    /// The child ended.
    Exited {
        status: &'a ExitStatus,
        oom: bool,
        drained: &'a Drained,
        /// Offset past the last byte of each stream but this one, so that a journal that lacks its end is known to.
        ends: BTreeMap<StreamId, u64>,
    },
}

#[derive(Serialize)]
struct Timestamped<'a> {
    /// Milliseconds since 1970; informational, the order of the lines counts.
    at_ms: u64,
    #[serde(flatten)]
    event: &'a AuditEvent<'a>,
}

impl AuditEvent<'_> {
    /// Formats the event as one line, with its LF.
    pub(super) fn line(&self) -> Bytes {
        let line = Timestamped {
            at_ms: wall_ms(),
            event: self,
        };
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        text.push(b'\n');
        text.into()
    }
}

/// Returns milliseconds since 1970 by the system clock.
pub(crate) fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
