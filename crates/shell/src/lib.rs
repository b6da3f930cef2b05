//! A login shell as lines, prompts typed whole, an executor that a person sees.

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
