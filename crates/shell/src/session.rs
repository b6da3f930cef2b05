//! Shell sessions: a login shell, or any program for people, on a terminal, told as lines.

mod configuration;
mod log;
mod place;
mod reader;
mod state;

use std::fmt;
use std::sync::Arc;

use bowline_transport::{
    Exit, Ladder, ResizeError, Signal, SignalError, SpawnError, Stream, TerminalEngine,
    TerminalSession, TerminationReport, WindowSize, WriteError,
};
use bytes::Bytes;
use tokio::sync::{Mutex, Notify, oneshot, watch};

use crate::ManagedId;
use crate::submit::{Activity, Submission, SubmitOptions, Typing, Typist};

pub use self::configuration::{ShellConfiguration, ShellProgram};
pub use self::log::{SessionEvent, SessionEvents, SessionExit, SessionLog};
use self::reader::{Desk, Reader};
pub use self::state::SessionState;

/// A shell session: a login shell, or any program for people, on a terminal.
///
/// A cheap handle; clones are handles of the same session. Dropping the last one kills the program
/// with all that it started; a program at a runner is let go of, and lives on.
#[derive(Clone)]
pub struct ShellSession {
    inner: Arc<Inner>,
}

struct Inner {
    id: ManagedId,
    terminal: TerminalSession,
    log: Arc<SessionLog>,
    desk: Arc<Desk>,
    activity: watch::Receiver<Activity>,
    typing: Mutex<Typing>,
    ladder: Ladder,
    /// Dropped with the last handle, which the reader is told by.
    _alive: oneshot::Sender<()>,
}

impl ShellSession {
    /// Starts the program in the configured directory. When an error comes back, nothing was
    /// started.
    ///
    /// # Errors
    ///
    /// The working directory or the program is not there or cannot be used; no other is taken in
    /// its place.
    pub fn start(configuration: ShellConfiguration) -> Result<Self, SpawnError> {
        Self::start_as(ManagedId::random(), configuration, Arc::default())
    }

    /// As [`start`](Self::start), with a name from elsewhere and a bell that rings with the log.
    pub fn start_as(
        id: ManagedId,
        configuration: ShellConfiguration,
        bell: Arc<Notify>,
    ) -> Result<Self, SpawnError> {
        let terminal = TerminalEngine.make_session(configuration.terminal())?;
        Ok(Self::begin(id, terminal, &configuration, bell))
    }

    /// Gives a terminal a reader, and both a handle.
    fn begin(
        id: ManagedId,
        terminal: TerminalSession,
        configuration: &ShellConfiguration,
        bell: Arc<Notify>,
    ) -> Self {
        let log = SessionLog::new(
            id,
            configuration.history_lines,
            configuration.history_bytes,
            bell,
        );
        let (alive, dropped) = oneshot::channel();
        let desk = Arc::new(Desk::new(configuration.line_limits()));
        let (reader, activity) = Reader::new(&terminal, configuration, &log, &desk);
        tokio::spawn(reader.run(dropped));
        let inner = Inner {
            id,
            terminal,
            log,
            desk,
            activity,
            typing: Mutex::default(),
            ladder: configuration.ladder,
            _alive: alive,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// This session's name.
    pub fn id(&self) -> ManagedId {
        self.inner.id
    }

    /// The program's process id.
    pub fn pid(&self) -> Option<u32> {
        self.inner.terminal.pid()
    }

    /// What the session is doing, derived from what is seen of it; see [`SessionState`].
    pub fn state(&self) -> SessionState {
        self.inner.log.state()
    }

    /// What the session tells from now on.
    pub fn subscribe(&self) -> SessionEvents {
        self.inner.log.subscribe()
    }

    /// What the session tells, from the oldest line kept.
    pub fn subscribe_from_start(&self) -> SessionEvents {
        self.inner.log.subscribe_from_start()
    }

    /// The line that the program has begun and not ended: a prompt, as a rule.
    pub fn partial_line(&self) -> String {
        self.inner.desk.lines().partial()
    }

    /// Types bytes as they are: keys, or `prompt + "\n"`. Waits for its turn behind a prompt that is
    /// being submitted, and until the kernel has taken every byte.
    ///
    /// # Errors
    ///
    /// [`WriteError::LineTooLong`] if the terminal collects lines and would cut one, together with
    /// what was typed before; [`WriteError::Ended`] after the end.
    pub async fn write(&self, bytes: impl Into<Bytes>) -> Result<(), WriteError> {
        let bytes = bytes.into();
        let mut typing = self.inner.typing.lock().await;
        let limit = self.inner.terminal.tty().and_then(|tty| tty.line_limit);
        if let Some(limit) = limit {
            let length = typing.longest_line(&bytes);
            if length > limit {
                return Err(WriteError::LineTooLong { length, limit });
            }
        }
        typing.typed(&bytes, limit.is_some());
        self.inner.desk.typed();
        self.inner.terminal.write(bytes).await
    }

    /// Types a prompt into whatever is in the foreground and presses Enter. See [`SubmitOptions`]
    /// and [`Submission`]; nothing is ever cut without a word.
    pub async fn submit(
        &self,
        prompt: impl AsRef<[u8]> + Send,
        options: SubmitOptions,
    ) -> Submission {
        let typist = Typist {
            terminal: &self.inner.terminal,
            activity: self.inner.activity.clone(),
            options,
            typed: 0,
        };
        self.inner.desk.typed();
        typist.submit(prompt.as_ref(), &self.inner.typing).await
    }

    /// Changes the terminal's size.
    ///
    /// # Errors
    ///
    /// [`ResizeError::Ended`] after the end.
    pub fn resize(&self, size: WindowSize) -> Result<(), ResizeError> {
        self.inner.terminal.resize(size)?;
        self.inner.desk.lines().set_columns(Some(size.cols));
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

    /// Ends the program and all that it started, at once.
    pub async fn kill(&self) -> TerminationReport {
        self.inner.terminal.terminate(Ladder::AT_ONCE).await
    }

    /// Ends the program and all that it started, step by step: hang-up, SIGTERM, SIGKILL.
    pub async fn terminate(&self) -> TerminationReport {
        self.inner.desk.ending();
        self.inner.terminal.terminate(self.inner.ladder).await
    }

    /// Waits for the program's end.
    pub async fn exited(&self) -> Exit {
        self.inner.terminal.exited().await
    }

    /// Output so far, in bytes.
    pub fn output_bytes(&self) -> u64 {
        self.inner.terminal.end(Stream::Output)
    }

    /// What the session tells, as the session itself has it.
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
