//! Creating shells at runners, and adding sessions there that are attached to.

use bowline_shell::{ManagedId, SessionLog, ShellConfiguration, ShellSession};
use bowline_transport::Remote;

use crate::create::{NO_LINES, name_after, new_info, running_dialogue};
use crate::error::ManagerError;
use crate::info::{SessionInfo, SessionKind};
use crate::manager::SessionManager;
use crate::monitor::Expected;
use crate::running::SessionHandle;

impl SessionManager {
    /// Creates a shell session [at a runner](ShellSession::start_at), which outlives the host. Its name at the
    /// runner is the label, unless the configuration has one.
    ///
    /// # Errors
    ///
    /// As [`create_shell`](Self::create_shell), and those of the runner.
    pub async fn create_shell_at(
        &self,
        remote: &Remote,
        mut configuration: ShellConfiguration,
        label: impl Into<String>,
    ) -> Result<SessionInfo, ManagerError> {
        let table = &self.inner.table;
        let reservation = table.reserve()?;
        let id = ManagedId::random();
        let info = new_info(id, SessionKind::Shell, label.into(), &configuration.cwd);
        name_after(&mut configuration.name, &info.label);
        let shell = ShellSession::start_at_as(id, remote, configuration, table.notify()).await?;
        let remote = Some(remote.clone());
        self.insert_shell(reservation, info, shell, remote).await
    }

    /// Adds the handle of a session that is in the list.
    pub(crate) async fn insert_attached(
        &self,
        info: SessionInfo,
        handle: SessionHandle,
        remote: &Remote,
    ) -> Result<(), ManagerError> {
        let (id, table, remote) = (info.id, &self.inner.table, Some(remote.clone()));
        let dialogue = match handle {
            SessionHandle::Shell(shell) => {
                let running = self.running_shell(id, shell, remote);
                return match table.attach(id, running) {
                    Ok(_) => Ok(()),
                    Err(handle) => Err(left(handle).await),
                };
            }
            SessionHandle::Dialogue(dialogue) => dialogue,
        };
        let log = SessionLog::new(id, NO_LINES, 0, table.notify());
        let running = running_dialogue(&dialogue, &log, remote, None);
        match table.attach(id, running) {
            Ok(_) => {
                self.monitor(id, dialogue, log, Expected::default());
                Ok(())
            }
            Err(handle) => Err(left(handle).await),
        }
    }
}

/// Leaves a session at its runner because the manager has been closed in the meantime.
async fn left(session: SessionHandle) -> ManagerError {
    session.detach().await;
    ManagerError::ShuttingDown
}
