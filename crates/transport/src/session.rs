//! The handle that hosts hold, and the trait that every kind of session stands behind.

use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{oneshot, watch};

use crate::connection::{ConnectionState, RetryError};
use crate::screen::Screen;
use bowline_process::Containment;
use bowline_process::Signal;
use bowline_process::Tty;
use bowline_process::Vitals;
use bowline_process::WindowSize;
use bowline_process::{Drained, Exit, ExitStatus};
use bowline_process::{Ladder, TerminationReport};
use bowline_process::{LogReader, log::SharedLog};
use bowline_process::{ResizeError, SignalError, WriteError};
use bowline_process::{SessionId, Stream, WriteReceipt};
use bowline_wire::{Prompt, PromptStatus};

/// Where the child is and what its standard streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A child of this process, on pipes.
    LocalPipes,
    /// A child of this process, on a terminal.
    LocalPty,
    /// Somebody else's child, on pipes.
    RemotePipes,
    /// Somebody else's child, on a terminal.
    RemotePty,
}

/// What every kind of session can do. Nothing here waits: long things answer with a channel.
pub(crate) trait Terminal: fmt::Debug + Send + Sync {
    fn pid(&self) -> Option<u32>;
    fn kind(&self) -> Kind;
    fn containment(&self) -> Containment;
    fn log(&self, stream: Stream) -> &Arc<SharedLog>;
    fn write(&self, bytes: Bytes) -> Result<WriteReceipt, WriteError>;
    fn close_input(&self) -> Result<WriteReceipt, WriteError>;
    fn resize(&self, size: WindowSize) -> Result<(), ResizeError>;
    fn signal(&self, signal: Signal) -> Result<(), SignalError>;
    fn tty(&self) -> Option<Tty>;
    fn queued_input(&self) -> usize;
    fn exit(&self) -> watch::Receiver<Option<Exit>>;
    fn terminate(&self, ladder: Ladder) -> watch::Receiver<Option<TerminationReport>>;
    fn connection(&self) -> watch::Receiver<ConnectionState>;
    /// Tries again to reach a machine that was given up.
    fn retry(&self) -> Result<(), RetryError> {
        Err(RetryError::NotFailed)
    }
    /// The session's name is the one that its tree is marked with.
    fn vitals(&self, id: SessionId) -> Option<Vitals>;
    fn screen(&self) -> watch::Receiver<Option<Screen>> {
        watch::Sender::new(None).subscribe()
    }
    fn joined_at(&self, _: Stream) -> u64 {
        0
    }
    /// Lets go of a session that is somebody else's.
    fn detach(&self) -> bool {
        false
    }
    fn prompt(&self, _: Prompt) -> Result<oneshot::Receiver<PromptStatus>, WriteError> {
        let unsupported = io::Error::from(io::ErrorKind::Unsupported);
        Err(unsupported.into())
    }
}

/// A handle to one child and its streams. Cheap to clone. Dropping the last one kills the child's
/// whole tree without a warning, if it is a child of this process; a remote one is let go of, and
/// lives on. [`LogReader`]s keep nothing alive.
#[derive(Clone, Debug)]
pub struct TerminalSession {
    id: SessionId,
    terminal: Arc<dyn Terminal>,
}

impl TerminalSession {
    pub(crate) fn new(id: SessionId, terminal: Arc<dyn Terminal>) -> Self {
        Self { id, terminal }
    }

    /// This session's name.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The child's process id on its own machine. It may name another process once the child has
    /// ended: use [`signal`](Self::signal), which knows.
    pub fn pid(&self) -> Option<u32> {
        self.terminal.pid()
    }

    /// Where the child is and what its standard streams are.
    pub fn kind(&self) -> Kind {
        self.terminal.kind()
    }

    /// Whether the child is somebody else's.
    pub fn is_remote(&self) -> bool {
        matches!(self.kind(), Kind::RemotePipes | Kind::RemotePty)
    }

    /// How tightly the child and its descendants are held.
    pub fn containment(&self) -> Containment {
        self.terminal.containment()
    }

    /// A new reader of a stream, from the oldest byte kept: offset 0 until the log first drops
    /// some. Attach it before the child can write much, or use [`reader_at`](Self::reader_at).
    pub fn reader(&self, stream: Stream) -> LogReader {
        self.terminal.log(stream).reader()
    }

    /// A new reader of a stream from an offset. What is gone is a [`Gap`](crate::Piece::Gap)
    /// first; an offset behind the end so far is taken as the end so far. Where output blocks, no
    /// byte before the slowest reader is held: a reader that starts late gives up what came before.
    pub fn reader_at(&self, stream: Stream, offset: u64) -> LogReader {
        self.terminal.log(stream).reader_at(offset)
    }

    /// Offset behind the last byte of a stream so far. Attaches no reader.
    pub fn end(&self, stream: Stream) -> u64 {
        self.terminal.log(stream).end()
    }

    /// Sends bytes to the child's input. Resolves when the kernel has taken every one of them;
    /// that may be never while the child does not read, but the session's other functions go on
    /// working. Writes are done in the order of their first poll and never interleave.
    ///
    /// Dropping the future before its turn takes the write back; once begun, a write is finished.
    ///
    /// # Errors
    ///
    /// [`WriteError::Ended`] as soon as the child ends, [`WriteError::Closed`] after
    /// [`close_input`](Self::close_input), [`WriteError::LineTooLong`] on a cooked PTY;
    /// [`WriteError::QueueFull`], [`WriteError::Stalled`] and [`WriteError::Torn`] by the
    /// [`InputLimits`](crate::InputLimits) of the session.
    pub async fn write(&self, bytes: Bytes) -> Result<(), WriteError> {
        let receipt = self.terminal.write(bytes)?;
        receipt.await.unwrap_or(Err(WriteError::Ended))
    }

