//! The messages between hosts and owners of sessions.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Epoch, StreamId, json};
use crate::terms::{
    AttachMode, Extent, GapReason, InputRefusal, Lease, PromptMode, PromptStatus, SessionFacts,
};
use bowline_process::Containment;
use bowline_process::SessionId;
use bowline_process::Signal;
use bowline_process::TerminationPolicy;
use bowline_process::WindowSize;
use bowline_process::{Drained, ExitStatus};

/// A message. Offsets are in bytes from the beginning of the epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// The first message of a host.
    Hello(Hello),
    /// The reply to `Hello`.
    Welcome(Welcome),
    /// Joins a session at the host's cursors.
    Attach(Attach),
    /// The reply to `Attach`.
    Attached(Attached),
    /// Bytes of a stream are no longer available.
    Gap {
        /// The stream.
        stream: StreamId,
        /// First missing offset.
        from: u64,
        /// First available offset after the gap.
        to: u64,
        /// The reason.
        reason: GapReason,
    },
    /// Announces a screen that replaces all output before an offset; its chunks follow.
    Snapshot {
        /// Output offset at which the stream continues after the screen.
        at_offset: u64,
        /// Size of the screen.
        size: WindowSize,
        /// CRC-32C of the bytes of the screen.
        hash: u32,
        /// Number of bytes of the screen.
        total: u64,
    },
    /// A part of a screen.
    #[serde(skip)]
    SnapshotChunk {
        /// Offset within the screen.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
        /// Whether more chunks follow.
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
        /// Whether they were received before the host attached.
        replay: bool,
    },
    /// When and where the bytes of a stream from an offset on arrived at the owner, up to the next such
    /// message. Sent before them to a host with the feature [`ARRIVALS`](super::ARRIVALS).
    Arrival {
        /// The stream.
        stream: StreamId,
        /// Offset of the first byte.
        offset: u64,
        /// Milliseconds since the Unix epoch; `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ms: Option<u64>,
        /// Of input, the end of the output when it was written to the child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<u64>,
    },
    /// The host has stored everything before an offset, so that the owner may trim it.
    Ack {
        /// The stream.
        stream: StreamId,
        /// The first offset that the host may still request.
        offset: u64,
    },
    /// Grants credit for more bytes of a stream.
    Credit {
        /// The stream.
        stream: StreamId,
        /// Number of bytes.
        n: u64,
    },
    /// Bytes for the child's input.
    #[serde(skip)]
    Input {
        /// Offset of the first byte in the input stream.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// Closes the input.
    InputEnd {
        /// Offset past its last byte.
        offset: u64,
    },
    /// The kernel has accepted all input before an offset. From a terminal it is sent with the next output, at most 5 ms
    /// later and before the exit.
    InputAck {
        /// The next expected offset.
        offset: u64,
        /// Whether the input is closed.
        #[serde(default)]
        ended: bool,
    },
    /// Input was refused; input after it is accepted.
    InputRefused {
        /// Offset of the first refused byte.
        from: u64,
        /// Offset past the last refused byte; equal to `from` for a close of the input.
        to: u64,
        /// The reason.
        reason: InputRefusal,
    },
    /// Whole lines or a paste, written at most once.
    Prompt(Prompt),
    /// The state of a prompt; repeated when the prompt is.
    PromptState {
        /// The prompt's id.
        id: String,
        /// Its state.
        state: PromptStatus,
    },
    /// Sets the terminal size.
    Resize {
        /// Increases with each request; a lower number than the last is ignored.
        seq: u64,
        /// The new size.
        size: WindowSize,
    },
    /// Sends a signal, at most once.
    Signal {
        /// Id of the request.
        id: String,
        /// The signal.
        signal: Signal,
    },
    /// Terminates the child and all of its descendants. A later request may shorten the grace periods.
    Kill {
        /// Id of the request.
        id: String,
        /// The grace period of each step.
        #[serde(rename = "ladder")]
        policy: TerminationPolicy,
    },
    /// The result of a kill.
    Killed {
        /// Id of the request.
        id: String,
        /// The result.
        report: KillReport,
    },
    /// The child has exited, and all of its output was sent.
    Exit(ExitNotice),
    /// Acknowledges `Exit`, which is then not repeated.
    ExitAck,
    /// Requests a `Pong`.
    Ping {
        /// Returned in the reply.
        nonce: u64,
    },
    /// The reply to `Ping`: everything before it was processed.
    Pong {
        /// The nonce of the `Ping`.
        nonce: u64,
    },
    /// Another host holds the lease: further frames of this host are ignored.
    Fenced {
        /// The current lease.
        generation: u64,
    },
    /// The session continues with a reduced guarantee.
    Degraded {
        /// What is reduced: `journal` or `screen`.
        kind: String,
        /// A description.
        detail: String,
    },
    /// A request failed.
    Error {
        /// One of [`code`](super::code), or a code of a later version.
        code: String,
        /// Whether a retry can succeed.
        retryable: bool,
        /// Delay before a retry, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_ms: Option<u64>,
        /// A description.
        detail: String,
    },
    /// Detaches the host; the session continues.
    Detach,
    /// This end closes the connection soon: reconnect.
    GoAway {
        /// Delay before a retry, in milliseconds.
        after_ms: u64,
    },
}

