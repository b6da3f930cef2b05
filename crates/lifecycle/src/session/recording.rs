//! Recording a session to a file while it runs: the agent's output alone, or all streams with their
//! offsets as a journal.

mod journal;
mod kept_input;
mod note;
mod recorder;
mod session_log;

pub use self::journal::exit_ends;
pub(super) use self::journal::{exit_line, output_stream};
pub(super) use self::note::RecordedOutput;
pub(super) use self::recorder::Recorder;
pub(super) use self::session_log::{OutputSources, SessionLog};
