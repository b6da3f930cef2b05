//! What goes into the machine and what comes out of it.

use std::time::Duration;

use bytes::Bytes;

use crate::screen::Screen;

use super::outbound::Unwritten;
use crate::connection::{ConnectionState, ReconnectFailure};
use bowline_process::Ladder;
use bowline_process::Signal;
use bowline_process::WindowSize;
use bowline_wire::{
    Attached, ExitNotice, Frame, KillReport, Message, Prompt, PromptStatus, StreamId,
};

/// Names a write, an end of input or a prompt to whoever waits for it.
pub(crate) type Ticket = u64;

/// Numbers connections, so that what is said of an old one is known as such.
pub(crate) type Connection = u64;

/// What happens.
#[derive(Debug)]
pub(crate) enum Input {
    /// The first connection is wanted.
    Start,
    /// A connection is there, and its token was taken.
    Opened(Connection),
    /// A message has come.
    Frame(Connection, Frame),
    /// A connection could not be made, or has ended.
    Broken(Connection, Breakage),
    /// There is place for so many bytes of a stream.
    Room(StreamId, u64),
    Write(Bytes, Ticket),
    Close(Ticket),
    Prompt(Prompt, Ticket),
    Resize(WindowSize),
    Signal(Signal),
    Kill(Ladder),
    /// This machine has slept, or its network is another one.
    Woke,
    /// The host wants another try.
    Retry,
    /// The host lets go.
    Detach,
    Timeout,
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breakage {
    /// What kind of trouble it is.
    pub(crate) failure: ReconnectFailure,
    /// In words.
    pub(crate) detail: String,
    /// How long the other side wants to be left alone.
    pub(crate) after: Option<Duration>,
}

impl Breakage {
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

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Let go of any connection there is and make one. After a refusal, with a fresh token.
    Connect {
        connection: Connection,
        is_refused: bool,
    },
    /// Let go of the connection: what was said on it before is still to go out, if it can.
    Disconnect,
    /// Say something on the connection.
    Send(Frame),
    /// The owner has answered an attach.
    Attached(Box<Attached>),
    /// The stream begins here for us.
    Begin(StreamId, u64),
    /// The next bytes of a stream, and whether others have answered them.
    Deliver {
        stream: StreamId,
        bytes: Bytes,
        is_replay: bool,
    },
    /// Bytes of a stream are lost.
    Gap {
        stream: StreamId,
        from: u64,
        to: u64,
    },
    /// A screen that stands for all output before an offset.
    Screen(Screen),
    /// No byte comes any more.
    End(StreamId),
    /// What came of a write or an end of input.
    Written(Ticket, Result<(), Unwritten>),
    /// What came of a prompt.
    Prompted(Ticket, PromptStatus),
    /// How the link stands.
    State(ConnectionState),
    /// How the child ended; `None` if that cannot be known any more.
    Exited(Option<ExitNotice>),
    /// The child was ended: nobody is to hold its output back any more.
    Hurry,
    /// What came of a kill; `None` if that cannot be known.
    Killed(Option<KillReport>, Duration),
    /// Nothing is left to do.
    Over,
}

/// What the machine keeps saying to the owner.
pub(super) fn frame(generation: u64, message: Message) -> Output {
    Output::Send(Frame::new(generation, message))
}
