//! What is read of a session.

use bowline_journal::Arrived;
use bowline_process::{Piece, Stream};

/// What an [`OutputReader`](crate::OutputReader) has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The next piece of the output. Its arrival is known if the runner reports it.
    Output(Arrived),
    /// The next piece of what all hosts wrote to the child, at its place in the output. Only of a child at a
    /// runner that reports it ([`TerminalSession::input_at_attach`](crate::TerminalSession::input_at_attach)).
    Input(Arrived),
    /// The next piece of the control stream: what the hosts of the session want
    /// (`Attachment::follows_control`). It comes after the output before its
    /// place, and may come later than at its place.
    Control(Arrived),
    /// The next piece of standard error.
    Errors(Piece),
    /// The stream has ended.
    Ended(Stream),
}
