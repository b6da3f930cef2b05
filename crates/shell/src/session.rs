//! Shell sessions: a login shell or another interactive program on a PTY, reported as lines.

mod configuration;
mod log;
mod reader;
#[cfg(feature = "remote")]
mod remote;
mod state;

use std::fmt;
use std::sync::Arc;

use bowline_lifecycle::RawOutput;
use bowline_transport::{
    ConnectionState, ConnectionStates, Exit, ResizeError, RetryError, SessionId, Signal,
    SignalError, SpawnError, Stream, TerminalEngine, TerminalSession, TerminationPolicy,
    TerminationReport, WindowSize, WriteError,
};
use bytes::Bytes;
use tokio::sync::{Mutex, Notify, oneshot, watch};
use tracing::field::Empty;
use tracing::{Instrument as _, info_span};

use crate::ManagedId;
use crate::submit::{Activity, PasteWriter, Submission, SubmitOptions, TypingState};

pub use self::configuration::{ShellConfiguration, ShellProgram};
pub use self::log::{SessionEvent, SessionEvents, SessionExit, SessionLog};
use self::reader::{Reader, Shared};
pub use self::state::SessionState;

/// A shell session: a login shell or another interactive program on a PTY.
///
/// This is a cheap handle; clones refer to the same session. Dropping the last one kills the program
/// and its descendants; a program at a runner is detached and keeps running.
#[derive(Clone)]
pub struct ShellSession {
    inner: Arc<Inner>,
}

struct Inner {
    id: ManagedId,
    terminal: TerminalSession,
    log: Arc<SessionLog>,
    shared: Arc<Shared>,
    activity: watch::Receiver<Activity>,
    typing: Mutex<TypingState>,
    termination: TerminationPolicy,
    /// Closes with the last handle, which ends the reader.
    _alive: oneshot::Sender<()>,
}

impl ShellSession {
    /// Starts the program in the configured directory. On an error nothing is left running.
    ///
    /// # Errors
    ///
    /// The working directory or the program does not exist or cannot be used. There is no fallback.
    pub async fn start(configuration: ShellConfiguration) -> Result<Self, SpawnError> {
        Self::start_as(ManagedId::random(), configuration, Arc::default()).await
    }

    /// As [`start`](Self::start), with an id chosen by the caller. Notifies `change_notify` of every
    /// event.
    pub async fn start_as(
        id: ManagedId,
        configuration: ShellConfiguration,
        change_notify: Arc<Notify>,
    ) -> Result<Self, SpawnError> {
        let terminal = TerminalEngine.make_session(configuration.terminal().await)?;
        Ok(Self::begin(id, terminal, &configuration, change_notify))
    }

