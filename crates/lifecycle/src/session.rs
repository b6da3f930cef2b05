//! The handle of a dialogue session.

mod activity;
mod control;
mod driver;
mod interrupt;
mod older;
mod outside;
mod place;
mod receipt;
mod record;
mod trace;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_jsonl::Prompt;
use bowline_reducer::{Changes, Cursor, Revision, Transcript};
use bowline_transport::{
    ConnectionState, Exit, OutputReader, RetryError, SessionId, Signal, SignalError,
    TerminalSession, TerminationReport,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::configuration::{Conversation, DialogueConfiguration};
use crate::error::{DialogueError, StartError};
use crate::events::{DialogueEvents, EventLimits, Router};
use crate::machine::{Command, Limits, Machine, ReceiptState, Reply};
use crate::permission::PermissionAnswer;
use crate::registry::{Registration, TerminalRegistry};
use crate::stderr::StderrReport;

pub use self::activity::LastActivity;
pub use self::interrupt::{InterruptScope, Interrupted};
pub use self::older::OlderError;
pub use self::receipt::Receipt;

use self::driver::{Driver, Message};
use self::outside::Outside;
use self::record::{Copied, Recorder};
use self::trace::Tracer;

/// A dialogue session: an agent's process and its conversation as one thing.
///
/// A cheap handle; clones are handles of the same session. Dropping the last one terminates it.
#[derive(Clone)]
pub struct DialogueSession {
    messages: mpsc::UnboundedSender<Message>,
    revision: watch::Receiver<Revision>,
    ended: watch::Receiver<Option<Arc<Final>>>,
    terminal: TerminalSession,
    router: Router,
    /// What was said can be read again there.
    copied: Option<Arc<Copied>>,
    /// Longest line that is parsed, in bytes.
    max_line: usize,
}

/// Reaches a dialogue while it lives, and does not keep it alive.
#[derive(Clone)]
pub(crate) struct WeakDialogue {
    messages: mpsc::WeakUnboundedSender<Message>,
}

impl WeakDialogue {
    /// Answers a permission request.
    pub(crate) async fn answer(
        &self,
        request_id: String,
        answer: PermissionAnswer,
        by: Option<String>,
    ) -> Result<(), DialogueError> {
        let (reply, done) = oneshot::channel();
        let command = Command::Answer {
            request_id,
            answer,
            by,
        };
        let messages = self.messages.upgrade().ok_or(DialogueError::Ended)?;
        let message = Message::Command { command, reply };
        messages.send(message).map_err(|_| DialogueError::Ended)?;
        done.await.map_err(|_| DialogueError::Ended)?.map(drop)
    }
}

/// What is left of a session when it is over.
#[derive(Debug)]
struct Final {
    end: Ended,
    machine: Mutex<Machine>,
    start: Instant,
}

/// How a session ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ended {
    /// How the agent's process ended.
    pub exit: Exit,
    /// Whether the host had asked for it.
    pub expected: bool,
    /// The end in words.
    pub reason: String,
    /// What was killed, and whether anything survived.
    pub report: TerminationReport,
    /// What the agent wrote to standard error.
    pub stderr: StderrReport,
    /// Why the recording is not whole, if one was asked for and it is not.
    pub recording_failed: Option<String>,
}

impl DialogueSession {
    /// Starts an agent. Its output is read from the first byte on; when an error comes back,
    /// nothing was started.
    ///
    /// # Errors
    ///
    /// The conversation is not there, the agent cannot be found or run, or the recording cannot be
    /// made.
    pub async fn start(configuration: DialogueConfiguration) -> Result<Self, StartError> {
        let (session, _) = Self::start_heard(configuration, None).await?;
        Ok(session)
    }

