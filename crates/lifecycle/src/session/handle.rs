//! The handle of a dialogue session.

use std::fmt;
use std::sync::Arc;

use bowline_jsonl::Prompt;
use bowline_reducer::dialect::DialectName;
use bowline_transport::{
    ConnectionState, ConnectionStates, RetryError, SessionId, Signal, SignalError, TerminalSession,
};
use tokio::sync::{mpsc, oneshot, watch};
use uuid::Uuid;

use super::end::{DialogueEnd, EndedSession};
use super::reader::TranscriptReader;
use super::receipt::Receipt;
use super::recording::OutputSources;
use crate::error::DialogueError;
use crate::events::{DialogueEvents, EventLimits, Router};
use crate::machine::{Command, ReceiptState, Reply};
use crate::message::{self, Message};
use crate::permission::Permissions;

/// A dialogue session: an agent's process and its conversation as one thing.
///
/// A cheap handle; clones are handles of the same session. Dropping the last handle terminates a local
/// agent. An agent at a runner continues, as it does when its host is killed: [`terminate`] it, or attach
/// to it again with `DialogueSession::attach` (feature `remote`).
///
/// A session whose runtime is dropped has ended; its transcript stays readable.
///
/// [`terminate`]: Self::terminate
#[derive(Clone)]
pub struct DialogueSession {
    pub(super) messages: mpsc::UnboundedSender<Message>,
    pub(super) reader: TranscriptReader,
    pub(super) permissions: watch::Receiver<Permissions>,
    pub(super) terminal: TerminalSession,
    pub(super) router: Router,
    /// The recording and the past conversation.
    pub(super) sources: Arc<OutputSources>,
    /// Longest line that is parsed, in bytes.
    pub(super) max_line: usize,
}

impl DialogueSession {
    /// Returns the id of the session, which the registry and all events refer to.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.terminal.id()
    }

    /// Returns the protocol that the agent speaks.
    #[must_use]
    pub fn dialect(&self) -> DialectName {
        self.sources.dialect
    }

    /// Returns the events of the session from now on, with default limits. The stream ends with the
    /// session.
    #[must_use]
    pub fn events(&self) -> DialogueEvents {
        self.subscribe(EventLimits::default())
    }

    /// Returns the events of the session from now on. A subscriber that falls behind the limits
    /// receives [`Lagged`](crate::DialogueEventKind::Lagged) in place of what it missed, and delays
    /// nothing else.
    #[must_use]
    pub fn subscribe(&self, limits: EventLimits) -> DialogueEvents {
        self.router.subscribe(limits)
    }

    /// Returns the state of the connection to the agent's machine.
    #[must_use]
    pub fn connection(&self) -> watch::Receiver<ConnectionState> {
        self.terminal.connection()
    }

    /// Returns the states of that connection from the current one on, until the session ends. None of them
    /// is skipped as in a watch. They do not keep the session alive.
    #[must_use]
    pub fn connection_states(&self) -> ConnectionStates {
        self.terminal.connection_states()
    }

    /// Tries once more to reach the agent's machine, after reconnecting has failed.
    ///
    /// # Errors
    ///
    /// Reconnecting has not failed, or the failure is permanent.
    pub fn retry(&self) -> Result<(), RetryError> {
        self.terminal.retry()
    }

    /// Returns the agent's process id on its own machine.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.terminal.pid()
    }

    /// Sends a prompt. A prompt without a uuid gets a random one.
    ///
    /// A prompt that is sent during a turn waits for its end; the agent may answer several prompts in
    /// one turn. The receipt follows the delivery of this one.
    ///
    /// # Errors
    ///
    /// The session has ended, the prompt is empty, or its uuid was used before.
    pub async fn send(&self, prompt: impl Into<Prompt>) -> Result<Receipt, DialogueError> {
        let mut prompt = prompt.into();
        let uuid = prompt
            .uuid
            .get_or_insert_with(|| Uuid::new_v4().to_string())
            .clone();
        let (states, state) = watch::channel(ReceiptState::Accepted);
        let (reply, accepted) = oneshot::channel();
        self.post(Message::Send {
            prompt,
            states,
            reply,
        })?;
        accepted.await.map_err(|_| DialogueError::Ended)??;
        Ok(Receipt { uuid, state })
    }

    /// Sends a signal to the agent's process.
    ///
    /// # Errors
    ///
    /// The agent has exited.
    pub fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        self.terminal.signal(signal)
    }

    /// Ends the session in order: open prompts are answered first, then the agent is asked to exit.
    /// After the configured grace period it is terminated.
    pub async fn end(&self) -> DialogueEnd {
        // Fails only if the session has ended already.
        let _ = self.command(Command::End).await;
        self.ended().await
    }

    /// Terminates the agent and all its descendants. Returns when nothing of the session is left.
    /// Idempotent: every caller gets the same result.
    pub async fn terminate(&self) -> DialogueEnd {
        // Fails only if the session has ended already.
        let _ = self.command(Command::Terminate).await;
        self.ended().await
    }

    /// Requests the termination without waiting for it. The driver carries it out even if no handle is left.
    pub(super) fn request_termination(&self) {
        let (reply, _) = oneshot::channel();
        let command = Box::new(Command::Terminate);
        // An error means that the session has ended already.
        let _ = self.post(Message::Command { command, reply });
    }

    /// Waits for the end of the session.
    ///
    /// Cancel safe.
    pub async fn ended(&self) -> DialogueEnd {
        self.last().await.end.clone()
    }

    /// Returns whether the session has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.reader.has_ended()
    }

    /// Returns whether the session has ended here and its agent continues at a runner.
    #[must_use]
    pub fn is_detached(&self) -> bool {
        self.reader.ended().is_some_and(|it| it.end.detached)
    }

    pub(super) async fn last(&self) -> Arc<EndedSession> {
        let last = self.reader.last().await;
        last.expect("the driver publishes the end before it stops")
    }

    pub(super) async fn command(&self, command: Command) -> Result<Reply, DialogueError> {
        message::command(&self.messages, command).await
    }

    pub(super) fn post(&self, message: Message) -> Result<(), DialogueError> {
        let sent = self.messages.send(message);
        sent.map_err(|_| DialogueError::Ended)
    }
}

impl fmt::Debug for DialogueSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DialogueSession")
            .field("pid", &self.pid())
            .finish_non_exhaustive()
    }
}
