//! Manages many sessions of both kinds: creates, lists, prompts and ends them, and keeps the list on
//! disk.

mod configuration;
mod create;
mod error;
mod events;
mod follow;
mod info;
mod lease;
mod shutdown;
mod store;
mod table;
mod time;

use std::sync::Arc;

use bowline_jsonl::Prompt;
use bowline_transport::TerminationReport;

use bowline_lifecycle::{DialogueSession, Receipt};
use bowline_shell::ShellSession;
use bowline_shell::{ManagedId, Submission, SubmitOptions};

pub use self::configuration::ManagerConfiguration;
pub use self::error::{ManagerError, StateWarning};
pub use self::events::ManagerEvents;
pub use self::info::{EndReason, SessionEnd, SessionInfo, SessionKind};
pub use self::shutdown::{ShutdownReport, ShutdownSignal};
pub use self::time::Timestamp;

pub use self::lease::ConversationLease;
use self::lease::{Lease, Leases};
use self::store::Store;
use self::table::{Live, Table};

/// Many sessions of both kinds, by name.
///
/// Every session that it makes is listed until it is [killed](Self::kill); what ended by itself
/// stays in the list with its end. The list is kept in a file, so that a host that starts again
/// knows what it had and can [resume](Self::resume) conversations.
///
/// A cheap handle. Dropping the last one kills every session.
#[derive(Clone, Debug)]
pub struct SessionManager {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    configuration: ManagerConfiguration,
    table: Arc<Table>,
    store: Store,
    leases: Leases,
    warnings: Vec<StateWarning>,
    /// Keeps other hosts from the list.
    _owner: Lease,
}

/// What became of a prompt, by the kind of its session.
#[derive(Clone, Debug)]
pub enum PromptOutcome {
    /// It was typed into a shell session, or refused.
    Shell(Submission),
    /// It was sent to a dialogue; the receipt follows what becomes of it.
    Dialogue(Receipt),
}

/// What is left of a session that was killed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Killed {
    /// The session as it was at its end.
    pub info: SessionInfo,
    /// What was killed, and whether anything survived; absent if it had ended in an earlier run of
    /// the host.
    pub report: Option<TerminationReport>,
}

impl SessionManager {
    /// Opens the list in the state folder, which is made if need be. Sessions that were alive when
    /// the last host died are listed as ended with [`EndReason::HostLost`].
    ///
    /// # Errors
    ///
    /// Another host has the list open, or the folder cannot be used. A list that cannot be read is
    /// no error: it is set aside, and [`warnings`](Self::warnings) says where.
    pub fn open(configuration: ManagerConfiguration) -> Result<Self, ManagerError> {
        lease::make_folder(&configuration.state_folder)?;
        let owner = store::own(&configuration.state_folder)?;
        let (known, warnings) = store::load(&configuration.state_folder)?;
        let table = Table::new(known, configuration.max_sessions, configuration.keep_ended);
        let store = Store::start(&configuration.state_folder, &table);
        // What has ended with the last host is on disk as soon as it is known.
        table.changed();
        let leases = Leases::in_folder(configuration.lease_folder());
        Ok(Self {
            inner: Arc::new(Inner {
                configuration,
                table,
                store,
                leases,
                warnings,
                _owner: owner,
            }),
        })
    }

    /// What was wrong with the list when it was opened.
    pub fn warnings(&self) -> &[StateWarning] {
        &self.inner.warnings
    }

    /// One session, as it is now.
    pub fn get(&self, id: ManagedId) -> Option<SessionInfo> {
        self.inner.table.info(id)
    }

    /// Every session, oldest first, as they are now.
    pub fn list(&self) -> Vec<SessionInfo> {
        self.inner.table.infos()
    }

    /// The handle of a shell session of this run.
    ///
    /// # Errors
    ///
    /// [`ManagerError::NotFound`], [`ManagerError::WrongKind`], or [`ManagerError::Ended`] in an
    /// earlier run of the host.
    pub fn shell(&self, id: ManagedId) -> Result<ShellSession, ManagerError> {
        match self.inner.table.live(id)? {
            Live::Shell(shell) => Ok(shell),
            Live::Dialogue(_) => Err(ManagerError::WrongKind {
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
        match self.inner.table.live(id)? {
            Live::Dialogue(dialogue) => Ok(dialogue),
            Live::Shell(_) => Err(ManagerError::WrongKind {
                id,
                is: SessionKind::Shell,
            }),
        }
    }

    /// Sends a prompt to a session: typed and submitted in a shell, as a message in a dialogue.
    ///
    /// # Errors
    ///
    /// There is no such session, or the dialogue does not take it. A shell's refusal is an outcome.
    pub async fn send_prompt(
        &self,
        id: ManagedId,
        prompt: &str,
    ) -> Result<PromptOutcome, ManagerError> {
        match self.inner.table.live(id)? {
            Live::Shell(shell) => {
                let submission = shell.submit(prompt, SubmitOptions::default()).await;
                Ok(PromptOutcome::Shell(submission))
            }
            Live::Dialogue(dialogue) => {
                let receipt = dialogue.send(Prompt::text(prompt)).await?;
                Ok(PromptOutcome::Dialogue(receipt))
            }
        }
    }

    /// Gives a session another label.
    ///
    /// # Errors
    ///
    /// [`ManagerError::NotFound`].
    pub fn set_label(&self, id: ManagedId, label: impl Into<String>) -> Result<(), ManagerError> {
        self.inner.table.set_label(id, label.into())
    }

    /// Ends a session with all that it started, and takes it off the list. Also takes off one that
    /// has ended.
    ///
    /// # Errors
    ///
    /// [`ManagerError::NotFound`].
    pub async fn kill(&self, id: ManagedId) -> Result<Killed, ManagerError> {
        let table = &self.inner.table;
        let report = table.end(id, EndReason::Killed).await?;
        let info = table.remove(id).ok_or(ManagerError::NotFound { id })?;
        Ok(Killed { info, report })
    }

    /// Returns the events of all sessions from now on, later sessions included.
    pub fn subscribe(&self) -> ManagerEvents {
        ManagerEvents::new(&self.inner.table)
    }

    /// Waits until the list as it is now is on disk. It is written by itself soon after each change.
    ///
    /// # Errors
    ///
    /// [`ManagerError::State`] if it could not be written.
    pub async fn flush(&self) -> Result<(), ManagerError> {
        self.inner.store.flush(&self.inner.table).await
    }
}
