//! Field types of messages.

use serde::{Deserialize, Serialize};

use bowline_process::Containment;
use bowline_process::WindowSize;

/// What an attached host receives first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachMode {
    /// Every byte from its cursors.
    #[default]
    Resume,
    /// The current screen, then new output. Terminals only.
    Snapshot,
    /// New output only.
    Tail,
}

/// The rights of an attached host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lease {
    /// Receive output.
    #[default]
    Read,
    /// Also send prompts, signals and kills, each whole and with an id. Held by any number of hosts.
    Append,
    /// Also type and resize. Held by one host at a time: a new holder fences the previous one.
    Write,
}

/// The part of a stream that the owner has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Offset of the oldest available byte.
    pub start: u64,
    /// Offset past the newest byte.
    pub end: u64,
    /// Durability of the bytes up to `end`.
    #[serde(default)]
    pub durable: Durability,
}

/// What stored bytes survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The exit of hosts and of the runner.
    #[default]
    Memory,
    /// Also the exit of the session's owner.
    Process,
    /// Also a power failure.
    Power,
}

/// Why bytes are no longer available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapReason {
    /// They were dropped to make room for newer ones.
    Overflow,
    /// The journal reached its size limit.
    Trimmed,
    /// The journal is damaged.
    Damaged,
    /// A reason that this version does not know.
    #[serde(other)]
    Other,
}

/// Why input was refused. The input stream continues after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputRefusal {
    /// The child has exited or closed its input.
    Ended,
    /// The input was closed before.
    Closed,
    /// A line exceeds the limit of the terminal.
    LineTooLong {
        /// Length of the longest line in bytes.
        length: usize,
        /// Maximum length of a line, in bytes (termios(3), canonical mode).
        limit: usize,
    },
    /// The input of a terminal cannot be closed.
    NoEndOfInput,
    /// Another error of the system.
    Failed {
        /// Its description.
        detail: String,
    },
}

/// How a prompt is written to the child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptMode {
    /// Unchanged, as whole lines, at the beginning of an input line.
    #[default]
    Line,
    /// As a paste into a terminal, followed by Enter.
    Paste,
    /// Not to the child: as a line of the stream [`CONTROL`](crate::StreamId::CONTROL).
    Control,
    /// Not at all: the input is closed after what is queued.
    End,
    /// Not to the child: to its hook that waits, as the reply of a host.
    Hook,
}

/// The state of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptStatus {
    /// It is queued.
    Queued,
    /// The kernel has accepted every byte.
    Written,
    /// The child has accepted it.
    Submitted,
    /// It was written; whether the child accepted it is unknown.
    Unverified,
    /// It was refused, and nothing was written.
    Refused {
        /// The reason.
        reason: String,
    },
}

/// The type of the child's standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StdioKind {
    /// Three pipes.
    Pipes,
    /// One terminal.
    Pty,
}

/// The kind of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Kind))]
pub enum SessionKind {
    /// A structured conversation with an agent.
    Dialogue,
    /// A shell or a full-screen program.
    Terminal,
}

/// The state of a session's child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It is running.
    Running,
    /// It has exited.
    Exited,
}

/// Facts about a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Its purpose.
    pub kind: SessionKind,
    /// The type of the child's standard streams.
    pub stdio: StdioKind,
    /// The child's process id on its machine.
    pub pid: Option<u32>,
    /// The size of the terminal, if there is one.
    pub size: Option<WindowSize>,
    /// The containment of the child's process tree.
    pub containment: Containment,
    /// The state of the child.
    pub state: SessionState,
}

/// The machine-readable codes of [`Message::Error`](super::Message::Error).
pub mod code {
    /// The session does not exist and is not known to have existed.
    pub const UNKNOWN_SESSION: &str = "unknown_session";
    /// The session was ended when its retention time expired.
    pub const EXPIRED: &str = "expired";
    /// The two sides have no version in common.
    pub const VERSION: &str = "version";
    /// The token is missing or wrong.
    pub const UNAUTHORIZED: &str = "unauthorized";
    /// The input would leave a gap.
    pub const INPUT_GAP: &str = "input_gap";
    /// The lease does not permit this.
    pub const NO_LEASE: &str = "no_lease";
    /// A frame was out of order, such as one before `Attach`.
    pub const PROTOCOL: &str = "protocol";
    /// The bytes were not valid frames: the connection damaged them.
    pub const DAMAGED: &str = "damaged";
    /// A limit was reached: sessions, clients or queued bytes.
    pub const LIMIT: &str = "limit";
    /// The other side failed; a later attempt may succeed.
    pub const INTERNAL: &str = "internal";
}
