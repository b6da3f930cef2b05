//! Starts sessions.

use std::sync::Arc;

use crate::output_reader::OutputReader;
use crate::session::{Terminal, TerminalSession};
use bowline_process::Configuration;
use bowline_process::LocalProcess;
use bowline_process::SessionId;
use bowline_process::SpawnError;

/// Starts terminal sessions. Has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct TerminalEngine;

impl TerminalEngine {
    /// Starts a child of this process. Takes about a millisecond of the calling thread. Must be called
    /// within a tokio runtime with I/O and time enabled, on which the session's tasks run.
    ///
    /// The first call makes this process ignore SIGPIPE and SIGXFSZ if they have no handler: a host that
    /// is not a Rust program would otherwise be killed when a child closes its input, and any host at its
    /// file size limit. Children get the default actions.
    ///
    /// # Errors
    ///
    /// A [`SpawnError`] with the problem of the program, the directory, the arguments or the system. No
    /// process, task or descriptor is left.
    pub fn make_session(
        &self,
        configuration: Configuration,
    ) -> Result<TerminalSession, SpawnError> {
        let (session, _) = self.make_session_with_reader(configuration)?;
        Ok(session)
    }

    /// As [`make_session`](Self::make_session), with an [`OutputReader`] that reads directly from the
    /// descriptors in the task of its owner.
    ///
    /// # Errors
    ///
    /// As [`make_session`](Self::make_session).
    pub fn make_session_with_reader(
        &self,
        configuration: Configuration,
    ) -> Result<(TerminalSession, OutputReader), SpawnError> {
        tokio::runtime::Handle::try_current().map_err(|_| SpawnError::NoRuntime)?;
        let id = SessionId::random();
        let (local, readers) = LocalProcess::start(id, &configuration)?;
        let terminal: Arc<dyn Terminal> = Arc::new(local);
        let readers = OutputReader::of_descriptors(readers);
        Ok((TerminalSession::new(id, terminal), readers))
    }
}
