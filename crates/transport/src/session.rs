//! The handle of a terminal session, and the trait that local and remote sessions implement.

use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{oneshot, watch};

use crate::connection::{ConnectionState, RetryError};
use crate::connection_states::ConnectionStates;
use crate::screen::Screen;
use bowline_process::Containment;
use bowline_process::ResourceUsage;
use bowline_process::Signal;
use bowline_process::TerminalState;
use bowline_process::WindowSize;
use bowline_process::{Drained, Exit, ExitStatus};
use bowline_process::{LogReader, log::SharedLog};
use bowline_process::{ResizeError, SignalError, WriteError};
use bowline_process::{SessionId, Stream, WriteReceipt};
use bowline_process::{TerminationPolicy, TerminationReport};
use bowline_wire::{Prompt, PromptStatus};

/// Where the child runs and the type of its standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A child of this process, on pipes.
    LocalPipes,
    /// A child of this process, on a terminal.
    LocalPty,
    /// A child at a runner, on pipes.
    RemotePipes,
    /// A child at a runner, on a terminal.
    RemotePty,
}

/// The operations of local and remote sessions. None blocks: long operations return a channel.
pub(crate) trait Terminal: fmt::Debug + Send + Sync {
    fn pid(&self) -> Option<u32>;
    fn kind(&self) -> Kind;
    fn containment(&self) -> Containment;
    fn log(&self, stream: Stream) -> &Arc<SharedLog>;
    fn write(&self, bytes: Bytes) -> Result<WriteReceipt, WriteError>;
    fn close_input(&self) -> Result<WriteReceipt, WriteError>;
    fn resize(&self, size: WindowSize) -> Result<(), ResizeError>;
    fn signal(&self, signal: Signal) -> Result<(), SignalError>;
    fn terminal_state(&self) -> Option<TerminalState>;
    fn queued_input(&self) -> usize;
    fn exit(&self) -> watch::Receiver<Option<Exit>>;
    fn terminate(&self, policy: TerminationPolicy) -> watch::Receiver<Option<TerminationReport>>;
    fn connection(&self) -> watch::Receiver<ConnectionState>;
    fn connection_states(&self) -> ConnectionStates {
        ConnectionStates::of_local(self.exit())
    }
    /// Reconnects after the link was given up.
    fn retry(&self) -> Result<(), RetryError> {
        Err(RetryError::NotFailed)
    }
    /// `id` is the session's id, with which its processes are marked.
    fn resource_usage(&self, id: SessionId) -> Option<ResourceUsage>;
    fn screen(&self) -> watch::Receiver<Option<Screen>> {
        watch::Sender::new(None).subscribe()
    }
    fn joined_at(&self, _: Stream) -> u64 {
        0
    }
    fn input_at_attach(&self) -> Option<u64> {
        None
    }
    fn control_at_attach(&self) -> Option<u64> {
        None
    }
    fn hooks_at_attach(&self) -> Option<u64> {
        None
    }
    /// Whether lines are written with [`prompt`](Self::prompt).
    fn writes_by_id(&self) -> bool {
        false
    }
    /// Detaches from a remote session.
    fn detach(&self) -> bool {
        false
    }
    fn prompt(&self, _: Prompt) -> Result<oneshot::Receiver<PromptStatus>, WriteError> {
        let unsupported = io::Error::from(io::ErrorKind::Unsupported);
        Err(unsupported.into())
    }
}

/// A handle to one child and its streams. Cheap to clone.
///
/// Dropping the last handle of a local session kills the child and its descendants at once. Dropping the
/// last handle of a remote session detaches, and the session continues. [`LogReader`]s do not keep a
/// session alive.
#[derive(Clone, Debug)]
pub struct TerminalSession {
    id: SessionId,
    terminal: Arc<dyn Terminal>,
}

impl TerminalSession {
    pub(crate) fn new(id: SessionId, terminal: Arc<dyn Terminal>) -> Self {
        Self { id, terminal }
    }