/// The first message of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The oldest and the newest supported version.
    pub versions: (u16, u16),
    /// Supported optional features.
    #[serde(default)]
    pub features: Vec<String>,
}

/// The reply to [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The version of this connection.
    pub version: u16,
    /// Optional features that both sides support.
    #[serde(default)]
    pub features: Vec<String>,
    /// Limits of the owner.
    #[serde(default)]
    pub limits: WireLimits,
}

/// Limits of the owner of a session for one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireLimits {
    /// Maximum length of a message, in bytes.
    pub message: u64,
    /// Maximum number of unacknowledged input bytes.
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

/// Joins a session at the host's cursors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// The session.
    pub session: SessionId,
    /// The epoch of the cursors; `None` for a first attach.
    pub epoch: Option<Epoch>,
    /// The next requested offset of each stream; other streams are not sent.
    #[serde(default)]
    pub cursors: BTreeMap<StreamId, u64>,
    /// What is sent first.
    #[serde(default)]
    pub mode: AttachMode,
    /// The requested rights.
    #[serde(default)]
    pub lease: Lease,
    /// The previous lease of the host, which it keeps if no other host has held it since.
    #[serde(default)]
    pub resume_generation: Option<u64>,
    /// The window size of the host.
    #[serde(default)]
    pub size: Option<WindowSize>,
    /// Initial credit for each stream, in bytes.
    pub credit: u64,
    /// A display name of the host, without secrets.
    #[serde(default)]
    pub client: String,
}

/// The reply to [`Attach`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The epoch of the child.
    pub epoch: Epoch,
    /// The lease; 0 without [`Lease::Write`].
    pub generation: u64,
    /// The available part of each stream.
    pub streams: BTreeMap<StreamId, Extent>,
    /// The next expected offset of input.
    pub input_next: u64,
    /// How the child exited, if it has. An `Exit` still follows all output.
    pub exit: Option<ExitNotice>,
    /// Facts about the session.
    pub info: SessionFacts,
}

/// Whole lines or a paste, written at most once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Id of the prompt; a repeated prompt is not written again.
    pub id: String,
    /// The bytes to write.
    #[serde(with = "json::bytes")]
    pub bytes: Bytes,
    /// How they are written.
    #[serde(default)]
    pub mode: PromptMode,
    /// Id of the HTTP request that it comes from, for the logs of the session. It has no effect, and an owner that
    /// does not know it ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Prompt {
    /// Returns whether its message has at most [`MAX_MESSAGE`](super::MAX_MESSAGE) bytes. A longer one ends the
    /// connection on which it is sent.
    #[must_use]
    pub fn fits(&self) -> bool {
        let message = serde_json::to_vec(&Message::Prompt(self.clone()));
        message.is_ok_and(|it| it.len() <= super::MAX_MESSAGE)
    }
}

/// The result of a [`Kill`](Message::Kill).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KillReport {
    /// Processes that were sent SIGKILL.
    pub killed: Vec<u32>,
    /// Processes that were still running after the last step.
    pub survivors: Vec<u32>,
    /// The containment of the process tree.
    pub level: Containment,
    /// Time from the request to this report.
    #[serde(rename = "took_ms", with = "bowline_process::millis")]
    pub took: Duration,
}

/// How a child exited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitNotice {
    /// The child's exit status.
    pub status: ExitStatus,
    /// Whether the kernel killed a process of the session because memory ran out.
    #[serde(default)]
    pub oom: bool,
    /// Whether the streams reached their end of file.
    pub drained: Drained,
    /// Offset past the last byte of each stream.
    pub ends: BTreeMap<StreamId, u64>,
}
