//! Shells at a runner: what they have beside those of this machine.

use std::sync::Arc;

use bowline_lifecycle::{DialogueError, StartError};
use bowline_transport::{
    Attachment, ConnectionState, Remote, RemoteOrder, RetryError, SessionId, TerminalEngine,
    wire::SessionKind,
};
use tokio::sync::{Notify, watch};

use super::{ShellConfiguration, ShellSession};
use crate::ManagedId;

impl ShellSession {
    /// Starts the program at a runner, where it outlives this host. What the configuration says is
    /// about the runner's machine: its directories, its environment, its user's login shell; the
    /// guard and the containment are the runner's own business.
    ///
    /// # Errors
    ///
    /// The runner cannot be reached, does not let this host in or does not start the program.
    pub async fn start_at(
        remote: &Remote,
        configuration: ShellConfiguration,
    ) -> Result<Self, StartError> {
        Self::start_at_as(ManagedId::random(), remote, configuration, Arc::default()).await
    }

    /// As [`start_at`](Self::start_at), with a name from elsewhere and a bell that rings with the
    /// log.
    pub async fn start_at_as(
        id: ManagedId,
        remote: &Remote,
        configuration: ShellConfiguration,
        bell: Arc<Notify>,
    ) -> Result<Self, StartError> {
        let order = RemoteOrder::new(SessionKind::Terminal, configuration.remote_terminal());
        let terminal = TerminalEngine.make_remote(remote, &order).await?;
        Ok(Self::begin(id, terminal, &configuration, bell))
    }

    /// Goes on with a shell that a runner has kept, as after the end of the host that started it:
    /// by the name that [`terminal`](Self::terminal) gave. Lines begin with the oldest output that
    /// the runner has. Whoever typed until now is fenced.
    ///
    /// What the configuration says of the start is not looked at: the program runs.
    ///
    /// # Errors
    ///
    /// The runner cannot be reached, does not let this host in or does not have the session.
    pub async fn attach(
        remote: &Remote,
        session: SessionId,
        configuration: ShellConfiguration,
    ) -> Result<Self, StartError> {
        let attachment = Attachment {
            size: Some(configuration.size),
            ..Attachment::default()
        };
        let attached = TerminalEngine.attach_remote(remote, session, attachment);
        let terminal = attached.await?;
        let id = ManagedId::random();
        Ok(Self::begin(id, terminal, &configuration, Arc::default()))
    }

    /// The name of the session's terminal, as the registry and a runner have it.
    pub fn terminal(&self) -> SessionId {
        self.inner.terminal.id()
    }

    /// Whether the runner is reached. A terminal of this machine always is.
    pub fn connection(&self) -> watch::Receiver<ConnectionState> {
        self.inner.terminal.connection()
    }

    /// Tries again to reach a runner that was given up.
    ///
    /// # Errors
    ///
    /// Nothing was given up, or it is gone for good.
    pub fn retry(&self) -> Result<(), RetryError> {
        self.inner.terminal.retry()
    }

    /// Lets go of a shell that a runner keeps: the program goes on, and this session ends for all of
    /// its handles.
    ///
    /// # Errors
    ///
    /// The program is a child of this process and has no other keeper.
    pub async fn detach(&self) -> Result<(), DialogueError> {
        if !self.inner.terminal.is_remote() {
            return Err(DialogueError::NotDetachable);
        }
        self.inner.desk.ending();
        self.inner.terminal.detach();
        self.inner.log.ended().await;
        Ok(())
    }
}
