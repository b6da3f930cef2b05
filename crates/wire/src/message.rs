//! What hosts and owners of sessions say to each other.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Epoch, StreamId, json};
use crate::terms::{
    AttachMode, Extent, GapReason, InputRefusal, Lease, PromptMode, PromptStatus, SessionFacts,
};
use bowline_process::Containment;
use bowline_process::Ladder;
use bowline_process::SessionId;
use bowline_process::Signal;
use bowline_process::WindowSize;
use bowline_process::{Drained, ExitStatus};

/// One message. Offsets are in bytes from the beginning of the epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// The first word of a host.
    Hello(Hello),
    /// The answer to it.
    Welcome(Welcome),
    /// A host joins a session and says what it has.
    Attach(Attach),
    /// The owner says what there is.
    Attached(Attached),
    /// Bytes of a stream cannot be had any more.
    Gap {
        /// The stream.
        stream: StreamId,
        /// First offset that is missing.
        from: u64,
        /// First offset that is there again.
        to: u64,
        /// Why.
        reason: GapReason,
    },
    /// A screen follows, in chunks, that stands for all output before an offset.
    Snapshot {
        /// The offset of the output that goes on from the screen.
        at_offset: u64,
        /// The screen's size.
        size: WindowSize,
        /// CRC-32C of its bytes.
        hash: u32,
        /// How many bytes of it follow.
        total: u64,
    },
    /// Bytes of a screen.
    #[serde(skip)]
    SnapshotChunk {
        /// Offset within the screen.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
        /// Whether another chunk follows.
        more: bool,
    },
    /// Bytes of a stream.
    #[serde(skip)]
    Data {
        /// The stream.
        stream: StreamId,
        /// Offset of the first byte.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
        /// Whether they were there before the host came.
        replay: bool,
    },
    /// The host keeps everything before an offset safe. Lets the owner trim, and no more.
    Ack {
        /// The stream.
        stream: StreamId,
        /// The first offset that it may still want.
        offset: u64,
    },
    /// The host takes so many bytes more of a stream than it has allowed so far.
    Credit {
        /// The stream.
        stream: StreamId,
        /// Bytes.
        n: u64,
    },
    /// Bytes for the child.
    #[serde(skip)]
    Input {
        /// Offset of the first byte in the stream of input.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// The input ends here.
    InputEnd {
        /// Offset behind its last byte.
        offset: u64,
    },
    /// The kernel has taken all input before an offset.
    InputAck {
        /// The next offset that it will take.
        offset: u64,
        /// Whether the input was ended, too.
        #[serde(default)]
        ended: bool,
    },
    /// Input was passed over; what follows it is taken.
    InputRefused {
        /// Offset of the first byte of it.
        from: u64,
        /// Offset behind it. The same as `from` for an end of input.
        to: u64,
        /// Why.
        reason: InputRefusal,
    },
    /// Whole lines or a paste, once.
    Prompt(Prompt),
    /// What became of a prompt; told again when it is repeated.
    PromptState {
        /// The prompt's id.
        id: String,
        /// What became of it.
        state: PromptStatus,
    },
    /// The host's window has another size.
    Resize {
        /// Counts up; an older one than the last is ignored.
        seq: u64,
        /// The new size.
        size: WindowSize,
    },
    /// A signal, once.
    Signal {
        /// Names the request.
        id: String,
        /// Which one.
        signal: Signal,
    },
    /// Ends the child and all that came of it. A later one may be harder.
    Kill {
        /// Names the request.
        id: String,
        /// How.
        ladder: Ladder,
    },
    /// What came of a kill.
    Killed {
        /// The request.
        id: String,
        /// What came of it.
        report: KillReport,
    },
    /// The child has ended, and everything that it wrote was sent.
    Exit(ExitNotice),
    /// The host knows that; nobody else has to be told.
    ExitAck,
    /// Is anybody there?
    Ping {
        /// Comes back in the answer.
        nonce: u64,
    },
    /// Yes, and everything before the question is done.
    Pong {
        /// That of the question.
        nonce: u64,
    },
    /// Another host holds the lease: nothing that this one sends counts any more.
    Fenced {
        /// The lease that counts.
        generation: u64,
    },
    /// The session goes on with less than was promised.
    Degraded {
        /// What is worse, for programs: `journal`, `screen`.
        kind: String,
        /// What happened, for people.
        detail: String,
    },
    /// Something that was asked for was not done.
    Error {
        /// One of [`code`](super::code), or one that a later version has.
        code: String,
        /// Whether the same can succeed later.
        retryable: bool,
        /// How long to wait before, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_ms: Option<u64>,
        /// What is wrong, for people.
        detail: String,
    },
    /// The host goes, the session stays.
    Detach,
    /// This end of the connection is about to go: connect again.
    GoAway {
        /// How long to wait before, in milliseconds.
        after_ms: u64,
    },
}

