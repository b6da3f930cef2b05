//! Exclusive use of conversations: two agents must not write to the same file.

use std::path::PathBuf;

use bowline_manager::{ConversationLease, ManagerError};

use crate::args;
use crate::failure::Failure;
use crate::runner::state_dir;

/// Folder of the lease files, inside the state folder.
const LEASES: &str = "leases";

/// The leases of one run: on the conversation that it resumes and on those that its agent begins.
#[derive(Debug, Default)]
pub(crate) struct ConversationLeases {
    /// `None` if the conversations belong to another machine, or the state folder is unusable.
    folder: Option<PathBuf>,
    held: Vec<(String, ConversationLease)>,
    /// The conversation of the last call of [`ConversationLeases::enter`].
    current: String,
}

impl ConversationLeases {
    /// Acquires the lease on the conversation to resume, if there is one.
    ///
    /// # Errors
    /// If another process holds it, or the state folder cannot be used.
    pub(crate) fn acquire(options: &args::Run) -> Result<Self, Failure> {
        if !options.runner_args().is_on_this_machine() {
            return Ok(Self::default());
        }
        let folder = state_dir().map(|state| state.path().join(LEASES));
        // A fork reads the conversation and writes another one.
        let is_fork = options.agent_args.iter().any(|it| it == "--fork-session");
        let Some(id) = options.resume.as_ref().filter(|_| !is_fork) else {
            return Ok(Self {
                folder: folder.ok(),
                ..Self::default()
            });
        };
        let mut leases = Self {
            folder: Some(folder?),
            ..Self::default()
        };
        leases
            .lease(id)
            .map_err(|error| Failure::caused("failed to", &error))?;
        Ok(leases)
    }

    /// Acquires the lease on the agent's current conversation. An agent that has begun a
    /// conversation is its only writer, so a failure here is ignored.
    pub(crate) fn enter(&mut self, conversation: &str) {
        if self.current != conversation {
            conversation.clone_into(&mut self.current);
            let _ = self.lease(conversation);
        }
    }

    fn lease(&mut self, conversation: &str) -> Result<(), ManagerError> {
        let is_held = self.held.iter().any(|(held, _)| held == conversation);
        if let (false, Some(folder)) = (is_held, &self.folder) {
            let holder = format!("`bowline run` in process {}", std::process::id());
            let lease = ConversationLease::take(folder, conversation, &holder)?;
            self.held.push((conversation.to_owned(), lease));
        }
        Ok(())
    }
}
