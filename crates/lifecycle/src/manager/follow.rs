//! Follows a session from its start to its end: its state, its conversations, what it promised.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_reducer::{Phase, Revision, Transcript};
use tokio::time::timeout;

use super::lease::Leases;
use super::table::Table;
use super::{EndReason, ManagedId, ManagerError, ResumeError};
use crate::session::DialogueSession;
use crate::shell::{Feed, SessionState};

/// Least time between two looks at a transcript: a reply in parts changes it hundreds of times a
/// second, and people read states.
const PAUSE: Duration = Duration::from_millis(50);

/// A shell follows itself; its end is noted.
pub(super) async fn shell(id: ManagedId, feed: Arc<Feed>, table: Weak<Table>) {
    feed.over().await;
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
    pub(super) feed: Arc<Feed>,
    pub(super) table: Weak<Table>,
    pub(super) leases: Leases,
    pub(super) expected: Expected,
    /// Conversations that it has entered in this run.
    pub(super) entered: Vec<String>,
}

/// What one look at the transcript tells.
struct Look {
    revision: Revision,
    state: SessionState,
    conversations: Vec<String>,
    cwd: Option<String>,
}

impl Dialogue {
    pub(super) async fn run(mut self) {
        let mut is_checked = false;
        loop {
            let look = self.dialogue.inspect(look).await;
            self.feed.set_state(look.state);
            if let Err(why) = self.check(&look, &mut is_checked) {
                self.refuse(why).await;
                break;
            }
            if look.state == SessionState::Terminated || self.dialogue.has_ended() {
                break;
            }
            self.dialogue.newer_than(look.revision).await;
            // An end cuts the pause short.
            let _ = timeout(PAUSE, self.dialogue.ended()).await;
        }
        let ended = self.dialogue.ended().await;
        self.feed.end(ended.exit.status.into());
        if let Some(table) = self.table.upgrade() {
            table.note_end(self.id);
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

fn look(transcript: &mut Transcript) -> Look {
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
