//! The words that messages are made of.

use serde::{Deserialize, Serialize};

use bowline_process::Containment;
use bowline_process::WindowSize;

/// What a host wants to be given first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachMode {
    /// Every byte from its cursors on.
    #[default]
    Resume,
    /// The screen as it is, then what comes. Terminals only.
    Snapshot,
    /// Only what comes from now on.
    Tail,
}

/// What a host may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lease {
    /// Look.
    #[default]
    Read,
    /// Send prompts, signals and kills, each whole and by its id. Any number of hosts may.
    Append,
    /// All of this, type and resize. One host at a time: a new one fences the one before.
    Write,
}

/// What the owner has of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Offset of the oldest byte that can be had.
    pub start: u64,
    /// Offset behind the newest byte.
    pub end: u64,
    /// What the bytes up to `end` survive.
    #[serde(default)]
    pub durable: Durability,
}

/// What bytes survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The end of a host and of the runner.
    #[default]
    Memory,
    /// The end of the session's owner, too.
    Process,
    /// The loss of power, too.
    Power,
}

/// Why bytes cannot be had any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapReason {
    /// They were dropped for newer ones.
    Overflow,
    /// The journal has reached its size.
    Trimmed,
    /// The journal was damaged.
    Damaged,
    /// Another reason, which this version does not know.
    #[serde(other)]
    Other,
}

/// Why input was not taken. The stream of input goes on behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputRefusal {
    /// The child has ended or closed its input.
    Ended,
    /// The host had ended the input before.
    Closed,
    /// A line is longer than the terminal takes.
    LineTooLong {
        /// Length of the longest line in bytes.
        length: usize,
        /// The longest line that arrives whole, in bytes.
        limit: usize,
    },
    /// A terminal's input has no end that can be closed.
    NoEndOfInput,
    /// Whatever else the system said.
    Failed {
        /// In words.
        detail: String,
    },
}

/// How a prompt is brought to the child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptMode {
    /// Whole lines, as they are, where a line of the input begins.
    #[default]
    Line,
    /// As a paste into a terminal, and entered.
    Paste,
}

/// What became of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptStatus {
    /// It waits for its turn.
    Queued,
    /// The kernel has taken every byte.
    Written,
    /// The child was seen to take it.
    Submitted,
    /// It was written, and nobody can tell what the child made of it.
    Unverified,
    /// Nothing of it was written.
    Refused {
        /// Why, in words.
        reason: String,
    },
}

/// What the child's standard streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StdioKind {
    /// Three pipes.
    Pipes,
    /// One terminal.
    Pty,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// A structured conversation.
    Dialogue,
    /// A shell or a full-screen program.
    Terminal,
}

/// How far a session's child has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It runs.
    Running,
    /// It has ended.
    Exited,
}

/// What a session is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// What it is for.
    pub kind: SessionKind,
    /// What the child's standard streams are.
    pub stdio: StdioKind,
    /// The child's process id on its machine.
    pub pid: Option<u32>,
    /// The terminal's size, if there is one.
    pub size: Option<WindowSize>,
    /// How tightly the child's tree is held.
    pub containment: Containment,
    /// How far the child has come.
    pub state: SessionState,
}

/// The codes of [`Message::Error`](super::Message::Error), which programs decide by.
pub mod code {
    /// There is no session of that name, and none is known to have been.
    pub const UNKNOWN_SESSION: &str = "unknown_session";
    /// The session was kept for as long as it is, and has been ended.
    pub const EXPIRED: &str = "expired";
    /// No version is spoken by both sides.
    pub const VERSION: &str = "version";
    /// The token is missing or wrong.
    pub const UNAUTHORIZED: &str = "unauthorized";
    /// Input came that would leave a hole.
    pub const INPUT_GAP: &str = "input_gap";
    /// The lease does not allow this.
    pub const NO_LEASE: &str = "no_lease";
    /// A frame came out of its order, such as one before `Attach`.
    pub const PROTOCOL: &str = "protocol";
    /// What came were no frames, or not as they were sent: the connection has damaged them.
    pub const DAMAGED: &str = "damaged";
    /// Too much of something: sessions, clients, bytes that wait.
    pub const LIMIT: &str = "limit";
    /// The other side failed; it may be better later.
    pub const INTERNAL: &str = "internal";
}
