//! A login shell as lines of output, prompts submitted as one paste, and an executor that runs an agent
//! in a visible terminal.
//!
//! * [`ShellSession`] runs a login shell, or any interactive program, on a PTY, and reports its output
//!   as lines with colours. [`submit`](ShellSession::submit) types a prompt into the program in the
//!   foreground as one bracketed paste and reports the outcome.
//! * [`TerminalExecutor`] runs an agent in a terminal that the user sees, and reports how the command
//!   ended from two pieces of evidence: the exit of the process and its `SessionEnd` hook.
//! * [`LineBuffer`] turns the bytes of any terminal into lines.
//!
//! The feature `remote` adds shells at a runner. The feature `executor`, a default one, adds agents in a terminal.
//!
//! # Example
//!
//! ```no_run
//! use bowline_shell::{SessionEvent, ShellConfiguration, ShellSession, SubmitOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let shell = ShellSession::start(ShellConfiguration::new("/tmp")).await?;
//! let mut events = shell.subscribe_from_start();
//! shell.submit("uname -a", SubmitOptions::default()).await;
//! while let Some(event) = events.next().await {
//!     if let SessionEvent::Output { line, .. } = event {
//!         println!("{line}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Examples
//!
//! | example | types |
//! |---|---|
//! | [Example](#example) | [`ShellSession`], [`ShellConfiguration`], [`SessionEvent`], [`SessionEvents`], [`SubmitOptions`] |
//! | [Outcomes](#outcomes) | [`ShellProgram`], [`Submission`], [`SubmitOutcome`], [`Refusal`], [`Stripped`], [`SessionState`], [`SessionExit`] |
//! | [An agent in a terminal](#an-agent-in-a-terminal) | [`TerminalExecutor`], [`ExecutorConfiguration`], [`ExecutorCommand`], [`ExecutorError`], [`ExecutorReport`], [`CommandResult`], [`Evidence`], [`PtyTerminal`] |
//! | [A terminal of the host](#a-terminal-of-the-host) | [`VisibleTerminal`], [`TerminalCommand`], [`TerminalRun`], [`TerminalOutput`], [`TerminalError`], [`TerminalFuture`] |
//! | [Lines](#lines) | [`LineBuffer`], [`LineLimits`], [`Line`], [`SessionLog`], [`ManagedId`], [`NotAnId`] |
//!
//! ## Outcomes
//!
//! ```no_run
//! use bowline_shell::{
//!     Refusal, SessionState, ShellConfiguration, ShellProgram, ShellSession, SubmitOptions, SubmitOutcome,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let program = ShellProgram::Command("python3".into(), vec!["-i".into()]);
//! let shell = ShellSession::start(ShellConfiguration { program, ..ShellConfiguration::new("/tmp") }).await?;
//! let submission = shell.submit("print(6 * 7)", SubmitOptions::default()).await;
//! if submission.stripped.is_any() {
//!     println!("control characters were removed");
//! }
//! match submission.outcome {
//!     SubmitOutcome::Submitted | SubmitOutcome::TypedUnverified => {}
//!     SubmitOutcome::Refused(Refusal::NeedsPaste) => println!("one line at a time"),
//!     SubmitOutcome::Refused(why) => println!("{why}"),
//!     _ => {}
//! }
//! if shell.state() == SessionState::Terminated {
//!     println!("exit code {:?}", shell.log().exit().and_then(|exit| exit.code));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## An agent in a terminal
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use bowline_shell::{Evidence, ExecutorCommand, ExecutorConfiguration, PtyTerminal, TerminalExecutor};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let terminal = Arc::new(PtyTerminal::default());
//! let executor = TerminalExecutor::start(ExecutorConfiguration::new("session-7"), terminal).await?;
//! let result = executor.execute(ExecutorCommand::new("run-1", "Fix the failing test")).await?;
//! if result.evidence != Evidence::Complete {
//!     println!("missing: {:?}", result.evidence.missing());
//! }
//! println!("{:?}, to resume: {:?}", result.exit_code, result.conversation);
//! println!("{} hooks", executor.cleanup().await.hooks.events);
//! # Ok(())
//! # }
//! ```
//!
//! ## A terminal of the host
//!
//! ```
//! use bowline_lifecycle::Shell;
//! use bowline_shell::{
//!     TerminalCommand, TerminalError, TerminalFuture, TerminalOutput, TerminalRun, VisibleTerminal,
//! };
//!
//! /// Types commands into the tabs of an application.
//! #[derive(Debug)]
//! struct Tabs;
//!
//! struct Tab;
//!
//! impl VisibleTerminal for Tabs {
//!     fn start(
//!         &self,
//!         command: TerminalCommand,
//!     ) -> TerminalFuture<'_, Result<Box<dyn TerminalRun>, TerminalError>> {
//!         Box::pin(async move {
//!             let line = command.line(Shell::Sh);
//!             // … opens a tab and types the line.
//!             # drop(line);
//!             Ok(Box::new(Tab) as Box<dyn TerminalRun>)
//!         })
//!     }
//!
//!     fn cleanup<'a>(&'a self, _session: &'a str) -> TerminalFuture<'a, ()> {
//!         Box::pin(async {})
//!     }
//! }
//!
//! impl TerminalRun for Tab {
//!     fn ended(&mut self) -> TerminalFuture<'_, Result<TerminalOutput, TerminalError>> {
//!         Box::pin(std::future::pending())
//!     }
//!
//!     fn end(self: Box<Self>) -> TerminalFuture<'static, TerminalOutput> {
//!         Box::pin(async { TerminalOutput::default() })
//!     }
//! }
//! ```
//!
//! ## Lines
//!
//! ```
//! use bowline_shell::{LineBuffer, LineLimits, ManagedId};
//!
//! let mut buffer = LineBuffer::new(LineLimits { max_line: 5, columns: Some(80) });
//! let mut lines = Vec::new();
//! buffer.push(b"short\nlonger\n", |line| lines.push((line.text, line.cut)));
//! assert_eq!((lines[0].1, lines[1].1), (0, 1));
//!
//! let id = ManagedId::random();
//! assert_eq!(id.to_string().parse(), Ok(id));
//! assert!("seven".parse::<ManagedId>().is_err());
//! ```

#[cfg(feature = "executor")]
mod executor;
mod id;
mod line_buffer;
mod session;
mod submit;

#[cfg(feature = "executor")]
pub use executor::{
    CommandResult, Evidence, ExecutorCommand, ExecutorConfiguration, ExecutorError, ExecutorReport,
    PtyTerminal, TerminalCommand, TerminalError, TerminalExecutor, TerminalFuture, TerminalOutput,
    TerminalRun, VisibleTerminal,
};
pub use id::{ManagedId, NotAnId};
pub use line_buffer::{Line, LineBuffer, LineLimits};
pub use session::{
    SessionEvent, SessionEvents, SessionExit, SessionLog, SessionState, ShellConfiguration,
    ShellProgram, ShellSession,
};
pub use submit::{Refusal, Stripped, Submission, SubmitOptions, SubmitOutcome};
