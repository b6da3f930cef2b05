//! Creating and resuming sessions: the limit is reserved first, then the conversation is checked and
//! leased, then the process is started.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_lifecycle::{Conversation, DialogueConfiguration, DialogueSession, StartError};
use bowline_shell::{ManagedId, SessionLog, SessionState, ShellConfiguration, ShellSession};

use crate::at_runner::{Remote, location, runner};
use crate::error::ManagerError;
use crate::info::{SessionInfo, SessionKind};
use crate::lease::ConversationLease;
use crate::manager::SessionManager;
use crate::monitor::{DialogueMonitor, Expected, monitor_shell};
use crate::running::{MonitorTask, Running, SessionHandle};
use crate::table::Reservation;
use crate::time::Timestamp;

/// Number of entries in a dialogue's log: it has states and an end, and no lines.
pub(super) const NO_LINES: usize = 1;

impl SessionManager {
    /// Creates a shell session.
    ///
    /// # Errors
    ///
    /// [`ManagerError::MaxSessions`], [`ManagerError::ShuttingDown`], or the error of the
    /// shell's start. Nothing is left.
    pub async fn create_shell(
        &self,
        configuration: ShellConfiguration,
        label: impl Into<String>,
    ) -> Result<SessionInfo, ManagerError> {
        let table = &self.inner.table;
        let reservation = table.reserve()?;
        let id = ManagedId::random();
        let mut info = new_info(id, SessionKind::Shell, label.into(), &configuration.cwd);
        let shell = ShellSession::start_as(id, configuration, table.notify()).await?;
        // The shell was started in it, so it exists.
        info.cwd = std::fs::canonicalize(&info.cwd).unwrap_or(info.cwd);
        self.insert_shell(reservation, info, shell, None).await
    }

    pub(super) async fn insert_shell(
        &self,
        reservation: Reservation,
        mut info: SessionInfo,
        shell: ShellSession,
        remote: Option<Remote>,
    ) -> Result<SessionInfo, ManagerError> {
        info.runner = location(remote.as_ref(), shell.terminal());
        let running = self.running_shell(info.id, shell, remote);
        self.insert(reservation, info, running).await
    }

    /// Adds a session to the table, and writes the list before its id is returned: a host that is killed finds
    /// it again.
    async fn insert(
        &self,
        reservation: Reservation,
        info: SessionInfo,
        running: Running,
    ) -> Result<SessionInfo, ManagerError> {
        let info = insert(reservation, info, running).await?;
        if let Err(error) = self.flush().await {
            tracing::warn!(%error, "a host that is killed will not find its session again");
        }
        Ok(info)
    }

    pub(super) fn running_shell(
        &self,
        id: ManagedId,
        shell: ShellSession,
        remote: Option<Remote>,
    ) -> Running {
        let log = Arc::clone(shell.log());
        let table = Arc::downgrade(&self.inner.table);
        let monitor = tokio::spawn(monitor_shell(id, Arc::clone(&log), table));
        Running {
            handle: SessionHandle::Shell(shell),
            log,
            remote,
            leases: Vec::new(),
            monitor: Some(MonitorTask::new(&monitor)),
            end_reason: None,
        }
    }

    /// Creates a dialogue. A conversation to resume is [verified](Self::resume) first.
    ///
    /// # Errors
    ///
    /// As [`create_shell`](Self::create_shell), and [`ManagerError::Resume`] if the conversation
    /// does not exist, belongs to another directory, is in use, or, for a new one, exists.
    pub async fn create_dialogue(
        &self,
        configuration: DialogueConfiguration,
        label: impl Into<String>,
    ) -> Result<SessionInfo, ManagerError> {
        let reservation = self.inner.table.reserve()?;
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
        self.start_dialogue(reservation, info, configuration).await
    }

