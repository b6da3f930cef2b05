//! Shells and other interactive programs on a terminal.

mod configuration;
mod events;
mod submission;

use std::sync::Arc;

use crate::cancellation::{Cancellation, cancellable};
use crate::core;
use crate::counters::ObjectKind;
use crate::environment::{SignalKind, TerminalSize};
use crate::error::{BowlineError, Result};
use crate::events::{ConnectionStream, ConnectionView};
use crate::outcome::{ExitView, TerminationView};
use crate::raw_output::RawStream;
#[cfg(not(feature = "full"))]
use crate::remote::absent::AttachShell as _;
use crate::runtime::{abortable, call, uncancelled};
use crate::started::SessionHandle;

pub use configuration::{ShellConfiguration, ShellProgram};
pub use events::{SessionEvent, SessionEventBatch, SessionEventStream, SessionState};
pub use submission::{Submission, SubmissionOutcome, SubmitOptions};

/// A login shell or another interactive program on a terminal, read as lines.
///
/// Releasing the last handle kills a child process of the host and its descendants. From a program at a
/// runner it detaches: the program continues, and can be attached to again.
///
/// A shell that was started and not used, since no function of it was called, is terminated in both cases:
/// the host does not know its id. Call `detach` to leave a new program at its runner.
#[derive(uniffi::Object)]
pub struct ShellSession {
    shell: SessionHandle<core::ShellSession>,
}

impl std::fmt::Debug for ShellSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.shell.unused(), f)
    }
}

impl ShellSession {
    pub(crate) async fn start(mut configuration: ShellConfiguration) -> Result<Arc<Self>> {
        let runner = configuration.runner.take();
        let shell = match runner {
            None => core::ShellSession::start(configuration.try_into()?).await?,
            Some(runner) => {
                let remote = runner.try_into()?;
                core::ShellSession::start_at(&remote, configuration.try_into()?).await?
            }
        };
        Ok(Arc::new(Self {
            shell: SessionHandle::started(ObjectKind::Shell, shell),
        }))
    }

    /// Returns another handle of a shell that the host knows.
    pub(crate) fn known(shell: core::ShellSession) -> Arc<Self> {
        Arc::new(Self {
            shell: SessionHandle::known(ObjectKind::Shell, shell),
        })
    }
}

#[uniffi::export]
impl ShellSession {
    /// Returns the session's id.
    pub fn id(&self) -> Result<String> {
        call(|| Ok(self.shell.used().id().to_string()))
    }

    /// Returns the id of the session's terminal, which `Engine.attachShell` and `Engine.terminals`
    /// use.
    pub fn terminal(&self) -> Result<String> {
        call(|| Ok(self.shell.used().terminal().to_string()))
    }

    /// Returns the state of the connection to the runner. A local shell is always connected.
    pub fn connection(&self) -> Result<ConnectionView> {
        call(|| Ok(self.shell.used().connection().borrow().clone().into()))
    }

    /// Returns a stream of the states of that connection, from the current one until the program's exit.
    pub fn connection_stream(&self) -> Result<Arc<ConnectionStream>> {
        call(|| Ok(ConnectionStream::new(self.shell.used().connection_states())))
    }

    /// Tries again to restore a connection that has failed.
    ///
    /// # Errors
    ///
    /// `Invalid` if the connection has not failed, or cannot be restored.
    pub fn retry(&self) -> Result<()> {
        call(|| Ok(self.shell.used().retry()?))
    }

    /// Detaches from a shell at a runner: the session ends for all of its handles, the program keeps
    /// running.
    ///
    /// # Errors
    ///
    /// `Invalid` if the program is a child process of the host.
    pub async fn detach(&self) -> Result<()> {
        let shell = self.shell.used().clone();
        uncancelled(async move { Ok(shell.detach().await?) }).await
    }

    /// Returns the program's process id on the machine it runs on.
    pub fn pid(&self) -> Result<Option<u32>> {
        call(|| Ok(self.shell.used().pid()))
    }

    /// Returns the session's state.
    pub fn state(&self) -> Result<SessionState> {
        call(|| Ok(self.shell.used().state().into()))
    }

