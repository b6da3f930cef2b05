//! Shells, and any program for people on a terminal.

use std::sync::Arc;
use std::time::Duration;

use bowline_lifecycle as core;

use crate::cancellation::{Cancellation, unless};
use crate::configuration::size;
use crate::counters::Kind;
use crate::environment::{EndLadder, EnvironmentChanges, SignalKind, TerminalSize};
use crate::error::{BowlineError, Outcome};
use crate::events::ConnectionView;
use crate::feed::{Events, event_stream};
use crate::mirror::mirror;
use crate::outcome::{ExitView, TerminationView};
use crate::remote::RunnerConfiguration;
use crate::runtime::{Held, call, finish, wait};

/// What a shell session is made from.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ShellConfiguration {
    /// The program's working directory; it must exist.
    pub cwd: String,
    /// The runner that the program runs at; this machine when absent. At a runner it outlives this
    /// host, and what is said here of directories, environment and shells is about its machine.
    #[uniffi(default = None)]
    pub runner: Option<RunnerConfiguration>,
    /// What is run; the user's login shell when absent.
    #[uniffi(default = None)]
    pub program: Option<ShellProgram>,
    /// Changes of the host's environment for the program.
    #[uniffi(default = None)]
    pub environment: Option<EnvironmentChanges>,
    /// The terminal's size; 24 rows of 80 columns when absent.
    #[uniffi(default = None)]
    pub size: Option<TerminalSize>,
    /// How long the output must be quiet for the session to be idle, in milliseconds.
    #[uniffi(default = 1000)]
    pub idle_after_ms: u64,
    /// Longest line that is handed over, in characters.
    #[uniffi(default = 65536)]
    pub max_line: u64,
    /// Lines that are kept for readers.
    #[uniffi(default = 1000)]
    pub history_lines: u64,
    /// Bytes of lines that are kept for readers.
    #[uniffi(default = 262144)]
    pub history_bytes: u64,
    /// How hard the session is ended.
    #[uniffi(default = None)]
    pub ladder: Option<EndLadder>,
    /// A program that ends the session's processes if the host is killed: `bowline`, as a path. The
    /// engine's when absent.
    #[uniffi(default = None)]
    pub guard: Option<String>,
}

/// What a shell session runs.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ShellProgram {
    /// The login shell of the user, with `-l`.
    Login,
    /// A shell of the host's choice, with `-l`.
    LoginWith {
        /// Its path.
        shell: String,
    },
    /// A program and its arguments.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
    },
}

impl From<ShellConfiguration> for core::ShellConfiguration {
    fn from(it: ShellConfiguration) -> Self {
        let program = match it.program {
            None | Some(ShellProgram::Login) => core::ShellProgram::Login,
            Some(ShellProgram::LoginWith { shell }) => core::ShellProgram::LoginWith(shell.into()),
            Some(ShellProgram::Command { program, args }) => core::ShellProgram::Command(
                program.into(),
                args.into_iter().map(Into::into).collect(),
            ),
        };
        Self {
            program,
            env: it.environment.unwrap_or_default().into(),
            size: it.size.map(Into::into).unwrap_or_default(),
            idle_after: Duration::from_millis(it.idle_after_ms),
            max_line: size(it.max_line),
            history_lines: size(it.history_lines),
            history_bytes: size(it.history_bytes),
            ladder: it.ladder.map(Into::into).unwrap_or_default(),
            guard: it.guard.map(Into::into),
            ..Self::new(it.cwd)
        }
    }
}

mirror! {
    /// What a session is doing. Nobody sets it: it follows from what is seen.
    SessionState = core::SessionState, else Active {
        /// Its program runs, and neither has said a word nor been sent one.
        Creating,
        /// It works.
        Active,
        /// It waits for somebody to type.
        Idle,
        /// Its program has ended.
        Terminated,
    }
}

/// How a prompt is submitted to a program on a terminal.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct SubmitOptions {
    /// Refuse a prompt with control characters instead of leaving them out.
    #[uniffi(default = false)]
    pub refuse_controls: bool,
    /// How long the program may take to ask for bracketed paste, in milliseconds.
    #[uniffi(default = 5000)]
    pub ready_within_ms: u64,
    /// How long the output must be quiet between the text and the Enter, in milliseconds.
    #[uniffi(default = 150)]
    pub settle_ms: u64,
    /// How long the program may go without reading, in milliseconds.
    #[uniffi(default = 10000)]
    pub read_within_ms: u64,
    /// How long to look for evidence that the Enter was read, in milliseconds.
    #[uniffi(default = 2000)]
    pub verify_within_ms: u64,
}