    /// Spawns the reader of a terminal and returns a handle.
    fn begin(
        id: ManagedId,
        terminal: TerminalSession,
        configuration: &ShellConfiguration,
        change_notify: Arc<Notify>,
    ) -> Self {
        let log = SessionLog::new(
            id,
            configuration.history_lines,
            configuration.history_bytes,
            change_notify,
        );
        let (alive, dropped) = oneshot::channel();
        let shared = Arc::new(Shared::new(configuration.line_limits()));
        let (reader, activity) = Reader::new(&terminal, configuration, &log, &shared);
        let span = info_span!(
            "shell",
            session.id = %terminal.id(),
            bowline.managed.id = %id,
            process.pid = terminal.pid(),
            process.exit.code = Empty,
        );
        tokio::spawn(reader.run(dropped).instrument(span));
        let inner = Inner {
            id,
            terminal,
            log,
            shared,
            activity,
            typing: Mutex::default(),
            termination: configuration.termination,
            _alive: alive,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the session's id.
    pub fn id(&self) -> ManagedId {
        self.inner.id
    }

    /// Returns the program's process id.
    pub fn pid(&self) -> Option<u32> {
        self.inner.terminal.pid()
    }

    /// Returns the id of the terminal, as the registry and the runner list it.
    pub fn terminal(&self) -> SessionId {
        self.inner.terminal.id()
    }

    /// Returns the state of the connection to the runner; a local terminal is always connected.
    pub fn connection(&self) -> watch::Receiver<ConnectionState> {
        self.inner.terminal.connection()
    }

    /// Returns the states of that connection from the current one on, until the program has exited.
    pub fn connection_states(&self) -> ConnectionStates {
        self.inner.terminal.connection_states()
    }

    /// Returns the bytes of the terminal's output from an offset on: 0 for the beginning, or
    /// [`output_bytes`](Self::output_bytes) for what comes. What is no longer kept is a gap. The stream does
    /// not hold the program back, nor keep the session alive.
    pub fn raw_output(&self, from: u64) -> RawOutput {
        RawOutput::of_terminal(&self.inner.terminal, Stream::Output, from)
    }

    /// Reconnects after the connection was given up.
    ///
    /// # Errors
    ///
    /// The connection was not given up, or the session is gone.
    pub fn retry(&self) -> Result<(), RetryError> {
        self.inner.terminal.retry()
    }

    /// Returns the state, which is derived from the output and the foreground process.
    pub fn state(&self) -> SessionState {
        self.inner.log.state()
    }

    /// Returns a reader of the events from now on.
    pub fn subscribe(&self) -> SessionEvents {
        self.inner.log.subscribe()
    }

    /// Returns a reader that begins with the oldest line kept.
    pub fn subscribe_from_start(&self) -> SessionEvents {
        self.inner.log.subscribe_from_start()
    }

    /// Returns the unfinished line, such as the prompt of the shell.
    pub fn partial_line(&self) -> String {
        self.inner.shared.lines().partial()
    }

    /// Writes raw bytes to the terminal: keys, or a line with `\n`. Waits while a prompt is being
    /// submitted, and until the kernel has accepted every byte.
    ///
    /// Dropping the future while it waits for earlier input writes nothing; a write that has begun is
    /// completed.
    ///
    /// # Errors
    ///
    /// [`WriteError::LineTooLong`] if the terminal is in canonical mode and would truncate a line
    /// (termios(3)); [`WriteError::Ended`] after the end.
    pub async fn write(&self, bytes: impl Into<Bytes>) -> Result<(), WriteError> {
        let bytes = bytes.into();
        let mut typing = self.inner.typing.lock().await;
        typing.settle().await;
        let limit = self
            .inner
            .terminal
            .terminal_state()
            .and_then(|tty| tty.line_limit);
        if let Some(limit) = limit {
            let length = typing.longest_line(&bytes);
            if length > limit {
                return Err(WriteError::LineTooLong { length, limit });
            }
        }
        self.inner.shared.notify_typed();
        let collects_lines = limit.is_some();
        typing
            .write(&self.inner.terminal, bytes, collects_lines)
            .await
    }

    /// Types a prompt into the program in the foreground and presses Enter. The outcome is in the
    /// [`Submission`]; a prompt is never truncated silently.
    pub async fn submit(
        &self,
        prompt: impl AsRef<[u8]> + Send,
        options: SubmitOptions,
    ) -> Submission {
        let writer = PasteWriter {
            terminal: &self.inner.terminal,
            activity: self.inner.activity.clone(),
            options,
            typed: 0,
        };
        self.inner.shared.notify_typed();
        writer.submit(prompt.as_ref(), &self.inner.typing).await
    }

    /// Resizes the terminal.
    ///
    /// # Errors
    ///
    /// [`ResizeError::Ended`] after the end.
    pub fn resize(&self, size: WindowSize) -> Result<(), ResizeError> {
        self.inner.terminal.resize(size)?;
        self.inner.shared.lines().set_columns(Some(size.cols));
        Ok(())
    }

    /// Sends a signal to the program in the foreground.
    ///
    /// # Errors
    ///
    /// [`SignalError::Ended`] after the end.
    pub fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        self.inner.terminal.signal(signal)
    }

    /// Kills the program and its descendants at once.
    pub async fn kill(&self) -> TerminationReport {
        self.inner
            .terminal
            .terminate(TerminationPolicy::AT_ONCE)
            .await
    }

    /// Ends the program and its descendants by the configured policy: hang-up, SIGTERM, SIGKILL.
    pub async fn terminate(&self) -> TerminationReport {
        self.inner.shared.expect_end();
        self.inner.terminal.terminate(self.inner.termination).await
    }

    /// Waits until the program has exited. Cancel safe.
    pub async fn exited(&self) -> Exit {
        self.inner.terminal.exited().await
    }

    /// Returns the number of bytes of output so far.
    pub fn output_bytes(&self) -> u64 {
        self.inner.terminal.end(Stream::Output)
    }

    /// Returns the session's event log.
    pub fn log(&self) -> &Arc<SessionLog> {
        &self.inner.log
    }
}

impl fmt::Debug for ShellSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellSession")
            .field("id", &self.inner.id)
            .field("pid", &self.pid())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
