//! Exit of a child.

use serde::{Deserialize, Serialize};

/// Exit of a child, with the state of its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Exit status as reported to the parent.
    pub status: ExitStatus,
    /// Whether the child was killed for lack of memory: it ended by SIGKILL, this crate did not
    /// send it, and the kernel's count of such kills in the child's control group (without one, on
    /// the machine) grew during its life. Linux only.
    pub oom: bool,
    /// Whether the streams reached their end.
    pub drained: Drained,
    /// Length of the output stream in bytes.
    pub output_end: u64,
    /// Length of the stderr stream in bytes.
    pub errors_end: u64,
}

/// Exit status of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// The child exited with this code, 0 to 255.
    Code(i32),
    /// A signal ended the child; the number is that of the platform.
    Signal(i32),
    /// The status is not available: other code in this process reaped the child (`SIGCHLD` ignored,
    /// a stray `wait`), or the child could not be killed in time.
    Unknown,
}

/// Whether the streams of a child reached their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drained {
    /// Every stream reached its end; all output was read.
    Clean,
    /// Another process keeps a stream open. The stream was read until 50 ms passed without output,
    /// or for 2 s, and was then closed. All output of the child itself was read.
    Timeout,
}
