//! Shells, and any program for people on a terminal.

mod configuration;
mod events;
mod submission;

use std::sync::Arc;

use crate::core;

use crate::cancellation::{Cancellation, unless};
use crate::counters::Kind;
use crate::environment::{SignalKind, TerminalSize};
use crate::error::{BowlineError, Outcome};
use crate::events::ConnectionView;
use crate::outcome::{ExitView, TerminationView};
use crate::runtime::{Held, call, finish, wait};

pub use configuration::{ShellConfiguration, ShellProgram};
pub use events::{SessionEvent, SessionEventBatch, SessionEventStream, SessionState};
pub use submission::{Submission, SubmissionOutcome, SubmitOptions};

/// A login shell, or any program for people, on a terminal, told as lines. When the last handle is
/// gone, the program is killed with all that it started; one at a runner lives on.
#[derive(uniffi::Object)]
pub struct ShellSession {
    shell: Held<core::ShellSession>,
}

impl std::fmt::Debug for ShellSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&*self.shell, f)
    }
}

impl ShellSession {
    pub(crate) async fn start(mut configuration: ShellConfiguration) -> Outcome<Arc<Self>> {
        let runner = configuration.runner.take();
        Ok(Self::new(match runner {
            None => core::ShellSession::start(configuration.into())?,
            Some(runner) => {
                let remote = runner.try_into()?;
                core::ShellSession::start_at(&remote, configuration.into()).await?
            }
        }))
    }

    pub(crate) fn new(shell: core::ShellSession) -> Arc<Self> {
        Arc::new(Self {
            shell: Held::new(Kind::Shell, shell),
        })
    }
}

#[uniffi::export]
impl ShellSession {
    /// This session's name.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn id(&self) -> Outcome<String> {
        call(|| Ok(self.shell.id().to_string()))
    }

    /// The name of its terminal, as the registry and a runner have it: what
    /// [`Engine::attach_shell`](crate::Engine::attach_shell) asks for.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn terminal(&self) -> Outcome<String> {
        call(|| Ok(self.shell.terminal().to_string()))
    }

    /// Whether the runner is reached. A terminal of this machine always is.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn connection(&self) -> Outcome<ConnectionView> {
        call(|| Ok(self.shell.connection().borrow().clone().into()))
    }

    /// Tries again to reach a runner that was given up.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Invalid`] when nothing was given up, or it is gone for good.
    pub fn retry(&self) -> Outcome<()> {
        call(|| Ok(self.shell.retry()?))
    }

    /// Lets go of a shell that a runner keeps: the program goes on, and this session ends for all of
    /// its handles.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Invalid`] when the program is a child of this process.
    pub async fn detach(&self) -> Outcome<()> {
        let shell = self.shell.clone();
        finish(async move { Ok(shell.detach().await?) }).await
    }

    /// The program's process id.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn pid(&self) -> Outcome<Option<u32>> {
        call(|| Ok(self.shell.pid()))
    }

    /// What the session is doing.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn state(&self) -> Outcome<SessionState> {
        call(|| Ok(self.shell.state().into()))
    }

    /// The line that the program has begun and not ended: a prompt, as a rule.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn partial_line(&self) -> Outcome<String> {
        call(|| Ok(self.shell.partial_line()))
    }

    /// Output so far, in bytes.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn output_bytes(&self) -> Outcome<u64> {
        call(|| Ok(self.shell.output_bytes()))
    }

    /// What the session tells, from the oldest line kept or from now on.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    #[uniffi::method(default(from_start = true))]
    pub fn events(&self, from_start: bool) -> Outcome<Arc<SessionEventStream>> {
        call(|| {
            Ok(SessionEventStream::of(if from_start {
                self.shell.subscribe_from_start()
            } else {
                self.shell.subscribe()
            }))
        })
    }

    /// Types a text as it is, as keys: a prompt with a newline, or escape sequences.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Invalid`] if the terminal would cut a line, [`BowlineError::Ended`] after
    /// the end.
    pub async fn type_text(&self, text: String) -> Outcome<()> {
        self.type_bytes(text.into_bytes()).await
    }

    /// Types bytes as they are.
    ///
    /// # Errors
    ///
    /// As [`type_text`](Self::type_text).
    pub async fn type_bytes(&self, bytes: Vec<u8>) -> Outcome<()> {
        let shell = self.shell.clone();
        finish(async move {
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

    /// Types a prompt into whatever is in the foreground and presses Enter. Nothing is ever cut
    /// without a word.
    ///
    /// # Errors
    ///
    /// Only a fault of the library: a refusal is an outcome.
    #[uniffi::method(default(options = None))]
    pub async fn submit(
        &self,
        prompt: String,
        options: Option<SubmitOptions>,
    ) -> Outcome<Submission> {
        let shell = self.shell.clone();
        finish(async move {
            let options = options.map(Into::into).unwrap_or_default();
            Ok(shell.submit(prompt, options).await.into())
        })
        .await
    }

    /// Changes the terminal's size.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`].
    pub fn resize(&self, size: TerminalSize) -> Outcome<()> {
        call(|| {
            self.shell
                .resize(size.into())
                .map_err(|error| BowlineError::Ended {
                    reason: error.to_string(),
                })
        })
    }

    /// Sends a signal to the program in the foreground.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`].
    pub fn signal(&self, signal: SignalKind) -> Outcome<()> {
        call(|| Ok(self.shell.signal(signal.into())?))
    }

    /// Ends the program and all that it started, at once.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub async fn kill(&self) -> Outcome<TerminationView> {
        let shell = self.shell.clone();
        finish(async move { Ok(shell.kill().await.into()) }).await
    }

    /// Ends the program and all that it started, step by step.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub async fn terminate(&self) -> Outcome<TerminationView> {
        let shell = self.shell.clone();
        finish(async move { Ok(shell.terminate().await.into()) }).await
    }

    /// Waits for the program's end.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Cancelled`].
    #[uniffi::method(default(cancellation = None))]
    pub async fn exited(&self, cancellation: Option<Arc<Cancellation>>) -> Outcome<ExitView> {
        let shell = self.shell.clone();
        wait(unless(cancellation, async move {
            Ok(shell.exited().await.into())
        }))
        .await
    }
}
