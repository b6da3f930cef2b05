//! Messages of a session's handles to the task that owns the session.

use bowline_jsonl::Prompt;
use bowline_reducer::Transcript;
use tokio::sync::{mpsc, oneshot, watch};

use crate::agent::Capabilities;
use crate::error::{DialogueError, HandshakeError};
use crate::machine::{Command, ReceiptState, Reply};
use crate::permission::{PermissionAnswer, Permissions};
use crate::watchdog::{LastActivity, Silence};

pub(crate) type ReplySender = oneshot::Sender<Result<Reply, DialogueError>>;

/// A message of a handle to the driver.
pub(crate) enum Message {
    Send {
        prompt: Prompt,
        states: watch::Sender<ReceiptState>,
        reply: ReplySender,
    },
    /// In a box, since the channel of each session has room for 32 messages from its beginning.
    Command {
        command: Box<Command>,
        reply: ReplySender,
    },
    /// A command of the session's log, carried out once the output before an offset is folded.
    Placed {
        after: u64,
        command: Box<Command>,
        reply: ReplySender,
    },
    Read(Box<dyn FnOnce(&mut Transcript) + Send>),
    Activity(oneshot::Sender<LastActivity>),
    Silence(oneshot::Sender<Option<Silence>>),
    Capabilities(oneshot::Sender<Capabilities>),
    /// Reports how the handshake with the agent ended.
    AwaitHandshake(oneshot::Sender<Result<(), HandshakeError>>),
    /// Reports when the history of an attached session is folded.
    #[cfg(feature = "remote")]
    AwaitHistory(oneshot::Sender<()>),
    Detach,
}

/// Sends a command to the driver and waits for its reply.
pub(crate) async fn command(
    messages: &mpsc::UnboundedSender<Message>,
    command: Command,
) -> Result<Reply, DialogueError> {
    let (reply, result) = oneshot::channel();
    let command = Box::new(command);
    let message = Message::Command { command, reply };
    messages.send(message).map_err(|_| DialogueError::Ended)?;
    result.await.map_err(|_| DialogueError::Ended)?
}

/// A handle of a running session that does not keep it alive.
#[derive(Clone)]
pub(crate) struct WeakDialogue {
    messages: mpsc::WeakUnboundedSender<Message>,
    permissions: watch::Receiver<Permissions>,
}

impl WeakDialogue {
    pub(crate) fn new(
        messages: &mpsc::UnboundedSender<Message>,
        permissions: watch::Receiver<Permissions>,
    ) -> Self {
        Self {
            messages: messages.downgrade(),
            permissions,
        }
    }

    pub(crate) fn permissions(&self) -> Permissions {
        self.permissions.borrow().clone()
    }

    pub(crate) async fn answer(
        &self,
        request_id: String,
        answer: PermissionAnswer,
        by: Option<String>,
    ) -> Result<(), DialogueError> {
        let answer = Command::AnswerPermission {
            request_id,
            answer,
            by,
            how: None,
        };
        let messages = self.messages.upgrade().ok_or(DialogueError::Ended)?;
        command(&messages, answer).await.map(drop)
    }
}