    /// As [`start`](Self::start), with a subscription that hears of everything from the beginning.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_subscribed(
        configuration: DialogueConfiguration,
        limits: EventLimits,
    ) -> Result<(Self, DialogueEvents), StartError> {
        let (session, events) = Self::start_heard(configuration, Some(limits)).await?;
        let events = events.unwrap_or_else(|| session.subscribe(limits));
        Ok((session, events))
    }

    async fn start_heard(
        configuration: DialogueConfiguration,
        limits: Option<EventLimits>,
    ) -> Result<(Self, Option<DialogueEvents>), StartError> {
        let configuration = configuration.verified()?;
        let recorder = Recorder::create(configuration.record.as_deref()).await?;
        let started = match place::start(&configuration).await {
            Ok(started) => started,
            Err(error) => {
                Recorder::discard(recorder).await;
                return Err(error);
            }
        };
        let machine = Machine::new(Limits::from(&configuration), now_ms());
        Ok(Self::begin(
            machine,
            started,
            &configuration,
            recorder,
            limits,
        ))
    }

    /// Gives a machine a task, and the task a handle.
    fn begin(
        machine: Machine,
        (terminal, tap): (TerminalSession, OutputReader),
        configuration: &DialogueConfiguration,
        recorder: Option<Recorder>,
        limits: Option<EventLimits>,
    ) -> (Self, Option<DialogueEvents>) {
        let (messages, inbox) = mpsc::unbounded_channel();
        let router = Router::new(terminal.id());
        let events = limits.map(|limits| router.subscribe(limits));
        let span = trace::session_span(terminal.id(), terminal.pid());
        let outside = Outside {
            router: router.clone(),
            registration: register(&terminal, &messages, &configuration.conversation),
            tracer: Tracer::new(&span),
            _files: configuration.options.private_files(),
        };
        let copied = recorder.as_ref().map(|it| Arc::new(it.copied()));
        let (driver, (revision, ended)) = Driver::new(
            machine,
            (terminal.clone(), tap),
            configuration.ladder,
            inbox,
            recorder,
            outside,
        );
        tokio::spawn(Box::new(driver).run().instrument(span));
        let session = Self {
            messages,
            revision,
            ended,
            terminal,
            router,
            copied,
            max_line: configuration.max_line,
        };
        (session, events)
    }

    /// The name of the session's terminal, as the registry and every event have it.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.terminal.id()
    }

    /// What happens in the session from now on. A subscriber that is too slow is told how much he
    /// has missed; nobody waits for him.
    #[must_use]
    pub fn subscribe(&self, limits: EventLimits) -> DialogueEvents {
        self.router.subscribe(limits)
    }

    /// How the link to the agent's machine stands, now and from now on.
    #[must_use]
    pub fn connection(&self) -> watch::Receiver<ConnectionState> {
        self.terminal.connection()
    }

    /// Tries once more to reach the agent's machine after the link was given up.
    ///
    /// # Errors
    ///
    /// The link is not given up, or no retry mends what is wrong with it.
    pub fn retry(&self) -> Result<(), RetryError> {
        self.terminal.retry()
    }

    /// The agent's process id.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.terminal.pid()
    }

    /// Sends a prompt. A prompt without a uuid gets a fresh one.
    ///
    /// Prompts that are sent while a turn runs wait their turn; the agent may answer several in
    /// one. The receipt tells what becomes of this one.
    ///
    /// # Errors
    ///
    /// The session has ended, the prompt is empty, or its uuid was used before.
    pub async fn send(&self, mut prompt: Prompt) -> Result<Receipt, DialogueError> {
        let uuid = prompt
            .uuid
            .get_or_insert_with(|| Uuid::new_v4().to_string())
            .clone();
        let (states, state) = watch::channel(ReceiptState::Accepted);
        let (reply, answer) = oneshot::channel();
        self.post(Message::Send {
            prompt,
            states,
            reply,
        })?;
        answer.await.map_err(|_| DialogueError::Ended)??;
        Ok(Receipt { uuid, state })
    }

    /// Answers a permission request: with a [`Decision`](bowline_jsonl::Decision), or with an
    /// answer of the shape that a question or a plan wants. The first answer counts. The same answer
    /// once more is no error, so that a host may repeat what it is not sure of: it is sent again if
    /// its line could not be written, or another host took the session meanwhile.
    ///
    /// # Errors
    ///
    /// The session has ended, there is no such request, it was answered or withdrawn before, the
    /// answer does not fit the request, or a part of it is not JSON.
    pub async fn answer_permission(
        &self,
        request_id: impl Into<String>,
        answer: impl Into<PermissionAnswer>,
    ) -> Result<(), DialogueError> {
        self.answer_as(request_id, answer, None).await
    }

    /// As [`answer_permission`](Self::answer_permission), in the name of one of several clients: who
    /// is too late is told who was first.
    ///
    /// # Errors
    ///
    /// As [`answer_permission`](Self::answer_permission).
    pub async fn answer_permission_as(
        &self,
        by: impl Into<String>,
        request_id: impl Into<String>,
        answer: impl Into<PermissionAnswer>,
    ) -> Result<(), DialogueError> {
        self.answer_as(request_id, answer, Some(by.into())).await
    }

    async fn answer_as(
        &self,
        request_id: impl Into<String>,
        answer: impl Into<PermissionAnswer>,
        by: Option<String>,
    ) -> Result<(), DialogueError> {
        let command = Command::Answer {
            request_id: request_id.into(),
            answer: answer.into(),
            by,
        };
        self.command(command).await.map(drop)
    }

    /// Keeps prompts back from now on, and returns when the agent has answered those that it has.
    /// A prompt that is sent meanwhile is [accepted](ReceiptState::Accepted) and waits.
    ///
    /// # Errors
    ///
    /// The session has ended, or ends before the pause begins.
    pub async fn pause(&self) -> Result<(), DialogueError> {
        self.command(Command::Pause).await.map(drop)
    }

    /// Ends a [pause](Self::pause): what was kept back is sent, in its order.
    ///
    /// # Errors
    ///
    /// The session has ended.
    pub async fn unpause(&self) -> Result<(), DialogueError> {
        self.command(Command::Unpause).await.map(drop)
    }

    /// Sends a signal to the agent. What follows from it is up to the agent.
    ///
    /// # Errors
    ///
    /// The agent has ended.
    pub fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        self.terminal.signal(signal)
    }

    /// Ends the session in order: open prompts are answered first, then the agent is asked to
    /// exit. After the configured grace it is terminated.
    pub async fn end(&self) -> Ended {
        // A session that has ended already is what was asked for.
        let _ = self.command(Command::End).await;
        self.ended().await
    }

    /// Ends the session now: the agent and every process that came of it. Any number of callers
    /// get the same answer, when nothing of the session is left.
    pub async fn terminate(&self) -> Ended {
        let _ = self.command(Command::Terminate).await;
        self.ended().await
    }

    /// Waits for the end of the session, whoever brings it about.
    pub async fn ended(&self) -> Ended {
        self.last().await.end.clone()
    }

    /// Runs `read` on the transcript, in the task that owns it or on what is left of it.
    ///
    /// `read` is to be short: the session waits for it. Whatever changes behind it gets a newer
    /// revision, so that a reader may look, and then wait with [`DialogueSession::newer_than`].
    ///
    /// # Panics
    ///
    /// When `read` panics. The session goes on.
    pub async fn inspect<T, F>(&self, read: F) -> T
    where
        T: Send + 'static,
        F: FnOnce(&mut Transcript) -> T + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(move |transcript: &mut Transcript| {
            // Whoever asked may be gone.
            let _ = reply.send(read(transcript));
        });
        if let Err(mpsc::error::SendError(Message::Inspect(job))) =
            self.messages.send(Message::Inspect(job))
        {
            let last = self.last().await;
            let mut machine = last.machine.lock().unwrap_or_else(PoisonError::into_inner);
            job(machine.transcript());
        }
        answer
            .await
            .expect("a reader of the transcript must not panic")
    }

    /// What has changed since `cursor`, and the cursor to ask with the next time. Reading takes
    /// nothing away: any number of readers, each with its own cursor, see everything.
    ///
    /// The changes borrow the transcript, so `read` takes from them what it needs.
    pub async fn changes_since<T, F>(&self, cursor: Cursor, read: F) -> (Cursor, T)
    where
        T: Send + 'static,
        F: FnOnce(&Changes<'_>) -> T + Send + 'static,
    {
        self.inspect(move |transcript| {
            let changes = transcript.changes_since(cursor);
            (changes.cursor(), read(&changes))
        })
        .await
    }

    /// Waits until the transcript is newer than `revision`, or the session has ended.
    pub async fn newer_than(&self, revision: Revision) {
        let mut newest = self.revision.clone();
        // The sender is gone when the session has ended.
        let _ = newest.wait_for(|newest| *newest > revision).await;
    }

    /// Whether the session has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    async fn last(&self) -> Arc<Final> {
        let mut ended = self.ended.clone();
        let known = ended
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|last| last.clone());
        known.expect("the driver says how it ended before it goes")
    }

    async fn command(&self, command: Command) -> Result<Reply, DialogueError> {
        let (reply, answer) = oneshot::channel();
        self.post(Message::Command { command, reply })?;
        answer.await.map_err(|_| DialogueError::Ended)?
    }

    fn post(&self, message: Message) -> Result<(), DialogueError> {
        self.messages
            .send(message)
            .map_err(|_| DialogueError::Ended)
    }
}

/// The wall clock, in milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// Puts an agent's terminal into the list of this process.
fn register(
    terminal: &TerminalSession,
    messages: &mpsc::UnboundedSender<Message>,
    conversation: &Conversation,
) -> Registration {
    let dialogue = WeakDialogue {
        messages: messages.downgrade(),
    };
    let shared = TerminalRegistry::shared();
    let registration = shared.register_dialogue(terminal, dialogue);
    if matches!(
        conversation,
        Conversation::Resume { .. } | Conversation::Continue
    ) {
        registration.count(|it| it.restarts += 1);
    }
    registration
}

impl fmt::Debug for DialogueSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DialogueSession")
            .field("pid", &self.pid())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
