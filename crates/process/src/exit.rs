//! How a child ended.

use serde::{Deserialize, Serialize};

/// How a child ended, known once and for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// What the child left to its parent.
    pub status: ExitStatus,
    /// Whether memory had run out: it was killed, none of us killed it, and the system has counted a
    /// kill for want of memory in its control group (or, without one, on the machine) since it was
    /// born. Linux.
    pub oom: bool,
    /// Whether the streams came to their own end.
    pub drained: Drained,
    /// Offset behind the last byte of output.
    pub output_end: u64,
    /// Offset behind the last byte of errors.
    pub errors_end: u64,
}

/// What the child left to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It ended by itself with this code, 0 to 255.
    Code(i32),
    /// A signal ended it; the number is the platform's.
    Signal(i32),
    /// The system did not tell: something else in this process reaped the child (`SIGCHLD`
    /// ignored, a stray `wait`), or it could not be killed in time.
    Unknown,
}

/// Whether the streams came to their own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drained {
    /// Every stream reached its end: nothing can be missing.
    Clean,
    /// Another process still holds a stream. It was read until it had been quiet for 50 ms, or
    /// for 2 s, and then cut; all that the child itself had written is there.
    Timeout,
}
