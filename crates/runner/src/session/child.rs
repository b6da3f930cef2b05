//! The child as its session sees it: channels, so that a test can play the process.

use bowline_transport::{
    Drained, ExitStatus, LogReader, Piece, Signal, Stream, TerminalSession, TerminationPolicy,
    WindowSize, WriteError,
};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::wire::{InputRefusal, KillReport, StreamId};

/// Pieces of a stream that are queued between the child and its session. A full queue blocks the
/// child's output.
const MAX_QUEUED_PIECES: usize = 2;

/// The session's ends of the channels to a child.
#[derive(Debug)]
pub struct Child {
    pub(super) outputs: Vec<(StreamId, mpsc::Receiver<Piece>)>,
    pub(super) events: mpsc::UnboundedReceiver<ChildEvent>,
    pub(super) commands: mpsc::UnboundedSender<ChildCommand>,
}

/// The child's ends of the channels, held by what implements the child.
#[derive(Debug)]
pub struct ChildPeer {
    /// A sender per stream; dropping it ends the stream. Pieces are contiguous, or gaps between them.
    pub outputs: Vec<(StreamId, mpsc::Sender<Piece>)>,
    /// Everything that is not output.
    pub events: mpsc::UnboundedSender<ChildEvent>,
    /// Commands for the child; closed when the session is over.
    pub commands: mpsc::UnboundedReceiver<ChildCommand>,
}

/// An event of the child.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChildEvent {
    /// Result of the last [`Write`](ChildCommand::Write) or [`CloseInput`](ChildCommand::CloseInput).
    Written(Result<(), InputRefusal>),
    /// Result of a [`Kill`](ChildCommand::Kill).
    Killed(KillReport),
    /// The child ended. Its streams have ended before, or end as soon as they are read.
    Exited {
        /// Its exit status.
        status: ExitStatus,
        /// Whether the kernel killed it for lack of memory.
        oom: bool,
        /// Whether its streams were read to their end.
        drained: Drained,
    },
}

/// A command for the child.
#[derive(Debug)]
pub enum ChildCommand {
    /// Write bytes to its input. Replied to with [`ChildEvent::Written`].
    Write(Bytes),
    /// Close its input. Replied to with [`ChildEvent::Written`].
    CloseInput,
    /// Resize its terminal.
    Resize(WindowSize),
    /// Send it a signal.
    Signal(Signal),
    /// Terminate its process tree. Replied to with [`ChildEvent::Killed`].
    Kill(TerminationPolicy),
}

impl Child {
    /// Creates the channels of a child with these streams.
    pub fn channels(streams: impl IntoIterator<Item = StreamId>) -> (Self, ChildPeer) {
        let (event, events) = mpsc::unbounded_channel();
        let (command, commands) = mpsc::unbounded_channel();
        let (mut outputs, mut senders) = (Vec::new(), Vec::new());
        for stream in streams {
            let (sender, output) = mpsc::channel(MAX_QUEUED_PIECES);
            outputs.push((stream, output));
            senders.push((stream, sender));
        }
        let child = Self {
            outputs,
            events,
            commands: command,
        };
        let peer = ChildPeer {
            outputs: senders,
            events: event,
            commands,
        };
        (child, peer)
    }

    /// Connects to the child of a terminal session, which is ended when this is dropped.
    pub fn of(session: TerminalSession, on_terminal: bool) -> Self {
        let streams = if on_terminal {
            vec![StreamId::TTY]
        } else {
            vec![StreamId::STDOUT, StreamId::STDERR]
        };
        let (child, peer) = Self::channels(streams);
        for (id, sender) in peer.outputs {
            let stream = if id == StreamId::STDERR {
                Stream::Errors
            } else {
                Stream::Output
            };
            tokio::spawn(forward(session.reader(stream), sender));
        }
        tokio::spawn(report_exit(session.clone(), peer.events.clone()));
        tokio::spawn(run_commands(session, peer.commands, peer.events));
        child
    }
}

async fn forward(mut reader: LogReader, to: mpsc::Sender<Piece>) {
    while let Some(piece) = reader.next().await {
        if to.send(piece).await.is_err() {
            return;
        }
    }
}

async fn report_exit(session: TerminalSession, events: mpsc::UnboundedSender<ChildEvent>) {
    let exit = tokio::select! {
        exit = session.exited() => exit,
        // The session is over: drop this handle too.
        () = events.closed() => return,
    };
    let _ = events.send(ChildEvent::Exited {
        status: exit.status,
        oom: exit.oom,
        drained: exit.drained,
    });
}

/// Starts commands in order; none waits for another one to complete.
async fn run_commands(
    session: TerminalSession,
    mut commands: mpsc::UnboundedReceiver<ChildCommand>,
    events: mpsc::UnboundedSender<ChildEvent>,
) {
    while let Some(command) = commands.recv().await {
        let (session, events) = (session.clone(), events.clone());
        match command {
            ChildCommand::Write(bytes) => {
                tokio::spawn(async move { report_written(session.write(bytes).await, &events) });
            }
            ChildCommand::CloseInput => {
                tokio::spawn(async move { report_written(session.close_input().await, &events) });
            }
            ChildCommand::Resize(size) => {
                if let Err(error) = session.resize(size) {
                    tracing::debug!(%error, "terminal could not be resized");
                }
            }
            ChildCommand::Signal(signal) => {
                if let Err(error) = session.signal(signal) {
                    tracing::debug!(%error, "signal could not be sent");
                }
            }
            ChildCommand::Kill(policy) => {
                tokio::spawn(async move {
                    let report = session.terminate(policy).await;
                    let report = KillReport {
                        killed: report.killed,
                        survivors: report.survivors,
                        level: report.level,
                        took: report.took,
                    };
                    let _ = events.send(ChildEvent::Killed(report));
                });
            }
        }
    }
}

fn report_written(result: Result<(), WriteError>, events: &mpsc::UnboundedSender<ChildEvent>) {
    let refusal = |error| match error {
        WriteError::Ended => InputRefusal::Ended,
        WriteError::Closed => InputRefusal::Closed,
        WriteError::NoEndOfInput => InputRefusal::NoEndOfInput,
        WriteError::LineTooLong { length, limit } => InputRefusal::LineTooLong { length, limit },
        other => InputRefusal::Failed {
            detail: other.to_string(),
        },
    };
    let _ = events.send(ChildEvent::Written(result.map_err(refusal)));
}
