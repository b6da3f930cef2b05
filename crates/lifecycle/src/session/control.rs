//! What a host asks of an agent that runs.

use bowline_jsonl::HostRequest;

use super::DialogueSession;
use crate::error::DialogueError;
use crate::machine::{Command, Reply};

impl DialogueSession {
    /// Stops the running turn. Prompts that wait run right after it, unless `cancel_queued`.
    ///
    /// The turn's result comes later, as a change. Gives the agent's receipt, a JSON object.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent refused or did not answer.
    pub async fn interrupt(&self, cancel_queued: bool) -> Result<String, DialogueError> {
        self.request(HostRequest::Interrupt { cancel_queued }).await
    }

    /// Changes the model for the calls that follow; none for the agent's default.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent refused or did not answer.
    pub async fn set_model(&self, model: Option<String>) -> Result<(), DialogueError> {
        self.request(HostRequest::SetModel { model })
            .await
            .map(drop)
    }

    /// Changes the permission mode.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent refused or did not answer.
    pub async fn set_permission_mode(&self, mode: impl Into<String>) -> Result<(), DialogueError> {
        self.request(HostRequest::SetPermissionMode { mode: mode.into() })
            .await
            .map(drop)
    }

    /// Sends any control request and gives the agent's answer, a JSON value.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent refused or did not answer.
    pub async fn request(&self, request: HostRequest) -> Result<String, DialogueError> {
        match self.command(Command::Request(request)).await? {
            Reply::Answer(json) => Ok(json),
            Reply::Done => Ok("{}".to_owned()),
        }
    }
}
