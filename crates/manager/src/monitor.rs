//! Monitors a session until its end: its state, its conversations, and whether the agent resumed what
//! it was asked to.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_lifecycle::{DialogueSession, ResumeError};
use bowline_reducer::{Phase, Revision, Transcript};
use bowline_shell::{ManagedId, SessionExit, SessionLog, SessionState};
use tokio::time::timeout;

use crate::error::ManagerError;
use crate::info::EndReason;
use crate::lease::Leases;
use crate::table::Table;

/// Minimum time between two reads of a transcript: a streamed reply changes it hundreds of times a
/// second.
const READ_INTERVAL: Duration = Duration::from_millis(50);

/// Records the end of a shell session, which maintains its state itself.
pub(super) async fn monitor_shell(id: ManagedId, log: Arc<SessionLog>, table: Weak<Table>) {
    log.ended().await;
    if let Some(table) = table.upgrade() {
        table.note_end(id);
    }
}

/// The directory and conversation that the agent was started for.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    /// Without symbolic links; `None` at a runner, whose directories are not those of this machine.
    pub(super) cwd: Option<PathBuf>,
    pub(super) conversation: Option<String>,
}

pub(super) struct DialogueMonitor {
    pub(super) id: ManagedId,
    pub(super) dialogue: DialogueSession,
    pub(super) log: Arc<SessionLog>,
    pub(super) table: Weak<Table>,
    pub(super) leases: Leases,
    pub(super) expected: Expected,
    /// Conversations that the session has entered in this run.
    pub(super) entered: Vec<String>,
}

/// The monitored part of a transcript.
struct Observation {
    revision: Revision,
    state: SessionState,
    conversations: Vec<String>,
    cwd: Option<String>,
}

/// Ends the log of a session that is not monitored any more, however its monitor ends: callers wait for
/// the end of the log.
struct EndsLog(Arc<SessionLog>);

impl Drop for EndsLog {
    fn drop(&mut self) {
        // The first end counts.
        self.0.end(SessionExit::default());
    }
}

impl DialogueMonitor {
    pub(super) fn run(self) -> impl Future<Output = ()> {
        // Made here, since a task that is aborted at once is not polled.
        let log = EndsLog(Arc::clone(&self.log));
        self.monitor(log)
    }

    async fn monitor(mut self, _log: EndsLog) {
        self.observe().await;
        let ended = self.dialogue.ended().await;
        self.log.end(ended.exit.status.into());
        if let Some(table) = self.table.upgrade() {
            table.note_end(self.id);
        }
    }

    async fn observe(&mut self) {
        let mut is_checked = false;
        loop {
            let observed = self.dialogue.inspect(observation).await;
            self.log.set_state(observed.state);
            if let Err(reason) = self.check(&observed, &mut is_checked) {
                self.reject(reason).await;
                break;
            }
            if observed.state == SessionState::Terminated || self.dialogue.has_ended() {
                break;
            }
            self.dialogue.changed_since(observed.revision).await;
            // The end of the session ends the pause.
            let _ = timeout(READ_INTERVAL, self.dialogue.ended()).await;
        }
    }

    /// Checks the agent's directory and first conversation once it reports them, and takes a lease
    /// of each conversation that it enters.
    fn check(&mut self, observed: &Observation, is_checked: &mut bool) -> Result<(), String> {
        if let (false, Some(first), Some(cwd)) =
            (*is_checked, observed.conversations.first(), &observed.cwd)
        {
            self.expected.check(first, Path::new(cwd))?;
            *is_checked = true;
        }
        for conversation in &observed.conversations {
            if !self.entered.contains(conversation) {
                self.enter(conversation)?;
            }
        }
        Ok(())
    }

    fn enter(&mut self, conversation: &str) -> Result<(), String> {
        let lease = match self.leases.take(conversation, self.id) {
            Ok(lease) => Some(lease),
            Err(ManagerError::Resume(error @ ResumeError::Leased { .. })) => {
                return Err(error.to_string());
            }
            Err(error) => {
                tracing::warn!(session = %self.id, %error, "a conversation continues without a lease");
                None
            }
        };
        self.entered.push(conversation.to_owned());
        if let Some(table) = self.table.upgrade() {
            table.note_conversation(self.id, conversation, lease);
        }
        Ok(())
    }