impl From<SubmitOptions> for core::SubmitOptions {
    fn from(it: SubmitOptions) -> Self {
        Self {
            refuse_controls: it.refuse_controls,
            ready_within: Duration::from_millis(it.ready_within_ms),
            settle: Duration::from_millis(it.settle_ms),
            read_within: Duration::from_millis(it.read_within_ms),
            verify_within: Duration::from_millis(it.verify_within_ms),
        }
    }
}

/// What became of a prompt that was typed.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Submission {
    /// What became of it.
    pub outcome: SubmissionOutcome,
    /// Characters that were left out, marks of a paste among them.
    pub left_out: u64,
    /// Bytes that were typed.
    pub typed: u64,
}

/// What became of a prompt that was submitted.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SubmissionOutcome {
    /// All of it and the Enter were read by the program, and output came after the Enter.
    Submitted,
    /// All of it and the Enter were typed, and there is no sign that the program has read them.
    TypedUnverified,
    /// It was not submitted, or not to its end.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
}

impl From<core::Submission> for Submission {
    fn from(it: core::Submission) -> Self {
        Self {
            outcome: match it.outcome {
                core::SubmitOutcome::Submitted => SubmissionOutcome::Submitted,
                core::SubmitOutcome::Refused(refusal) => SubmissionOutcome::Refused {
                    reason: refusal.to_string(),
                },
                _ => SubmissionOutcome::TypedUnverified,
            },
            left_out: it.stripped.paste_marks + it.stripped.controls,
            typed: it.typed,
        }
    }
}

/// Something that a session tells.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SessionEvent {
    /// A line of a shell session.
    Output {
        /// The session.
        session: String,
        /// The line without its end, with its colours.
        line: String,
    },
    /// Output was overwritten before lines were made of it.
    Gap {
        /// The session.
        session: String,
        /// How many bytes are missing here.
        bytes: u64,
    },
    /// This reader was too slow.
    Lagged {
        /// The session.
        session: String,
        /// How many lines it has missed here.
        lines: u64,
    },
    /// Sessions came and went before this reader looked.
    Missed {
        /// How many.
        sessions: u64,
    },
    /// The session is in another state.
    State {
        /// The session.
        session: String,
        /// The state now.
        state: SessionState,
    },
    /// The session has ended. The last event.
    Exit {
        /// The session.
        session: String,
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// Something that this version does not know.
    Other {
        /// In the library's own words.
        text: String,
    },
}

impl From<core::SessionEvent> for SessionEvent {
    fn from(event: core::SessionEvent) -> Self {
        use core::SessionEvent as Core;
        match event {
            Core::Output { session, line, .. } => Self::Output {
                session: session.to_string(),
                line,
            },
            Core::Gap { session, bytes } => Self::Gap {
                session: session.to_string(),
                bytes,
            },
            Core::Lagged { session, lines } => Self::Lagged {
                session: session.to_string(),
                lines,
            },
            Core::Missed { sessions } => Self::Missed { sessions },
            Core::State { session, state } => Self::State {
                session: session.to_string(),
                state: state.into(),
            },
            Core::Exit { session, exit } => Self::Exit {
                session: session.to_string(),
                code: exit.code,
                signal: exit.signal,
            },
            other => Self::Other {
                text: format!("{other:?}"),
            },
        }
    }
}

event_stream! {
    /// What a shell tells, or all sessions of a manager.
    SessionEventStream;
    /// Events in their order.
    SessionEventBatch { /// The events.
        SessionEvent };
    Source
}

pub(crate) enum Source {
    One(core::SessionEvents),
    All(core::ManagerEvents),
}

impl From<core::SessionEvents> for Source {
    fn from(events: core::SessionEvents) -> Self {
        Self::One(events)
    }
}

impl From<core::ManagerEvents> for Source {
    fn from(events: core::ManagerEvents) -> Self {
        Self::All(events)
    }
}

impl Events for Source {
    type Event = SessionEvent;

    async fn next(&mut self) -> Option<SessionEvent> {
        let event = match self {
            Self::One(events) => events.next().await,
            Self::All(events) => events.next().await,
        };
        event.map(Into::into)
    }
}

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
