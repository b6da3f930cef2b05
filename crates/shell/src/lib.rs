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
//! The feature `remote` adds shells at a runner.
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

mod executor;
mod id;
mod line_buffer;
mod session;
mod submit;

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
