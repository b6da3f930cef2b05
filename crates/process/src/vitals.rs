//! What a session's processes use.

use std::time::Duration;

/// What a session's processes have used so far, those that have ended and were waited for
/// included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vitals {
    /// Processes that are alive.
    pub processes: usize,
    /// Time on a processor, in user and kernel mode.
    pub cpu: Duration,
    /// Bytes that went through read and write calls, files and sockets alike.
    pub io_bytes: u64,
}
