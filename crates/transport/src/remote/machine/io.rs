//! Inputs and outputs of the state machine.

use std::time::Duration;

use bytes::Bytes;

use crate::screen::Screen;

use crate::connection::{ConnectionState, ReconnectFailure};
use bowline_journal::Arrival;
use bowline_process::Signal;
use bowline_process::TerminationPolicy;
use bowline_process::WindowSize;
use bowline_wire::{
    Attached, ExitNotice, Frame, InputRefusal, KillReport, Message, Prompt, PromptStatus, StreamId,
};

/// Identifies a pending write, end of input or prompt.
pub(crate) type Ticket = u64;

/// Number of a connection. Inputs of an old connection are ignored.
pub(crate) type Connection = u64;

/// An event for the state machine.
#[derive(Debug)]
pub(crate) enum Input {
    /// Makes the first connection.
    Start,
    /// A connection is open and authenticated.
    Opened(Connection),
    /// A frame was received.
    Frame(Connection, Frame),
    /// A connection could not be made or has ended.
    Broken(Connection, LinkError),
    /// The log of a stream has this much free space, in bytes.
    Room(StreamId, u64),
    Write(Bytes, Ticket),
    Close(Ticket),
    Prompt(Prompt, Ticket),
    Resize(WindowSize),
    Signal(Signal),
    Kill(TerminationPolicy),
    /// This machine was suspended, or its network changed.
    Woke,
    /// Retries a failed link.
    Retry,
    /// Detaches from the session.
    Detach,
    Timeout,
}

/// The reason why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkError {
    /// The kind of failure.
    pub(crate) failure: ReconnectFailure,
    /// The reason and the remedy, as text.
    pub(crate) detail: String,
    /// The minimum delay before the next attempt, as requested by the runner.
    pub(crate) after: Option<Duration>,
}

impl LinkError {
    pub(crate) fn lost(detail: impl Into<String>) -> Self {
        Self::new(ReconnectFailure::Lost, detail)
    }

    pub(crate) fn new(failure: ReconnectFailure, detail: impl Into<String>) -> Self {
        Self {
            failure,
            detail: detail.into(),
            after: None,
        }
    }
}

/// The reason why a write failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WriteFailure {
    /// The session refused it.
    Refused(InputRefusal),
    /// Another host held the lease in between, so it is unknown whether the input was written.
    Unconfirmed,
}

/// An effect for the caller to execute.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Drop the connection and make a new one, with another token after a refusal.
    Connect {
        connection: Connection,
        is_refused: bool,
    },
    /// Drop the connection after sending what is queued, if possible.
    Disconnect,
    /// Send a frame.
    Send(Frame),
    /// The session has accepted an attach.
    Attached(Box<Attached>),
    /// The stream begins at this offset.
    Begin(StreamId, u64),
    /// The next bytes of a stream, when and where they arrived, and whether they are a replay of earlier
    /// output.
    Deliver {
        stream: StreamId,
        bytes: Bytes,
        arrival: Arrival,
        is_replay: bool,
    },
    /// Bytes of a stream are lost.
    Gap {
        stream: StreamId,
        from: u64,
        to: u64,
    },
    /// A screen that replaces all output before its offset.
    Screen(Screen),
    /// The stream has ended.
    End(StreamId),
    /// The result of a write or an end of input.
    Written(Ticket, Result<(), WriteFailure>),
    /// The result of a prompt.
    Prompted(Ticket, PromptStatus),
    /// The state of the link has changed.
    State(ConnectionState),
    /// The exit of the child; `None` if it can no longer be determined.
    Exited(Option<ExitNotice>),
    /// The child was killed: readers must no longer block its output.
    Hurry,
    /// The result of a kill and its duration; `None` if it cannot be determined.
    Killed(Option<KillReport>, Duration),
    /// The machine has finished.
    Over,
}

/// Returns the output that sends a message.
pub(super) fn frame(generation: u64, message: Message) -> Output {
    Output::Send(Frame::new(generation, message))
}