    /// Returns the session's id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Returns the child's process id on its machine. The number may be reused once the child has exited;
    /// use [`signal`](Self::signal), which checks.
    pub fn pid(&self) -> Option<u32> {
        self.terminal.pid()
    }

    /// Where the child runs and the type of its standard streams.
    pub fn kind(&self) -> Kind {
        self.terminal.kind()
    }

    /// Returns whether the child runs at a runner.
    pub fn is_remote(&self) -> bool {
        matches!(self.kind(), Kind::RemotePipes | Kind::RemotePty)
    }

    /// Returns the containment of the child and its descendants.
    pub fn containment(&self) -> Containment {
        self.terminal.containment()
    }

    /// Returns a reader of a stream at the oldest byte kept, which is offset 0 until the log drops bytes.
    /// To read at a known offset, see [`reader_at`](Self::reader_at).
    pub fn reader(&self, stream: Stream) -> LogReader {
        self.terminal.log(stream).reader()
    }

    /// Returns a reader of a stream at an offset. Bytes that are no longer kept come as a
    /// [`Gap`](crate::Piece::Gap) first; an offset past the current end is the current end. Where output
    /// blocks, bytes before the slowest reader are not kept.
    pub fn reader_at(&self, stream: Stream, offset: u64) -> LogReader {
        self.terminal.log(stream).reader_at(offset)
    }

    /// Returns a reader of a stream at an offset that never holds the child back: bytes that are dropped
    /// before it reads them come as a [`Gap`](crate::Piece::Gap), as do those that are no longer kept. An
    /// offset past the current end is the current end.
    pub fn observer_at(&self, stream: Stream, offset: u64) -> LogReader {
        self.terminal.log(stream).observer_at(offset)
    }

    /// Returns the offset past the last byte of a stream so far, without attaching a reader.
    pub fn end(&self, stream: Stream) -> u64 {
        self.terminal.log(stream).end()
    }

    /// Writes bytes to the child's input. Resolves when the kernel has accepted all of them, which may be
    /// never if the child does not read; other operations are not affected. Writes are performed in the
    /// order of their first poll and do not interleave.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws a write that has not begun. A write that has begun is completed.
    ///
    /// # Errors
    ///
    /// [`WriteError::Ended`] once the child has exited, [`WriteError::Closed`] after
    /// [`close_input`](Self::close_input), [`WriteError::LineTooLong`] on a cooked PTY;
    /// [`WriteError::QueueFull`], [`WriteError::Stalled`] and [`WriteError::Torn`] by the
    /// [`InputLimits`](crate::InputLimits) of the session.
    pub async fn write(&self, bytes: Bytes) -> Result<(), WriteError> {
        let receipt = self.terminal.write(bytes)?;
        receipt.await.unwrap_or(Err(WriteError::Ended))
    }

    /// Sends a prompt that is written at most once: a prompt with a known id is not written again. Resolves
    /// when the prompt has left the queue. Remote sessions only, with an append or write lease.
    ///
    /// # Errors
    ///
    /// [`WriteError::Ended`] after the end, [`WriteError::Io`] for a local session, and for a prompt that does
    /// not [fit](Prompt::fits) a message.
    pub async fn prompt(&self, prompt: Prompt) -> Result<PromptStatus, WriteError> {
        let status = self.terminal.prompt(prompt)?;
        status.await.map_err(|_| WriteError::Ended)
    }

    /// Closes the child's input after all queued writes. The child reads end of file.
    ///
    /// # Errors
    ///
    /// [`WriteError::NoEndOfInput`] on a PTY, otherwise as [`write`](Self::write).
    pub async fn close_input(&self) -> Result<(), WriteError> {
        let receipt = self.terminal.close_input()?;
        receipt.await.unwrap_or(Err(WriteError::Ended))
    }

