//! Sessions made and resumed: a place first, then what must hold, then the process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_lifecycle::{Conversation, DialogueConfiguration, DialogueSession, StartError};
use bowline_shell::{ManagedId, SessionLog, SessionState, ShellConfiguration, ShellSession};
use bowline_transport::Remote;

use super::follow::{self, Expected};
use super::table::{Follower, Live, Place, Running};
use super::{ConversationLease, ManagerError, SessionInfo, SessionKind, SessionManager, Timestamp};

/// Entries of a dialogue's log: it has states and an end, and no lines.
const NO_LINES: usize = 1;

impl SessionManager {
    /// Makes a shell session.
    ///
    /// # Errors
    ///
    /// [`ManagerError::MaxSessions`], [`ManagerError::ShuttingDown`], or what kept the shell from
    /// starting. Nothing is left.
    pub async fn create_shell(
        &self,
        configuration: ShellConfiguration,
        label: impl Into<String>,
    ) -> Result<SessionInfo, ManagerError> {
        let table = &self.inner.table;
        let place = table.reserve()?;
        let id = ManagedId::random();
        let mut info = new_info(id, SessionKind::Shell, label.into(), &configuration.cwd);
        let shell = ShellSession::start_as(id, configuration, table.bell())?;
        // It was there a moment ago: the shell is in it.
        info.cwd = std::fs::canonicalize(&info.cwd).unwrap_or(info.cwd);
        self.settle_shell(place, info, shell).await
    }

    /// Makes a shell session [at a runner](ShellSession::start_at). It is ended with the others; a
    /// host that was killed finds it at the runner.
    ///
    /// # Errors
    ///
    /// As [`create_shell`](Self::create_shell), and what kept the runner from starting it.
    pub async fn create_shell_at(
        &self,
        remote: &Remote,
        configuration: ShellConfiguration,
        label: impl Into<String>,
    ) -> Result<SessionInfo, ManagerError> {
        let table = &self.inner.table;
        let place = table.reserve()?;
        let id = ManagedId::random();
        let info = new_info(id, SessionKind::Shell, label.into(), &configuration.cwd);
        let shell = ShellSession::start_at_as(id, remote, configuration, table.bell()).await?;
        self.settle_shell(place, info, shell).await
    }

    async fn settle_shell(
        &self,
        place: Place,
        info: SessionInfo,
        shell: ShellSession,
    ) -> Result<SessionInfo, ManagerError> {
        let (id, table) = (info.id, &self.inner.table);
        let log = Arc::clone(shell.log());
        let follower = tokio::spawn(follow::shell(id, Arc::clone(&log), Arc::downgrade(table)));
        let running = Running {
            live: Live::Shell(shell),
            log,
            leases: Vec::new(),
            follower: Some(Follower(follower.abort_handle())),
            ending: None,
        };
        settle(place, info, running).await
    }

    /// Makes a dialogue. One that is to resume a conversation is [verified](Self::resume) first.
    ///
    /// # Errors
    ///
    /// As [`create_shell`](Self::create_shell), and [`ManagerError::Resume`] if the conversation
    /// is not there, of another directory, in use, or, for a new one, there already.
    pub async fn create_dialogue(
        &self,
        configuration: DialogueConfiguration,
        label: impl Into<String>,
    ) -> Result<SessionInfo, ManagerError> {
        let place = self.inner.table.reserve()?;
        let cwd = configuration
            .cwd
            .clone()
            .unwrap_or_else(|| PathBuf::from("."));
        let info = new_info(
            ManagedId::random(),
            SessionKind::Dialogue,
            label.into(),
            &cwd,
        );
        self.start_dialogue(place, info, configuration).await
    }