    /// Resumes the last conversation of a session that has ended, in its directory and with its id.
    /// Directory and conversation of the configuration are ignored.
    ///
    /// Before the start, the directory must exist, the agent must have the conversation on disk for
    /// this directory, and its lease must be free. Afterwards, an agent that continues another
    /// conversation or works in another directory is terminated, and the session ends with
    /// [`EndReason::NotResumed`](crate::EndReason::NotResumed).
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
        let reservation = self.inner.table.reserve()?;
        let before = self.get(id).ok_or(ManagerError::NotFound { id })?;
        let reason = match (&before.end, before.kind, before.conversations.last()) {
            (None, _, _) => "it has not ended; end it first",
            (_, SessionKind::Shell, _) => "it is a shell; create another one",
            (_, _, None) => "it has no conversation; create another one",
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
                    runner: None,
                    end: None,
                    ..before
                };
                return self.start_dialogue(reservation, info, configuration).await;
            }
        };
        Err(ManagerError::NotResumable { id, reason })
    }

    async fn start_dialogue(
        &self,
        reservation: Reservation,
        mut info: SessionInfo,
        mut configuration: DialogueConfiguration,
    ) -> Result<SessionInfo, ManagerError> {
        let (id, table) = (info.id, &self.inner.table);
        let remote = runner(&configuration.location);
        if remote.is_some() {
            name_after(&mut configuration.name, &info.label);
        } else {
            info.cwd = canonical(&info.cwd)?;
        }
        let cwd = remote.is_none().then_some(&*info.cwd);
        let (lease, expected) =
            self.lease_conversation(id, cwd, &mut configuration.conversation)?;
        if let Some(conversation) = &expected.conversation {
            info.conversations.retain(|known| known != conversation);
            info.conversations.push(conversation.clone());
        }
        let budget = &mut configuration.shared_budget;
        budget.get_or_insert_with(|| self.inner.budget.clone());
        let dialogue = DialogueSession::start(configuration).await?;
        info.runner = location(remote.as_ref(), dialogue.id());
        let log = SessionLog::new(id, NO_LINES, 0, table.notify());
        let running = running_dialogue(&dialogue, &log, remote, lease);
        let info = self.insert(reservation, info, running).await?;
        self.monitor(id, dialogue, log, expected);
        Ok(info)
    }

    pub(super) fn monitor(
        &self,
        id: ManagedId,
        dialogue: DialogueSession,
        log: Arc<SessionLog>,
        expected: Expected,
    ) {
        let table = &self.inner.table;
        let monitor = DialogueMonitor {
            id,
            dialogue,
            log,
            table: Arc::downgrade(table),
            leases: self.inner.leases.clone(),
            entered: expected.conversation.clone().into_iter().collect(),
            expected,
        };
        let monitor = tokio::spawn(monitor.run());
        table.set_monitor(id, MonitorTask::new(&monitor));
    }

    /// Verifies a conversation of this machine, in its directory, and takes its lease.
    fn lease_conversation(
        &self,
        id: ManagedId,
        cwd: Option<&Path>,
        conversation: &mut Conversation,
    ) -> Result<(Option<ConversationLease>, Expected), ManagerError> {
        if let Some(cwd) = cwd {
            let agent_directory = self.inner.configuration.agent_directory();
            *conversation = std::mem::take(conversation).verified(&agent_directory, cwd)?;
        }
        let mut expected = Expected {
            cwd: cwd.map(Path::to_path_buf),
            conversation: None,
        };
        let (Conversation::Resume {
            id: wanted,
            fork: false,
        }
        | Conversation::NewAs(wanted)) = &*conversation
        else {
            // The id is not known so far; a fork only reads the other conversation.
            return Ok((None, expected));
        };
        let lease = self.inner.leases.take(wanted, id)?;
        expected.conversation = Some(wanted.clone());
        Ok((Some(lease), expected))
    }
}

pub(super) fn running_dialogue(
    dialogue: &DialogueSession,
    log: &Arc<SessionLog>,
    remote: Option<Remote>,
    lease: Option<ConversationLease>,
) -> Running {
    Running {
        handle: SessionHandle::Dialogue(dialogue.clone()),
        log: Arc::clone(log),
        remote,
        leases: lease.into_iter().collect(),
        monitor: None,
        end_reason: None,
    }
}

/// Adds a session to the table; terminates it if the manager has been closed in the meantime.
async fn insert(
    reservation: Reservation,
    info: SessionInfo,
    running: Running,
) -> Result<SessionInfo, ManagerError> {
    match reservation.insert(info, running) {
        Ok(info) => Ok(info),
        Err(session) => {
            session.terminate().await;
            Err(ManagerError::ShuttingDown)
        }
    }
}

/// Names a session at a runner after its label.
pub(super) fn name_after(name: &mut Option<String>, label: &str) {
    if name.is_none() && !label.is_empty() {
        *name = Some(label.to_owned());
    }
}

pub(super) fn new_info(id: ManagedId, kind: SessionKind, label: String, cwd: &Path) -> SessionInfo {
    SessionInfo {
        id,
        kind,
        label,
        cwd: cwd.to_path_buf(),
        created_at: Timestamp::now(),
        state: SessionState::Creating,
        pid: None,
        conversations: Vec::new(),
        runner: None,
        end: None,
    }
}

/// Returns the directory without symbolic links, as the agent names it.
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