    /// Sets the terminal's size; the kernel sends SIGWINCH if it differs.
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
    /// [`SignalError::Ended`] after the end. A process that reuses the number is not signalled.
    pub fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        self.terminal.signal(signal)
    }

    /// Returns the number of queued input bytes that the kernel has not accepted yet.
    pub fn queued_input(&self) -> usize {
        self.terminal.queued_input()
    }

    /// Returns the state of the child's terminal; `None` on pipes and after the end.
    pub fn terminal_state(&self) -> Option<TerminalState> {
        self.terminal.terminal_state()
    }

    /// Waits until the child has exited and all of its output is in the logs. May be called any number of
    /// times. Cancel safe.
    pub async fn exited(&self) -> Exit {
        let mut exit = self.terminal.exit();
        let known = exit
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|exit| *exit);
        known.unwrap_or_else(|| self.lost())
    }

    /// Terminates the child and all of its descendants. Idempotent: every caller gets the same report. A
    /// later call with shorter grace periods shortens those of the termination in progress. Dropping the
    /// future does not stop it.
    pub async fn terminate(&self, policy: TerminationPolicy) -> TerminationReport {
        let mut report = self.terminal.terminate(policy);
        let known = report
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|report| report.clone());
        known.unwrap_or_else(|| TerminationReport::untouched(self.containment(), self.lost()))
    }

    /// Returns the resource usage of the session's processes so far. Scans the process table, which takes
    /// some milliseconds. `None` after the end, and on systems other than Linux.
    pub fn resource_usage(&self) -> Option<ResourceUsage> {
        self.terminal.resource_usage(self.id)
    }

    /// Returns whether this host writes with [`prompt`](Self::prompt) only, since it has the append lease of a
    /// remote session.
    pub fn writes_by_id(&self) -> bool {
        self.terminal.writes_by_id()
    }

    /// Detaches all handles from a remote session, which continues at the runner. Its streams and waits end
    /// in this process as they do at the end of the session. Returns `false` for a local session, which is
    /// not affected.
    pub fn detach(&self) -> bool {
        self.terminal.detach()
    }

    /// Returns the offset of a stream at which this host attached; 0 for a session that it started. Earlier
    /// bytes are history.
    pub fn joined_at(&self, stream: Stream) -> u64 {
        self.terminal.joined_at(stream)
    }

    /// Returns the offset of the input at which this host attached, if the session's
    /// [`OutputReader`](crate::OutputReader) also receives the input of all hosts. `None` for a local session,
    /// for a child on a terminal, and at a runner that does not record input.
    pub fn input_at_attach(&self) -> Option<u64> {
        self.terminal.input_at_attach()
    }

    /// Returns the offset of the control stream at which this host attached, if the session's
    /// [`OutputReader`](crate::OutputReader) also receives that stream.
    pub fn control_at_attach(&self) -> Option<u64> {
        self.terminal.control_at_attach()
    }

    /// Returns the end of the stream of hooks when this host attached, if the session serves hooks.
    pub fn hooks_at_attach(&self) -> Option<u64> {
        self.terminal.hooks_at_attach()
    }

    /// Returns the newest screen that a runner sent in place of output that it no longer has. A reader
    /// that receives a [`Gap`](crate::Piece::Gap) up to its offset, or starts there, draws it first. `None`
    /// for local sessions.
    pub fn screen(&self) -> Option<Screen> {
        self.terminal.screen().borrow().clone()
    }

    /// Returns a watch of the newest [`screen`](Self::screen). A requested screen arrives after the attach
    /// and before the bytes that continue from it. Closed for local sessions.
    pub fn screens(&self) -> watch::Receiver<Option<Screen>> {
        self.terminal.screen()
    }

    /// Returns a watch of the state of the link to the child's machine.
    pub fn connection(&self) -> watch::Receiver<ConnectionState> {
        self.terminal.connection()
    }

    /// Returns the states of the link from the current one on, none of which is skipped as in a watch.
    pub fn connection_states(&self) -> ConnectionStates {
        self.terminal.connection_states()
    }

    /// Tries to reconnect after [`ConnectionState::Failed`]. The result is a new state; the streams continue
    /// where they stopped.
    ///
    /// # Errors
    ///
    /// [`RetryError::NotFailed`] while the link has not failed; [`RetryError::Hopeless`] for a failure that a
    /// retry cannot resolve.
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

    /// Returns the exit of a session whose runtime was dropped.
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
