//! The right to the conversation that is held: two agents would write into one file.

use std::path::PathBuf;

use bowline_manager::{ConversationLease, ManagerError};

use crate::args;
use crate::failure::Failure;
use crate::runner::state;

/// The folder of the leases, in the one that `bowline` keeps its state in.
const LEASES: &str = "leases";

/// What one run holds: the conversation that it resumes, and those that its agent begins.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    /// None where conversations are another machine's, or nothing can be kept.
    folder: Option<PathBuf>,
    held: Vec<(String, ConversationLease)>,
    /// The last conversation that was looked at.
    seen: String,
}

impl Claim {
    /// Takes the conversation that is to be resumed, if one is.
    pub(super) fn of(options: &args::Run) -> Result<Self, Failure> {
        let url = options.runner.as_deref();
        if url.is_some_and(|url| !url.starts_with("unix:")) {
            return Ok(Self::default());
        }
        let folder = state().map(|state| state.path().join(LEASES));
        // A fork reads the conversation and writes another.
        let is_fork = options.agent_args.iter().any(|it| it == "--fork-session");
        let Some(id) = options.resume.as_ref().filter(|_| !is_fork) else {
            // Nobody has a conversation that does not exist yet.
            return Ok(Self {
                folder: folder.ok(),
                ..Self::default()
            });
        };
        let mut claim = Self {
            folder: Some(folder?),
            ..Self::default()
        };
        let taken = claim.take(id);
        taken.map_err(|error| Failure::failed(format!("failed to {error}")))?;
        Ok(claim)
    }

    /// The agent is in this conversation. One that it has begun by itself is nobody else's, so
    /// that a lease which cannot be had ends nothing.
    pub(crate) fn entered(&mut self, conversation: &str) {
        if self.seen != conversation {
            conversation.clone_into(&mut self.seen);
            let _ = self.take(conversation);
        }
    }

    fn take(&mut self, conversation: &str) -> Result<(), ManagerError> {
        let is_held = self.held.iter().any(|(held, _)| held == conversation);
        if let (false, Some(folder)) = (is_held, &self.folder) {
            let holder = format!("`bowline run` in process {}", std::process::id());
            let lease = ConversationLease::take(folder, conversation, &holder)?;
            self.held.push((conversation.to_owned(), lease));
        }
        Ok(())
    }
}