    /// Sends a prompt, once: one with an id that the session's owner has seen is not written again.
    /// Resolves when more is known of it than that it waits its turn. On another machine only, with
    /// the lease to append or to write.
    ///
    /// # Errors
    ///
    /// [`WriteError::Ended`] after the end, [`WriteError::Io`] on this machine.
    pub async fn prompt(&self, prompt: Prompt) -> Result<PromptStatus, WriteError> {
        let status = self.terminal.prompt(prompt)?;
        status.await.map_err(|_| WriteError::Ended)
    }

    /// Ends the child's input, after the writes that came before. On pipes the child reads a real
    /// end of file.
    ///
    /// # Errors
    ///
    /// [`WriteError::NoEndOfInput`] on a PTY, else as [`write`](Self::write).
    pub async fn close_input(&self) -> Result<(), WriteError> {
        let receipt = self.terminal.close_input()?;
        receipt.await.unwrap_or(Err(WriteError::Ended))
    }

    /// Changes the terminal's size; the kernel sends SIGWINCH if it differs.
    ///
    /// # Errors
    ///
    /// [`ResizeError::NotATerminal`] on pipes, [`ResizeError::Ended`] after the end.
    pub fn resize(&self, size: WindowSize) -> Result<(), ResizeError> {
        self.terminal.resize(size)
    }

    /// Sends a signal to the child's process group, on a PTY to the foreground group.
    ///
    /// # Errors
    ///
    /// [`SignalError::Ended`] after the end: never a stranger that has the same number by then.
    pub fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        self.terminal.signal(signal)
    }

    /// Bytes of writes that the kernel has not taken yet.
    pub fn queued_input(&self) -> usize {
        self.terminal.queued_input()
    }

    /// What the child's terminal is doing now; `None` on pipes and after the end.
    pub fn tty(&self) -> Option<Tty> {
        self.terminal.tty()
    }

    /// Waits for the child's end, after the last byte of both streams is in their logs. Any number
    /// of callers may wait, before or after.
    pub async fn exited(&self) -> Exit {
        let mut exit = self.terminal.exit();
        let known = exit
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|exit| *exit);
        known.unwrap_or_else(|| self.lost())
    }

    /// Ends the child and all of its descendants. Idempotent: every caller gets the same report.
    /// A later caller with a harder [`Ladder`] makes the one under way harder. Dropping the future
    /// does not stop it.
    pub async fn terminate(&self, ladder: Ladder) -> TerminationReport {
        let mut report = self.terminal.terminate(ladder);
        let known = report
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|report| report.clone());
        known.unwrap_or_else(|| TerminationReport::untouched(self.containment(), self.lost()))
    }

    /// What the session's processes have used so far: two looks tell whether something works there.
    /// Costs a look at the whole process table, some milliseconds. `None` after the end, and where
    /// the system does not tell (only Linux does).
    pub fn vitals(&self) -> Option<Vitals> {
        self.terminal.vitals(self.id)
    }

    /// Lets go of a remote session, for all of its handles: it lives on, and everything ends here as
    /// if it had ended. Nothing is done about a child of this process, and the answer is no.
    pub fn detach(&self) -> bool {
        self.terminal.detach()
    }

    /// Offset up to which a stream was there already when this host joined the session; 0 for a
    /// session that began with it. What a reader is given before is history.
    pub fn joined_at(&self, stream: Stream) -> u64 {
        self.terminal.joined_at(stream)
    }

    /// The newest screen that was sent in place of output that is gone, or that was not asked for.
    /// A reader that is told of a [`Gap`](crate::Piece::Gap) up to its offset, or begins there, shows
    /// it first. `None` on this machine, where a host has every byte.
    pub fn screen(&self) -> Option<Screen> {
        self.terminal.screen().borrow().clone()
    }

    /// The same, now and from now on: a screen that was asked for comes a moment after the session
    /// was joined, and before any byte that goes on from it. Ended from the beginning on this
    /// machine.
    pub fn screens(&self) -> watch::Receiver<Option<Screen>> {
        self.terminal.screen()
    }

    /// How the link to the child's machine stands, now and from now on.
    pub fn connection(&self) -> watch::Receiver<ConnectionState> {
        self.terminal.connection()
    }

    /// Tries once more to reach the child's machine after [`ConnectionState::Failed`]. What comes of
    /// it is told as states; the streams go on where they stopped.
    ///
    /// # Errors
    ///
    /// [`RetryError::NotFailed`] while the link is not given up, as that of a local session never
    /// is; [`RetryError::Hopeless`] for a failure that no retry mends.
    pub fn retry(&self) -> Result<(), RetryError> {
        if let ConnectionState::Failed(failed) = &*self.terminal.connection().borrow()
            && !failed.failure.can_retry()
        {
            return Err(RetryError::Hopeless {
                failure: failed.failure,
            });
        }
        self.terminal.retry()
    }

    /// The runtime that ran the session is gone, and the session went with it.
    fn lost(&self) -> Exit {
        Exit {
            status: ExitStatus::Unknown,
            oom: false,
            drained: Drained::Timeout,
            output_end: self.terminal.log(Stream::Output).end(),
            errors_end: self.terminal.log(Stream::Errors).end(),
        }
    }
}