    async fn reject(&self, reason: String) {
        tracing::warn!(session = %self.id, reason, "terminating an agent that resumed something else");
        if let Some(table) = self.table.upgrade() {
            table.set_end_reason(self.id, EndReason::NotResumed(reason));
        }
        self.dialogue.terminate().await;
    }
}

impl Expected {
    fn check(&self, conversation: &str, cwd: &Path) -> Result<(), String> {
        if let Some(wanted) = self
            .conversation
            .as_deref()
            .filter(|wanted| *wanted != conversation)
        {
            return Err(format!(
                "the agent began conversation {conversation} instead of resuming {wanted}"
            ));
        }
        let Some(wanted) = &self.cwd else {
            return Ok(());
        };
        let canonical = std::fs::canonicalize(cwd);
        if canonical.as_deref().unwrap_or(cwd) != wanted {
            let (cwd, wanted) = (cwd.display(), wanted.display());
            return Err(format!("the agent works in {cwd} instead of {wanted}"));
        }
        Ok(())
    }
}

fn observation(transcript: &Transcript) -> Observation {
    let session = transcript.session();
    let state = match transcript.status().phase {
        Phase::Starting => SessionState::Creating,
        Phase::Idle => SessionState::Idle,
        Phase::Ended => SessionState::Terminated,
        _ => SessionState::Active,
    };
    Observation {
        revision: transcript.revision(),
        state,
        conversations: session.conversations().map(str::to_owned).collect(),
        cwd: session.cwd().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use bowline_transport::TerminationPolicy;
    use tokio::runtime::Builder;
    use tokio::sync::Notify;

    use super::*;
    use bowline_lifecycle::DialogueConfiguration;

    async fn cat() -> DialogueSession {
        let configuration = DialogueConfiguration {
            program: "/bin/sh".into(),
            leading_args: vec!["-c".into(), "exec cat".into()],
            initialize: false,
            termination: TerminationPolicy::AT_ONCE,
            ..DialogueConfiguration::default()
        };
        let session = DialogueSession::start(configuration).await;
        session.expect("every system has a shell")
    }

    fn monitor_of(dialogue: DialogueSession, log: &Arc<SessionLog>) -> DialogueMonitor {
        DialogueMonitor {
            id: ManagedId::random(),
            dialogue,
            log: Arc::clone(log),
            table: Weak::new(),
            leases: Leases::in_directory(PathBuf::new()),
            expected: Expected::default(),
            entered: Vec::new(),
        }
    }

    fn log() -> Arc<SessionLog> {
        SessionLog::new(ManagedId::random(), 1, 1, Arc::new(Notify::new()))
    }

    #[tokio::test]
    async fn log_ends_if_monitor_is_aborted() {
        let dialogue = cat().await;
        // Before its first poll, and while it waits for the session.
        for is_polled in [false, true] {
            let log = log();
            let mut monitor = Box::pin(monitor_of(dialogue.clone(), &log).run());
            if is_polled {
                tokio::select! {
                    biased;
                    () = &mut monitor => panic!("the session goes on"),
                    () = std::future::ready(()) => {}
                }
            }
            assert_eq!(log.exit(), None);
            drop(monitor);
            log.ended().await;
            assert_eq!(log.exit(), Some(SessionExit::default()));
        }
        dialogue.terminate().await;
    }

    #[test]
    fn log_ends_if_session_task_is_dropped() {
        let other = Builder::new_multi_thread().enable_all().build().unwrap();
        let dialogue = other.block_on(cat());
        let log = log();
        let monitor = monitor_of(dialogue, &log);
        // The task of the session is dropped with its runtime.
        other.shutdown_background();
        let own = Builder::new_current_thread().enable_all().build().unwrap();
        own.block_on(monitor.run());
        assert_eq!(log.exit(), Some(SessionExit::default()));
    }
}
