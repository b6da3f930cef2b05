//! Deadlines for responses that a client does not take. They limit the time without progress, not the
//! total time.

mod response;
mod write;

use std::time::Duration;

use bowline_transport::wire::DEAD_AFTER;

pub(super) use response::ResponseProgress;
pub(super) use write::WriteDeadline;

/// How long a client may take no byte of what is sent to it.
const STALL_TIMEOUT: Duration = DEAD_AFTER;

/// A client takes nothing of what is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client took no byte for {} s; connect again and read what is sent", STALL_TIMEOUT.as_secs())]
pub(super) struct ClientStalled;
