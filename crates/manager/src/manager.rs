//! The session manager.

use std::sync::Arc;

use bowline_jsonl::Prompt;
use bowline_lifecycle::{DialogueSession, Receipt, SharedBudget};
use bowline_shell::{ManagedId, ShellSession, Submission, SubmitOptions};
use bowline_transport::TerminationReport;

use crate::configuration::ManagerConfiguration;
use crate::error::{ManagerError, StateWarning};
use crate::events::ManagerEvents;
use crate::info::{EndReason, SessionInfo, SessionKind};
use crate::lease::{Lease, Leases, create_directory};
use crate::metadata_files;
use crate::running::SessionHandle;
use crate::store::{self, Store};
use crate::table::Table;

/// Manages many sessions of both kinds.
///
/// Every session that it creates is listed until it is [killed](Self::kill); one that ended by itself
/// stays in the list with its end. The list is kept in a file, so that the next run of the host can
/// [resume](Self::resume) conversations.
///
/// A cheap handle. Dropping the last one kills every local session; those at a runner continue.
#[derive(Clone, Debug)]
pub struct SessionManager {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) configuration: ManagerConfiguration,
    pub(super) table: Arc<Table>,
    store: Store,
    pub(super) leases: Leases,
    /// What all dialogues may use together.
    pub(super) budget: SharedBudget,
    warnings: Vec<StateWarning>,
    /// Locked while metadata is written.
    pub(super) metadata: tokio::sync::Mutex<()>,
    /// Locks the list.
    _lock: Lease,
}

/// The result of a prompt, by the kind of its session.
#[derive(Clone, Debug)]
pub enum PromptOutcome {
    /// It was typed into a shell session, or refused.
    Shell(Submission),
    /// It was sent to a dialogue; the receipt follows its delivery.
    Dialogue(Receipt),
}

/// A session that was killed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Killed {
    /// The session at its end.
    pub info: SessionInfo,
    /// What was terminated, and whether any process survived; absent if the session had ended in an
    /// earlier run of the host.
    pub report: Option<TerminationReport>,
}

impl SessionManager {
    /// Opens the list in the state directory, which is created if it does not exist. Local sessions that
    /// were running when the last host exited are listed as ended with [`EndReason::HostLost`]; those at
    /// runners as [detached](bowline_shell::SessionState::Detached), for [`reattach`](Self::reattach).
    ///
    /// # Errors
    ///
    /// Another host has the list open, the directory cannot be used, or a limit of the budget is 0. A list that is not valid is
    /// no error: it is renamed, and [`warnings`](Self::warnings) has the new name.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, on which the list is written.
    pub fn open(configuration: ManagerConfiguration) -> Result<Self, ManagerError> {
        let budget = SharedBudget::new(configuration.budget)?;
        create_directory(&configuration.state_directory)?;
        let lock = store::lock(&configuration.state_directory)?;
        let (known, warnings) = store::load(&configuration.state_directory)?;
        metadata_files::remove_others(&configuration.state_directory, |id| {
            known.iter().any(|it| it.id == id)
        });
        let table = Table::new(known, configuration.max_sessions, configuration.keep_ended);
        let store = Store::start(&configuration.state_directory, &table);
        // Sessions that ended with the last host are written as ended.
        table.changed();
        let leases = Leases::in_directory(configuration.lease_directory());
        Ok(Self {
            inner: Arc::new(Inner {
                configuration,
                table,
                store,
                leases,
                budget,
                warnings,
                metadata: tokio::sync::Mutex::default(),
                _lock: lock,
            }),
        })
    }

    /// Returns the budget of all dialogues of this run together: its limits, and what is used of it. New limits may
    /// be set at any time.
    pub fn budget(&self) -> &SharedBudget {
        &self.inner.budget
    }

    /// Returns the problems with the list when it was opened.
    pub fn warnings(&self) -> &[StateWarning] {
        &self.inner.warnings
    }

    /// Returns a session as it is now.
    pub fn get(&self, id: ManagedId) -> Option<SessionInfo> {
        self.inner.table.info(id)
    }

    /// Returns all sessions as they are now, the oldest first.
    pub fn list(&self) -> Vec<SessionInfo> {
        self.inner.table.infos()
    }

    /// Returns the handle of a shell session of this run.
    ///
    /// # Errors
    ///
    /// [`ManagerError::NotFound`], [`ManagerError::WrongKind`], or for a session of an earlier run of the
    /// host [`ManagerError::Ended`] or, at a runner, [`ManagerError::NotAttached`].
    pub fn shell(&self, id: ManagedId) -> Result<ShellSession, ManagerError> {
        match self.inner.table.handle(id)? {
            SessionHandle::Shell(shell) => Ok(shell),
            SessionHandle::Dialogue(_) => Err(ManagerError::WrongKind {
                id,
                is: SessionKind::Dialogue,
            }),
        }
    }

    /// Returns the handle of a dialogue of this run. Its transcript can be read after the end, too.
    ///
    /// # Errors
    ///
    /// As [`shell`](Self::shell).
    pub fn dialogue(&self, id: ManagedId) -> Result<DialogueSession, ManagerError> {
        match self.inner.table.handle(id)? {
            SessionHandle::Dialogue(dialogue) => Ok(dialogue),
            SessionHandle::Shell(_) => Err(ManagerError::WrongKind {
                id,
                is: SessionKind::Shell,
            }),
        }
    }

    /// Sends a prompt to a session: typed and submitted in a shell, as a message in a dialogue.
    ///
    /// # Errors
    ///
    /// There is no such session, or the dialogue refused the prompt. A shell's refusal is an outcome.
    pub async fn send_prompt(
        &self,
        id: ManagedId,
        prompt: &str,
    ) -> Result<PromptOutcome, ManagerError> {
        match self.inner.table.handle(id)? {
            SessionHandle::Shell(shell) => {
                let submission = shell.submit(prompt, SubmitOptions::default()).await;
                Ok(PromptOutcome::Shell(submission))
            }
            SessionHandle::Dialogue(dialogue) => {
                let receipt = dialogue.send(Prompt::text(prompt)).await?;
                Ok(PromptOutcome::Dialogue(receipt))
            }
        }
    }

    /// Sets the label of a session.
    ///
    /// # Errors
    ///
    /// [`ManagerError::NotFound`].
    pub fn set_label(&self, id: ManagedId, label: impl Into<String>) -> Result<(), ManagerError> {
        self.inner.table.set_label(id, label.into())
    }

    /// Terminates a session with all its processes, and removes it from the list. A session that has
    /// ended is removed as well.
    ///
    /// # Errors
    ///
    /// [`ManagerError::NotFound`], or [`ManagerError::NotAttached`] for one that runs at a runner and is not attached to.
    pub async fn kill(&self, id: ManagedId) -> Result<Killed, ManagerError> {
        let table = &self.inner.table;
        let report = table.end(id, EndReason::Killed).await?;
        let info = table.remove(id).ok_or(ManagerError::NotFound { id })?;
        metadata_files::remove(&self.inner.configuration.state_directory, id).await;
        Ok(Killed { info, report })
    }

    /// Returns the events of all sessions from now on, later sessions included.
    pub fn subscribe(&self) -> ManagerEvents {
        ManagerEvents::new(&self.inner.table)
    }

    /// Waits until the list as it is now is on disk. It is written soon after each change in any case.
    ///
    /// # Errors
    ///
    /// [`ManagerError::State`] if it could not be written.
    pub async fn flush(&self) -> Result<(), ManagerError> {
        self.inner.store.flush(&self.inner.table).await
    }
}
