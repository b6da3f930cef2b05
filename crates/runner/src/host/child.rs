//! A child as its host sees it: channels, whatever is behind them.

use bowline_transport::{
    Drained, ExitStatus, Ladder, LogReader, Piece, Signal, Stream, TerminalSession, WindowSize,
    WriteError,
};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::wire::{InputRefusal, KillReport, StreamId};

/// Pieces of a stream that wait between the child and its host. The child is held back while they
/// do.
const PIECES: usize = 2;

/// The host's ends of the channels to a child.
#[derive(Debug)]
pub struct Child {
    pub(super) outputs: Vec<(StreamId, mpsc::Receiver<Piece>)>,
    pub(super) events: mpsc::UnboundedReceiver<ChildEvent>,
    pub(super) orders: mpsc::UnboundedSender<ChildOrder>,
}

/// The child's ends: what plays the child.
#[derive(Debug)]
pub struct ChildEnd {
    /// Where each stream goes; a stream ends when its sender is dropped. A piece is what follows
    /// the one before, or the gap in between.
    pub outputs: Vec<(StreamId, mpsc::Sender<Piece>)>,
    /// Where everything else goes.
    pub events: mpsc::UnboundedSender<ChildEvent>,
    /// What the child is to do. Closed when the session is over.
    pub orders: mpsc::UnboundedReceiver<ChildOrder>,
}

/// What a child has done.
#[derive(Debug)]
pub enum ChildEvent {
    /// It has taken what it was last ordered to take, or has not.
    Written(Result<(), InputRefusal>),
    /// What came of an order to kill.
    Killed(KillReport),
    /// It has ended. Its streams have ended before, or do as soon as they are read.
    Exited {
        /// What it left to its parent.
        status: ExitStatus,
        /// Whether that was for want of memory.
        oom: bool,
        /// Whether its streams came to their own end.
        drained: Drained,
    },
}

/// What a child is to do.
#[derive(Debug)]
pub enum ChildOrder {
    /// Take bytes. Answered by [`ChildEvent::Written`].
    Write(Bytes),
    /// Take the end of its input. Answered the same.
    CloseInput,
    /// Have another size.
    Resize(WindowSize),
    /// Take a signal.
    Signal(Signal),
    /// End, and everything that came of it. Answered by [`ChildEvent::Killed`].
    Kill(Ladder),
}

impl Child {
    /// The ends of channels for a child with these streams.
    pub fn channels(streams: impl IntoIterator<Item = StreamId>) -> (Self, ChildEnd) {
        let (event, events) = mpsc::unbounded_channel();
        let (order, orders) = mpsc::unbounded_channel();
        let (mut outputs, mut sources) = (Vec::new(), Vec::new());
        for stream in streams {
            let (source, output) = mpsc::channel(PIECES);
            outputs.push((stream, output));
            sources.push((stream, source));
        }
        let child = Self {
            outputs,
            events,
            orders: order,
        };
        let end = ChildEnd {
            outputs: sources,
            events: event,
            orders,
        };
        (child, end)
    }

    /// The child of a terminal session. When the host lets go of it, the session goes too.
    pub fn of(session: TerminalSession, on_terminal: bool) -> Self {
        let streams = if on_terminal {
            vec![StreamId::TTY]
        } else {
            vec![StreamId::STDOUT, StreamId::STDERR]
        };
        let (child, end) = Self::channels(streams);
        for (id, source) in end.outputs {
            let stream = if id == StreamId::STDERR {
                Stream::Errors
            } else {
                Stream::Output
            };
            tokio::spawn(forward(session.reader(stream), source));
        }
        tokio::spawn(exited(session.clone(), end.events.clone()));
        tokio::spawn(obey(session, end.orders, end.events));
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

async fn exited(session: TerminalSession, events: mpsc::UnboundedSender<ChildEvent>) {
    let exit = tokio::select! {
        exit = session.exited() => exit,
        // The host is gone: so must the last handle be.
        () = events.closed() => return,
    };
    let _ = events.send(ChildEvent::Exited {
        status: exit.status,
        oom: exit.oom,
        drained: exit.drained,
    });
}

/// Orders are begun one after the other; none waits for another to be done.
async fn obey(
    session: TerminalSession,
    mut orders: mpsc::UnboundedReceiver<ChildOrder>,
    events: mpsc::UnboundedSender<ChildEvent>,
) {
    while let Some(order) = orders.recv().await {
        let (session, events) = (session.clone(), events.clone());
        match order {
            ChildOrder::Write(bytes) => {
                tokio::spawn(async move { written(session.write(bytes).await, &events) });
            }
            ChildOrder::CloseInput => {
                tokio::spawn(async move { written(session.close_input().await, &events) });
            }
            ChildOrder::Resize(size) => {
                if let Err(error) = session.resize(size) {
                    tracing::debug!(%error, "the size was not changed");
                }
            }
            ChildOrder::Signal(signal) => {
                if let Err(error) = session.signal(signal) {
                    tracing::debug!(%error, "the signal was not sent");
                }
            }
            ChildOrder::Kill(ladder) => {
                tokio::spawn(async move {
                    let report = session.terminate(ladder).await;
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

fn written(outcome: Result<(), WriteError>, events: &mpsc::UnboundedSender<ChildEvent>) {
    let refusal = |error| match error {
        WriteError::Ended => InputRefusal::Ended,
        WriteError::Closed => InputRefusal::Closed,
        WriteError::NoEndOfInput => InputRefusal::NoEndOfInput,
        WriteError::LineTooLong { length, limit } => InputRefusal::LineTooLong { length, limit },
        other => InputRefusal::Failed {
            detail: other.to_string(),
        },
    };
    let _ = events.send(ChildEvent::Written(outcome.map_err(refusal)));
}
