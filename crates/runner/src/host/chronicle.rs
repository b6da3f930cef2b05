//! What a session says of its life, as JSON lines on the stream
//! [`LIFECYCLE`](crate::wire::StreamId::LIFECYCLE).

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde::Serialize;

use crate::wire::{Epoch, Lease, SessionFacts};

/// One line. More fields and events may come; who reads them ignores what it does not know.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub(super) enum Line<'a> {
    Started {
        epoch: Epoch,
        #[serde(flatten)]
        facts: &'a SessionFacts,
    },
    /// A client has joined.
    Attached {
        client: &'a str,
        lease: Lease,
        generation: u64,
    },
    /// The writer has gone.
    Detached {
        client: &'a str,
        generation: u64,
        /// Whether it said so, and was not cut off.
        said: bool,
    },
    Degraded {
        kind: &'a str,
        detail: &'a str,
    },
    Recovered {
        kind: &'a str,
    },
    Exited(&'a ExitLine<'a>),
}

#[derive(Debug, Serialize)]
pub(super) struct ExitLine<'a> {
    pub(super) status: &'a bowline_transport::ExitStatus,
    pub(super) oom: bool,
    pub(super) drained: &'a bowline_transport::Drained,
}

#[derive(Serialize)]
struct Dated<'a> {
    /// Milliseconds since 1970, for people who read it.
    at_ms: u64,
    #[serde(flatten)]
    line: &'a Line<'a>,
}

impl Line<'_> {
    /// The line as bytes, its end included.
    pub(super) fn bytes(&self) -> Bytes {
        let dated = Dated {
            at_ms: wall_ms(),
            line: self,
        };
        let mut text = serde_json::to_vec(&dated).unwrap_or_default();
        text.push(b'\n');
        text.into()
    }
}

/// Milliseconds since 1970 on the wall's clock.
pub(crate) fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
