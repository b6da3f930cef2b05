//! Control requests to a running agent, and pauses.

use bowline_jsonl::HostRequest;
use tokio::sync::oneshot;

use super::end::DialogueEnd;
use super::handle::DialogueSession;
use crate::agent::Capabilities;
use crate::error::{DialogueError, HandshakeError};
use crate::intent::Intent;
use crate::machine::{Command, Reply};
use crate::message::Message;

impl DialogueSession {
    /// Changes the model of the following API calls; `None` for the agent's default.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent refused or did not answer.
    pub async fn set_model(&self, model: Option<String>) -> Result<(), DialogueError> {
        let request = HostRequest::SetModel { model };
        self.request(request).await.map(drop)
    }

    /// Changes the permission mode.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent refused or did not answer.
    pub async fn set_permission_mode(&self, mode: impl Into<String>) -> Result<(), DialogueError> {
        let request = HostRequest::SetPermissionMode { mode: mode.into() };
        self.request(request).await.map(drop)
    }

    /// Changes an option of the session, as the transcript lists them: `model`, `mode`, `effort`, or one
    /// of the agent's own.
    ///
    /// # Errors
    ///
    /// The session has ended, the agent has no such option or value, refused or did not answer.
    pub async fn set_option(
        &self,
        option: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<(), DialogueError> {
        let (option, value) = (option.into(), value.into());
        self.command(Command::SetOption { option, value })
            .await
            .map(drop)
    }

    /// Returns what the session can do, as the agent's protocol has it and the agent has declared. Empty
    /// for a session that has ended.
    pub async fn supported(&self) -> Capabilities {
        let (reply, capabilities) = oneshot::channel();
        match self.post(Message::Capabilities(reply)) {
            Ok(()) => capabilities.await.unwrap_or_default(),
            Err(_) => Capabilities::default(),
        }
    }

    /// Carries out an intent. It is in its place before this returns; the future waits for its outcome, the
    /// agent's response as a JSON value if it gives one.
    ///
    /// # Errors
    ///
    /// As the method of the session that does the same.
    pub fn submit(
        &self,
        intent: Intent,
    ) -> impl Future<Output = Result<Option<String>, DialogueError>> + Send + 'static {
        self.submit_after(intent, 0)
    }

    /// [Submits](Self::submit) an intent of the session's log, which is carried out once the agent's output
    /// before the offset `after` is folded, as by a recovery of the session.
    ///
    /// # Errors
    ///
    /// As the method of the session that does the same.
    pub fn submit_after(
        &self,
        intent: Intent,
        after: u64,
    ) -> impl Future<Output = Result<Option<String>, DialogueError>> + Send + 'static {
        let (reply, result) = oneshot::channel();
        let command = Box::new(intent.into());
        let posted = self.post(Message::Placed {
            after,
            command,
            reply,
        });
        async move {
            posted?;
            let reply = result.await.map_err(|_| DialogueError::Ended)??;
            Ok(match reply {
                Reply::Response(json) => Some(json),
                Reply::Done => None,
            })
        }
    }

    /// Waits until the agent has opened the session, or cannot.
    ///
    /// # Errors
    ///
    /// The agent refuses the session, does not answer, or has exited.
    pub async fn opened(&self) -> Result<(), HandshakeError> {
        self.shake_hands().await
    }

    /// Waits until the agent has opened the session, or cannot.
    pub(super) async fn shake_hands(&self) -> Result<(), HandshakeError> {
        let (reply, handshake) = oneshot::channel();
        // An error drops the reply: the session has ended.
        let _ = self.post(Message::AwaitHandshake(reply));
        match handshake.await {
            Ok(handshake) => handshake,
            Err(_) => Err(HandshakeError::Exited {
                reason: self.ended().await.reason,
            }),
        }
    }

    /// Sends a request and returns the agent's response, a JSON value. [`HostRequest::Other`] is any request
    /// of the agent's protocol, by its name: the subtype of a control request, or a JSON-RPC method.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent refused or did not answer.
    pub async fn request(&self, request: HostRequest) -> Result<String, DialogueError> {
        match self.command(Command::Request(request)).await? {
            Reply::Response(json) => Ok(json),
            Reply::Done => Ok("{}".to_owned()),
        }
    }

    /// Queues prompts from now on, and returns when the agent has answered those that were sent
    /// before. A queued prompt stays [accepted](crate::ReceiptState::Accepted).
    ///
    /// # Errors
    ///
    /// The session has ended, or ends before the pause takes effect.
    pub async fn pause(&self) -> Result<(), DialogueError> {
        self.command(Command::Pause).await.map(drop)
    }

    /// Ends a [pause](Self::pause) and sends the queued prompts in order.
    ///
    /// # Errors
    ///
    /// The session has ended.
    pub async fn unpause(&self) -> Result<(), DialogueError> {
        self.command(Command::Unpause).await.map(drop)
    }

    /// Detaches from a session at a runner: the agent continues, and this session ends for all of its
    /// handles, as expected. Lines that were not written yet are lost.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent is a child of this process.
    pub async fn detach(&self) -> Result<DialogueEnd, DialogueError> {
        if !self.terminal.is_remote() {
            return Err(DialogueError::NotDetachable);
        }
        self.post(Message::Detach)?;
        Ok(self.ended().await)
    }
}
