//! A session of this run of the host: its handle, and what belongs to it.

use std::sync::Arc;

use bowline_lifecycle::DialogueSession;
use bowline_shell::{SessionLog, ShellSession};
use bowline_transport::TerminationReport;
use tokio::task::{AbortHandle, JoinHandle};

use crate::at_runner::{Remote, detach_shell, is_shell_detached};
use crate::info::EndReason;
use crate::lease::ConversationLease;

/// A session's handle.
#[derive(Clone)]
pub(super) enum SessionHandle {
    Shell(ShellSession),
    Dialogue(DialogueSession),
}

impl SessionHandle {
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Shell(shell) => shell.pid(),
            Self::Dialogue(dialogue) => dialogue.pid(),
        }
    }

    /// Detaches from a session at a runner.
    pub(super) async fn detach(&self) {
        match self {
            Self::Shell(shell) => detach_shell(shell).await,
            // Fails if the session has ended.
            Self::Dialogue(dialogue) => drop(dialogue.detach().await),
        }
    }

    /// Returns whether the session has ended here and continues at its runner.
    pub(super) fn is_detached(&self) -> bool {
        match self {
            Self::Shell(shell) => is_shell_detached(shell),
            Self::Dialogue(dialogue) => dialogue.is_detached(),
        }
    }

    pub(super) async fn terminate(&self) -> TerminationReport {
        match self {
            Self::Shell(shell) => shell.terminate().await,
            Self::Dialogue(dialogue) => dialogue.terminate().await.report,
        }
    }
}

/// The task that monitors a session. Aborted on drop.
#[derive(Debug)]
pub(super) struct MonitorTask(AbortHandle);

impl MonitorTask {
    pub(super) fn new(task: &JoinHandle<()>) -> Self {
        Self(task.abort_handle())
    }
}

impl Drop for MonitorTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A session of this run of the host.
pub(super) struct Running {
    pub(super) handle: SessionHandle,
    pub(super) log: Arc<SessionLog>,
    /// The runner, of a session at one.
    pub(super) remote: Option<Remote>,
    /// Released when the session ends.
    pub(super) leases: Vec<ConversationLease>,
    pub(super) monitor: Option<MonitorTask>,
    /// Why the session is being ended, if it is.
    pub(super) end_reason: Option<EndReason>,
}
