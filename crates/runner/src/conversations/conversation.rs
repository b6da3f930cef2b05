//! The handle of a conversation.

use bowline_lifecycle::{DialogueSession, Intent, PermissionAnswer, Prompt, QueueEdit};
use bowline_reducer::Transcript;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::error::ConversationError;
use crate::current_request::current_request_id;

/// An intent on its way to the control stream.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) id: String,
    pub(super) intent: Intent,
    /// Id of the HTTP request that it comes from, for the logs of the session.
    pub(super) request_id: Option<String>,
    pub(super) reply: oneshot::Sender<Result<(), ConversationError>>,
}

/// A conversation that this daemon drives. A cheap handle; clones are handles of the same conversation. It continues
/// without handles.
#[derive(Clone, Debug)]
pub(crate) struct Conversation {
    pub(super) session: DialogueSession,
    pub(super) submissions: mpsc::Sender<Submission>,
}

impl Conversation {
    /// Returns the session, for reading. Whatever changes it goes through this handle.
    pub(crate) const fn session(&self) -> &DialogueSession {
        &self.session
    }

    /// Sends a prompt, which gets a random uuid if it has none. Returns the uuid once the prompt is kept, and the
    /// session has accepted it. A repeated prompt is sent once.
    pub(crate) async fn prompt(&self, mut prompt: Prompt) -> Result<String, ConversationError> {
        let uuid = prompt.uuid.get_or_insert_with(random_id).clone();
        self.submit(uuid.clone(), Intent::Prompt(prompt)).await?;
        Ok(uuid)
    }

    /// Answers a permission request, in the name of a client if it has one. The first answer counts; the error of
    /// a later one names the client that gave it. A repeated answer, with the same id, gets the same outcome.
    pub(crate) async fn answer(
        &self,
        id: Option<String>,
        request_id: impl Into<String>,
        answer: impl Into<PermissionAnswer>,
        by: Option<String>,
    ) -> Result<(), ConversationError> {
        let intent = Intent::Answer {
            request_id: request_id.into(),
            answer: answer.into(),
            by,
            how: None,
        };
        self.submit(id.unwrap_or_else(random_id), intent).await
    }

    /// Stops the running turn, unless it ended past `seen`, an offset of the output. A repeated interrupt, with the same id, stops one.
    pub(crate) async fn interrupt(
        &self,
        id: Option<String>,
        cancel_queued: bool,
        seen: Option<u64>,
    ) -> Result<(), ConversationError> {
        let id = id.unwrap_or_else(random_id);
        let intent = Intent::Interrupt {
            cancel_queued,
            seen,
        };
        self.submit(id, intent).await
    }

    /// Changes an option of the session, such as `model` or `mode`.
    pub(crate) async fn set_option(
        &self,
        id: Option<String>,
        option: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<(), ConversationError> {
        let (option, value) = (option.into(), value.into());
        let id = id.unwrap_or_else(random_id);
        self.submit(id, Intent::SetOption { option, value }).await
    }

    /// Changes a prompt that waits in the queue. A repeated change, with the same id, is made once.
    pub(crate) async fn edit_queue(
        &self,
        id: String,
        edit: QueueEdit,
    ) -> Result<(), ConversationError> {
        self.submit(id, Intent::EditQueue(edit)).await
    }

    /// Keeps an intent under an id of 1 to 128 bytes, and waits for its outcome. It takes effect even if the future
    /// is dropped.
    pub(crate) async fn submit(&self, id: String, intent: Intent) -> Result<(), ConversationError> {
        let (reply, outcome) = oneshot::channel();
        let submission = Submission {
            id,
            intent,
            request_id: current_request_id(),
            reply,
        };
        let sent = self.submissions.send(submission).await;
        sent.map_err(|_| self.closed())?;
        outcome.await.unwrap_or_else(|_| Err(self.closed()))
    }

    fn closed(&self) -> ConversationError {
        if self.session.has_ended() {
            ConversationError::Ended
        } else {
            ConversationError::ShuttingDown
        }
    }

    /// Runs `read` on the transcript, in the task that owns it. It should be short.
    pub(crate) async fn inspect<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Transcript) -> T + Send + 'static,
    ) -> T {
        self.session.inspect(read).await
    }
}

fn random_id() -> String {
    Uuid::new_v4().to_string()
}
