//! Text that a host keeps with a session, such as its title, its order or a draft.

use bowline_shell::ManagedId;
use tokio::task::spawn_blocking;

use crate::at_runner::store_metadata;
use crate::error::ManagerError;
use crate::manager::SessionManager;
use crate::metadata_files::{path, write};

/// Maximum size of a session's text, in bytes.
const MAX_METADATA: usize = 64 << 10;
// Runners take the same.
#[cfg(feature = "remote")]
const _: () = assert!(MAX_METADATA == bowline_transport::MAX_METADATA);

impl SessionManager {
    /// Returns the text that the host has stored with a session.
    ///
    /// # Errors
    ///
    /// [`ManagerError::NotFound`], or [`ManagerError::State`] if it cannot be read.
    pub async fn metadata(&self, id: ManagedId) -> Result<Option<String>, ManagerError> {
        self.get(id).ok_or(ManagerError::NotFound { id })?;
        let path = path(&self.inner.configuration.state_directory, id);
        let read = spawn_blocking(move || match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(ManagerError::state("read", path)),
        });
        joined(read.await)
    }

    /// Stores text with a session, of the host's own format and at most 64 KiB; `None` removes it. It is kept
    /// over restarts of the host, and on disk when this returns.
    ///
    /// That of a session at a runner is stored there as well, where other hosts can read it, if the manager is
    /// attached to the session.
    ///
    /// # Errors
    ///
    /// [`ManagerError::NotFound`], [`ManagerError::MetadataTooLarge`], or [`ManagerError::State`] if it cannot
    /// be written: nothing has changed then. [`ManagerError::Runner`] if only the runner does not have it.
    pub async fn set_metadata(
        &self,
        id: ManagedId,
        metadata: Option<String>,
    ) -> Result<(), ManagerError> {
        let bytes = metadata.as_ref().map_or(0, String::len);
        if bytes > MAX_METADATA {
            let limit = MAX_METADATA;
            return Err(ManagerError::MetadataTooLarge { bytes, limit });
        }
        let place = self.inner.table.runner_of(id)?;
        // Two writers of one session do not overtake each other, here and at the runner.
        let _one = self.inner.metadata.lock().await;
        let state = self.inner.configuration.state_directory.clone();
        let text = metadata.clone();
        joined(spawn_blocking(move || write(&state, id, text.as_deref())).await)?;
        match place {
            Some((remote, session)) => store_metadata(&remote, session, metadata).await,
            None => Ok(()),
        }
    }
}

fn joined<T>(
    done: Result<Result<T, ManagerError>, tokio::task::JoinError>,
) -> Result<T, ManagerError> {
    done.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}
