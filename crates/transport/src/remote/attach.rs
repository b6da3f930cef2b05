//! Options for attaching to a session.

use std::collections::BTreeMap;
use std::time::Duration;

use super::machine::Joining;
use super::target::Remote;
use bowline_process::SessionId;
use bowline_process::{InputLimits, LogLimits, WindowSize};
use bowline_wire::{AttachMode, DEFAULT_CREDIT, Epoch, Lease, StreamId};

/// Options for attaching to a session.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// The access to request. One host at a time holds [`Lease::Write`]; a new holder fences the
    /// previous one.
    pub lease: Lease,
    /// Where the output begins.
    pub start: StartPosition,
    /// The expected incarnation of the child. If the session has another one, it counts as gone.
    pub epoch: Option<Epoch>,
    /// The size of the host's window, if it displays the session.
    pub size: Option<WindowSize>,
    /// Sizes of the local logs. A full log stops the stream at the runner.
    pub limits: LogLimits,
    /// Limits of queued input. [`InputLimits::deadline`] is ignored; the runner's applies.
    pub input: InputLimits,
    /// Time within which the first connection is retried. Zero means a single attempt.
    pub connect_timeout: Duration,
    /// Whether the control stream is received, too, from its beginning: what the hosts of a session want, for a
    /// reader that receives its input
    /// ([`attach_remote_with_reader`](crate::TerminalEngine::attach_remote_with_reader)).
    pub follows_control: bool,
    /// Whether only the hooks of the agent are received, in the place of its output. Such a host does not
    /// acknowledge the exit.
    pub follows_hooks: bool,
}

/// Where the output of an attached session begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartPosition {
    /// At the first byte. Bytes that were dropped are reported as a [`Gap`](crate::Piece::Gap).
    #[default]
    Start,
    /// After the bytes that the host already has.
    At {
        /// Offset of the next byte of output.
        output: u64,
        /// Offset of the next byte of errors.
        errors: u64,
        /// Offset of the next byte of input, for a reader that also receives it
        /// ([`attach_remote_with_reader`](crate::TerminalEngine::attach_remote_with_reader)).
        input: u64,
    },
    /// At the current screen ([`TerminalSession::screen`](crate::TerminalSession::screen)).
    /// Terminals only.
    Screen,
    /// At the current end of the output.
    Now,
}

impl Default for Attachment {
    fn default() -> Self {
        Self {
            lease: Lease::Write,
            start: StartPosition::Start,
            epoch: None,
            size: None,
            limits: LogLimits::default(),
            input: InputLimits::default(),
            connect_timeout: Duration::ZERO,
            follows_control: false,
            follows_hooks: false,
        }
    }
}

impl Attachment {
    /// Returns the parameters of the connection. With `follows_input`, the session also sends its input and
    /// the arrivals.
    pub(super) fn joining(
        &self,
        remote: &Remote,
        session: SessionId,
        follows_input: bool,
    ) -> Joining {
        let room = self.limits.output_bytes.min(self.limits.errors_bytes) as u64;
        Joining {
            session,
            epoch: self.epoch,
            lease: self.lease,
            mode: match self.start {
                StartPosition::Start | StartPosition::At { .. } => AttachMode::Resume,
                StartPosition::Screen => AttachMode::Snapshot,
                StartPosition::Now => AttachMode::Tail,
            },
            cursors: self.cursors(follows_input),
            size: self.size,
            window: room.clamp(1, DEFAULT_CREDIT),
            connect_timeout: self.connect_timeout,
            reconnect_timeout: remote.reconnect_timeout,
            client: remote.client.clone(),
        }
    }

    /// Returns the offset of the output at which the input continues, if both begin where they can be put in
    /// one order.
    pub(super) fn output_beside_input(&self) -> Option<u64> {
        match self.start {
            StartPosition::Start => Some(0),
            StartPosition::At { output, .. } => Some(output),
            StartPosition::Screen | StartPosition::Now => None,
        }
    }

    /// Returns the cursors of a terminal and of pipes. The session ignores streams that it does not
    /// have.
    fn cursors(&self, follows_input: bool) -> BTreeMap<StreamId, Option<u64>> {
        let (output, errors, input) = match self.start {
            StartPosition::Start => (Some(0), Some(0), Some(0)),
            StartPosition::At {
                output,
                errors,
                input,
            } => (Some(output), Some(errors), Some(input)),
            StartPosition::Screen | StartPosition::Now => (None, None, None),
        };
        if self.follows_hooks {
            return [(StreamId::HOOKS, output)].into();
        }
        let streams = [
            (StreamId::TTY, output),
            (StreamId::STDOUT, output),
            (StreamId::STDERR, errors),
        ];
        let input = follows_input.then_some((StreamId::INPUT, input));
        let control =
            (follows_input && self.follows_control).then_some((StreamId::CONTROL, Some(0)));
        streams.into_iter().chain(input).chain(control).collect()
    }
}
