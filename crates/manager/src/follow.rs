//! Follows a session from its start to its end: its state, its conversations, what it promised.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_lifecycle::{DialogueSession, ResumeError};
use bowline_reducer::{Phase, Revision, Transcript};
use bowline_shell::{ManagedId, SessionExit, SessionLog, SessionState};
use tokio::time::timeout;

use super::lease::Leases;
use super::table::Table;
use crate::{EndReason, ManagerError};

/// Least time between two looks at a transcript: a reply in parts changes it hundreds of times a
/// second, and people read states.
const PAUSE: Duration = Duration::from_millis(50);

/// A shell follows itself; its end is noted.
pub(super) async fn shell(id: ManagedId, log: Arc<SessionLog>, table: Weak<Table>) {
    log.ended().await;
    if let Some(table) = table.upgrade() {
        table.note_end(id);
    }
}

/// Where the agent was asked to go on.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// Without links.
    pub(super) cwd: PathBuf,
    pub(super) conversation: Option<String>,
}

pub(super) struct Dialogue {
    pub(super) id: ManagedId,
    pub(super) dialogue: DialogueSession,
    pub(super) log: Arc<SessionLog>,
    pub(super) table: Weak<Table>,
    pub(super) leases: Leases,
    pub(super) expected: Expected,
    /// Conversations that it has entered in this run.
    pub(super) entered: Vec<String>,
}

/// Ends the session's log also if its task was dropped, which makes a call on the session panic: others
/// wait for the end.
struct EndAnyhow {
    id: ManagedId,
    log: Arc<SessionLog>,
    table: Weak<Table>,
}

impl EndAnyhow {
    fn note(&self) {
        if let Some(table) = self.table.upgrade() {
            table.note_end(self.id);
        }
    }
}

impl Drop for EndAnyhow {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.log.end(SessionExit::default());
            self.note();
        }
    }
}

/// What is read from a transcript at one time.
struct Look {
    revision: Revision,
    state: SessionState,
    conversations: Vec<String>,
    cwd: Option<String>,
}

impl Dialogue {
    pub(super) async fn run(mut self) {
        let end = EndAnyhow {
            id: self.id,
            log: Arc::clone(&self.log),
            table: Weak::clone(&self.table),
        };
        self.follow().await;
        let ended = self.dialogue.ended().await;
        end.log.end(ended.exit.status.into());
        end.note();
    }

    async fn follow(&mut self) {
        let mut is_checked = false;
        loop {
            let look = self.dialogue.inspect(look).await;
            self.log.set_state(look.state);
            if let Err(why) = self.check(&look, &mut is_checked) {
                self.refuse(why).await;
                break;
            }
            if look.state == SessionState::Terminated || self.dialogue.has_ended() {
                break;
            }
            self.dialogue.changed_since(look.revision).await;
            // An end cuts the pause short.
            let _ = timeout(PAUSE, self.dialogue.ended()).await;
        }
    }

    /// Holds the agent to what it was asked, once it says where it is; takes a lease for each
    /// conversation that it enters.
    fn check(&mut self, look: &Look, is_checked: &mut bool) -> Result<(), String> {
        if let (false, Some(first), Some(cwd)) =
            (*is_checked, look.conversations.first(), &look.cwd)
        {
            self.expected.check(first, Path::new(cwd))?;
            *is_checked = true;
        }
        for conversation in &look.conversations {
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
                tracing::warn!(session = %self.id, %error, "a conversation goes on without a lease");
                None
            }
        };
        self.entered.push(conversation.to_owned());
        if let Some(table) = self.table.upgrade() {
            table.note_conversation(self.id, conversation, lease);
        }
        Ok(())
    }

    async fn refuse(&self, why: String) {
        tracing::warn!(session = %self.id, why, "the agent is not where it was asked to be");
        if let Some(table) = self.table.upgrade() {
            table.note_ending(self.id, EndReason::NotResumed(why));
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
                "it was to go on with {wanted} and began {conversation}"
            ));
        }
        let there = std::fs::canonicalize(cwd);
        if there.as_deref().unwrap_or(cwd) != self.cwd {
            let (cwd, wanted) = (cwd.display(), self.cwd.display());
            return Err(format!("it was to work in {wanted} and is in {cwd}"));
        }
        Ok(())
    }
}

fn look(transcript: &Transcript) -> Look {
    let session = transcript.session();
    let state = match transcript.status().phase {
        Phase::Starting => SessionState::Creating,
        Phase::Idle => SessionState::Idle,
        Phase::Ended => SessionState::Terminated,
        _ => SessionState::Active,
    };
    Look {
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
        session.expect("every system has it")
    }

    /// The follower's own panic is the only word of it.
    #[test]
    fn log_ends_if_session_task_is_dropped() {
        let theirs = Builder::new_multi_thread().enable_all().build().unwrap();
        let dialogue = theirs.block_on(cat());
        let id = ManagedId::random();
        let log = SessionLog::new(id, 1, 1, Arc::new(Notify::new()));
        let followed = Dialogue {
            id,
            dialogue,
            log: Arc::clone(&log),
            table: Weak::new(),
            leases: Leases::in_folder(PathBuf::new()),
            expected: Expected {
                cwd: PathBuf::new(),
                conversation: None,
            },
            entered: Vec::new(),
        };
        // The task of the session goes with its runtime.
        theirs.shutdown_background();
        let ours = Builder::new_current_thread().enable_all().build().unwrap();
        ours.block_on(async move {
            let ended = tokio::spawn(followed.run()).await;
            assert!(ended.is_err_and(|error| error.is_panic()));
            assert_eq!(log.exit(), Some(SessionExit::default()));
        });
    }
}