    /// Goes on with the last conversation of a session that has ended, in its directory and under
    /// its name. The configuration says the rest; its directory and conversation do not count.
    ///
    /// Before anything is started: the directory must be there, the agent must have the conversation
    /// on disk and for this directory, and its lease must be free. Afterwards: an agent that
    /// goes on elsewhere is terminated, and the session ends with
    /// [`EndReason::NotResumed`](super::EndReason::NotResumed).
    ///
    /// # Errors
    ///
    /// [`ManagerError::Resume`] and as [`create_shell`](Self::create_shell). No conversation was
    /// begun.
    pub async fn resume(
        &self,
        id: ManagedId,
        configuration: DialogueConfiguration,
    ) -> Result<SessionInfo, ManagerError> {
        let place = self.inner.table.reserve()?;
        let before = self.get(id).ok_or(ManagerError::NotFound { id })?;
        let reason = match (&before.end, before.kind, before.conversations.last()) {
            (None, _, _) => "it has not ended",
            (_, SessionKind::Shell, _) => "it is a shell, create another one",
            (_, _, None) => "it has had no conversation yet, create another one",
            (Some(_), SessionKind::Dialogue, Some(conversation)) => {
                let configuration = DialogueConfiguration {
                    cwd: Some(before.cwd.clone()),
                    conversation: Conversation::Resume {
                        id: conversation.clone(),
                        fork: false,
                    },
                    ..configuration
                };
                let info = SessionInfo {
                    state: SessionState::Creating,
                    end: None,
                    ..before
                };
                return self.start_dialogue(place, info, configuration).await;
            }
        };
        Err(ManagerError::NotResumable { id, reason })
    }

    async fn start_dialogue(
        &self,
        place: Place,
        mut info: SessionInfo,
        mut configuration: DialogueConfiguration,
    ) -> Result<SessionInfo, ManagerError> {
        let (id, table) = (info.id, &self.inner.table);
        info.cwd = canonical(&info.cwd)?;
        let (lease, expected) = self.claim(id, &info.cwd, &mut configuration.conversation)?;
        if let Some(conversation) = &expected.conversation {
            info.conversations.retain(|known| known != conversation);
            info.conversations.push(conversation.clone());
        }
        let dialogue = DialogueSession::start(configuration).await?;
        let log = SessionLog::new(id, NO_LINES, 0, table.bell());
        let running = Running {
            live: Live::Dialogue(dialogue.clone()),
            log: Arc::clone(&log),
            leases: lease.into_iter().collect(),
            follower: None,
            ending: None,
        };
        let info = settle(place, info, running).await?;
        let follow = follow::Dialogue {
            id,
            dialogue,
            log,
            table: Arc::downgrade(table),
            leases: self.inner.leases.clone(),
            entered: expected.conversation.clone().into_iter().collect(),
            expected,
        };
        table.follow(id, Follower(tokio::spawn(follow.run()).abort_handle()));
        Ok(info)
    }

    /// What must hold before an agent may go to a conversation, and the right to it.
    fn claim(
        &self,
        id: ManagedId,
        cwd: &Path,
        conversation: &mut Conversation,
    ) -> Result<(Option<ConversationLease>, Expected), ManagerError> {
        let agent_folder = self.inner.configuration.agent_folder();
        *conversation = std::mem::take(conversation).verified(&agent_folder, cwd)?;
        let mut expected = Expected {
            cwd: cwd.to_path_buf(),
            conversation: None,
        };
        let (Conversation::Resume {
            id: wanted,
            fork: false,
        }
        | Conversation::NewAs(wanted)) = &*conversation
        else {
            // The id is not known yet; a fork only reads the other conversation.
            return Ok((None, expected));
        };
        let lease = self.inner.leases.take(wanted, id)?;
        expected.conversation = Some(wanted.clone());
        Ok((Some(lease), expected))
    }
}

/// Puts a session into its place; ends it again if the manager has closed meanwhile.
async fn settle(
    place: Place,
    info: SessionInfo,
    running: Running,
) -> Result<SessionInfo, ManagerError> {
    match place.fill(info, running) {
        Ok(info) => Ok(info),
        Err(live) => {
            live.terminate().await;
            Err(ManagerError::ShuttingDown)
        }
    }
}

fn new_info(id: ManagedId, kind: SessionKind, label: String, cwd: &Path) -> SessionInfo {
    SessionInfo {
        id,
        kind,
        label,
        cwd: cwd.to_path_buf(),
        created_at: Timestamp::now(),
        state: SessionState::Creating,
        pid: None,
        conversations: Vec::new(),
        end: None,
    }
}

/// The directory without links, as the agent will name it.
fn canonical(cwd: &Path) -> Result<PathBuf, ManagerError> {
    use bowline_transport::SpawnError;
    let path = cwd.to_path_buf();
    let found = std::fs::canonicalize(cwd);
    let error = match found {
        Ok(found) if found.is_dir() => return Ok(found),
        Ok(_) => SpawnError::CwdNotADirectory { path },
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            SpawnError::CwdDenied { path }
        }
        Err(_) => SpawnError::CwdMissing { path },
    };
    Err(StartError::from(error).into())
}
