//! Resource usage of a session's processes.

use std::time::Duration;

/// Resource usage of a session's processes, including ended children that were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vitals {
    /// Number of live processes.
    pub processes: usize,
    /// Processor time in user and kernel mode.
    pub cpu: Duration,
    /// Bytes transferred by read and write calls, for files and sockets alike.
    pub io_bytes: u64,
}
