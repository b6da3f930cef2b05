//! Recording a session to a file while it runs: the agent's output alone, or all streams with their
//! offsets as a journal.

mod journal;
mod note;
mod recorder;

pub use self::journal::exit_ends;
pub(super) use self::journal::output_stream;
pub(super) use self::note::{OutputSources, RecordedOutput};
pub(super) use self::recorder::{Recorder, Recording};
