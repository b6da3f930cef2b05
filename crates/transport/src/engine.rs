//! Makes sessions.

use std::sync::Arc;

use crate::output_reader::OutputReader;
use crate::session::{Terminal, TerminalSession};
use bowline_process::Configuration;
use bowline_process::LocalProcess;
use bowline_process::SessionId;
use bowline_process::SpawnError;

/// Makes terminal sessions on this machine. Holds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct TerminalEngine;

impl TerminalEngine {
    /// Starts the child and everything that serves it. Takes about a millisecond of the calling
    /// thread. Must be called inside a tokio runtime with I/O and time enabled; the session's
    /// tasks live there, and end with it.
    ///
    /// The first call makes this process ignore SIGPIPE if nothing handles it: a host that is not
    /// a Rust program would otherwise die when a child closes its input. Children get the default.
    ///
    /// # Errors
    ///
    /// A [`SpawnError`] that names what is wrong with the program, the directory, the arguments or
    /// the system. Nothing is left behind.
    pub fn make_session(
        &self,
        configuration: Configuration,
    ) -> Result<TerminalSession, SpawnError> {
        let (session, _) = self.make_tapped(configuration)?;
        Ok(session)
    }

    /// As [`make_session`](Self::make_session), for an owner that reads the streams in its own
    /// task and wants nothing between it and the descriptors.
    ///
    /// # Errors
    ///
    /// As [`make_session`](Self::make_session).
    pub fn make_tapped(
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