    /// Returns the last line if it has no line ending yet, usually the shell's prompt.
    pub fn partial_line(&self) -> Result<String> {
        call(|| Ok(self.shell.used().partial_line()))
    }

    /// Returns the number of output bytes so far.
    pub fn output_bytes(&self) -> Result<u64> {
        call(|| Ok(self.shell.used().output_bytes()))
    }

    /// Returns a stream of the bytes of the terminal's output. The newest megabyte is kept; earlier bytes are
    /// a gap.
    pub fn raw_stream(&self) -> Result<Arc<RawStream>> {
        call(|| Ok(RawStream::new(self.shell.used().raw_output(0))))
    }

    /// Returns a stream of the session's events, from the oldest line that is kept or from now on.
    #[uniffi::method(default(from_start = true))]
    pub fn event_stream(&self, from_start: bool) -> Result<Arc<SessionEventStream>> {
        call(|| {
            Ok(SessionEventStream::new(if from_start {
                self.shell.used().subscribe_from_start()
            } else {
                self.shell.used().subscribe()
            }))
        })
    }

    /// Writes text to the terminal as typed input. It may contain newlines and escape sequences.
    ///
    /// # Errors
    ///
    /// `Invalid` if the terminal would truncate a line; `Ended` if the program has ended.
    pub async fn type_text(&self, text: String) -> Result<()> {
        self.type_bytes(text.into_bytes()).await
    }

    /// Writes bytes to the terminal as typed input.
    ///
    /// # Errors
    ///
    /// As `typeText`.
    pub async fn type_bytes(&self, bytes: Vec<u8>) -> Result<()> {
        let shell = self.shell.used().clone();
        uncancelled(async move {
            shell.write(bytes).await.map_err(|error| {
                let reason = error.to_string();
                if shell.state() == core::SessionState::Terminated {
                    BowlineError::Ended { reason }
                } else {
                    BowlineError::Invalid { reason }
                }
            })
        })
        .await
    }

    /// Pastes a prompt into the program in the foreground and presses Enter.
    ///
    /// The result states whether the program read it. Text is never truncated silently.
    #[uniffi::method(default(options = None))]
    pub async fn submit(
        &self,
        prompt: String,
        options: Option<SubmitOptions>,
    ) -> Result<Submission> {
        let shell = self.shell.used().clone();
        uncancelled(async move {
            let options = options.map(Into::into).unwrap_or_default();
            Ok(shell.submit(prompt, options).await.into())
        })
        .await
    }

    /// Changes the terminal's size.
    ///
    /// # Errors
    ///
    /// `Ended` if the program has ended.
    pub fn resize(&self, size: TerminalSize) -> Result<()> {
        call(|| {
            let resized = self.shell.used().resize(size.into());
            resized.map_err(|error| BowlineError::Ended {
                reason: error.to_string(),
            })
        })
    }

    /// Sends a signal to the program in the foreground.
    ///
    /// # Errors
    ///
    /// `Ended` if the program has ended.
    pub fn signal(&self, signal: SignalKind) -> Result<()> {
        call(|| Ok(self.shell.used().signal(signal.into())?))
    }

    /// Kills the program and its descendants at once.
    pub async fn kill(&self) -> Result<TerminationView> {
        let shell = self.shell.used().clone();
        uncancelled(async move { Ok(shell.kill().await.into()) }).await
    }

    /// Terminates the program and its descendants as the configuration's `termination` describes.
    pub async fn terminate(&self) -> Result<TerminationView> {
        let shell = self.shell.used().clone();
        uncancelled(async move { Ok(shell.terminate().await.into()) }).await
    }

    /// Waits for the program's exit. Does not end it.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `cancellation` is cancelled. The program keeps running.
    #[uniffi::method(default(cancellation = None))]
    pub async fn wait_for_exit(&self, cancellation: Option<Arc<Cancellation>>) -> Result<ExitView> {
        let shell = self.shell.used().clone();
        abortable(cancellable(cancellation, async move {
            Ok(shell.exited().await.into())
        }))
        .await
    }
}
