//! Shell sessions at a runner.

use std::sync::Arc;

use bowline_lifecycle::{DialogueError, StartError};
use bowline_transport::{
    Attachment, Remote, SessionId, SessionRequest, TerminalEngine, wire::SessionKind,
};
use tokio::sync::Notify;

use super::{ShellConfiguration, ShellSession};
use crate::ManagedId;

impl ShellSession {
    /// Starts the program at a runner, where it outlives this process. Directories, environment and
    /// login shell are those of the runner's machine; guard and containment are the runner's.
    ///
    /// # Errors
    ///
    /// The runner cannot be reached, refuses the token or cannot start the program.
    pub async fn start_at(
        remote: &Remote,
        configuration: ShellConfiguration,
    ) -> Result<Self, StartError> {
        Self::start_at_as(ManagedId::random(), remote, configuration, Arc::default()).await
    }

    /// As [`start_at`](Self::start_at), with an id chosen by the caller. Notifies `change_notify` of
    /// every event.
    pub async fn start_at_as(
        id: ManagedId,
        remote: &Remote,
        configuration: ShellConfiguration,
        change_notify: Arc<Notify>,
    ) -> Result<Self, StartError> {
        let terminal = configuration.remote_terminal();
        let mut request = SessionRequest::new(SessionKind::Terminal, terminal);
        request.set_name(configuration.name.as_deref(), &configuration.labels)?;
        let terminal = TerminalEngine.make_remote(remote, &request).await?;
        Ok(Self::begin(id, terminal, &configuration, change_notify))
    }

    /// Attaches to a session at a runner by the id of its [`terminal`](Self::terminal). Lines begin
    /// with the oldest output that the runner has. The previous client can no longer write.
    ///
    /// The configuration of the start is ignored: the program is running.
    ///
    /// # Errors
    ///
    /// The runner cannot be reached, refuses the token or has no such session.
    pub async fn attach(
        remote: &Remote,
        session: SessionId,
        configuration: ShellConfiguration,
    ) -> Result<Self, StartError> {
        Self::attach_as(
            ManagedId::random(),
            remote,
            session,
            configuration,
            Arc::default(),
        )
        .await
    }

    /// As [`attach`](Self::attach), with an id chosen by the caller. Notifies `change_notify` of every
    /// event.
    pub async fn attach_as(
        id: ManagedId,
        remote: &Remote,
        session: SessionId,
        configuration: ShellConfiguration,
        change_notify: Arc<Notify>,
    ) -> Result<Self, StartError> {
        let attachment = Attachment {
            size: Some(configuration.size),
            ..Attachment::default()
        };
        let attached = TerminalEngine.attach_remote(remote, session, attachment);
        let terminal = attached.await?;
        Ok(Self::begin(id, terminal, &configuration, change_notify))
    }

    /// Detaches from a session at a runner: the program keeps running, and this session ends for all of
    /// its handles.
    ///
    /// # Errors
    ///
    /// The program is a child of this process.
    pub async fn detach(&self) -> Result<(), DialogueError> {
        if !self.inner.terminal.is_remote() {
            return Err(DialogueError::NotDetachable);
        }
        self.inner.shared.expect_detach();
        self.inner.terminal.detach();
        self.inner.log.ended().await;
        Ok(())
    }

    /// Returns whether this session was detached from: its program continues at the runner.
    #[must_use]
    pub fn is_detached(&self) -> bool {
        self.inner.shared.is_detached()
    }
}