/// The first word of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The oldest and the newest version that it speaks.
    pub versions: (u16, u16),
    /// What else it can do.
    #[serde(default)]
    pub features: Vec<String>,
}

/// The answer to [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The version that is spoken from now on.
    pub version: u16,
    /// What else both can do.
    #[serde(default)]
    pub features: Vec<String>,
    /// What the owner takes.
    #[serde(default)]
    pub limits: WireLimits,
}

/// What the owner of a session takes from one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireLimits {
    /// Bytes of a message.
    pub message: u64,
    /// Bytes of input that may be under way.
    pub input_window: u64,
}

impl Default for WireLimits {
    /// [`MAX_MESSAGE`](super::MAX_MESSAGE) and [`INPUT_WINDOW`](super::INPUT_WINDOW).
    fn default() -> Self {
        Self {
            message: super::MAX_MESSAGE as u64,
            input_window: super::INPUT_WINDOW,
        }
    }
}

/// A host joins a session and says what it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// The session.
    pub session: SessionId,
    /// The incarnation that the cursors are about; `None` for a host that knows nothing yet.
    pub epoch: Option<Epoch>,
    /// The next offset wanted of each stream; streams that are not here are not sent.
    #[serde(default)]
    pub cursors: BTreeMap<StreamId, u64>,
    /// What is wanted first.
    #[serde(default)]
    pub mode: AttachMode,
    /// What the host wants to be allowed.
    #[serde(default)]
    pub lease: Lease,
    /// The lease that the host had; it stays the same one if nobody has had it since.
    #[serde(default)]
    pub resume_generation: Option<u64>,
    /// The size of the host's window.
    #[serde(default)]
    pub size: Option<WindowSize>,
    /// Bytes of each stream that may come without further credit.
    pub credit: u64,
    /// Who the host is, for people: a name without secrets.
    #[serde(default)]
    pub client: String,
}

/// The owner of a session says what there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The incarnation of the child.
    pub epoch: Epoch,
    /// The lease; 0 without [`Lease::Write`].
    pub generation: u64,
    /// What there is of each stream.
    pub streams: BTreeMap<StreamId, Extent>,
    /// The next offset of input that is taken.
    pub input_next: u64,
    /// How the child ended, if it has. An `Exit` still comes, behind everything else.
    pub exit: Option<ExitNotice>,
    /// What the session is.
    pub info: SessionFacts,
}

/// Whole lines or a paste, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Names the prompt: a repeated one is not written again.
    pub id: String,
    /// What is written.
    #[serde(with = "json::bytes")]
    pub bytes: Bytes,
    /// How.
    #[serde(default)]
    pub mode: PromptMode,
}

/// What came of a [`Kill`](Message::Kill).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KillReport {
    /// Processes that were sent SIGKILL.
    pub killed: Vec<u32>,
    /// Processes that were still there when the last step ran out.
    pub survivors: Vec<u32>,
    /// How tightly the tree was held.
    pub level: Containment,
    /// From the request to this report.
    #[serde(rename = "took_ms", with = "bowline_process::millis")]
    pub took: Duration,
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitNotice {
    /// What the child left to its parent.
    pub status: ExitStatus,
    /// Whether the kernel ended a process of it for want of memory.
    #[serde(default)]
    pub oom: bool,
    /// Whether the streams came to their own end.
    pub drained: Drained,
    /// Offset behind the last byte of each stream.
    pub ends: BTreeMap<StreamId, u64>,
}
