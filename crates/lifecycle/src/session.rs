//! The handle of a dialogue session.

#[cfg(feature = "remote")]
mod attach;
mod builder;
pub mod change;
mod changes;
mod control;
mod driver;
mod interrupt;
mod observers;
mod pages;
mod permissions;
mod reader;
mod receipt;
mod recording;
mod spans;
mod spawn;

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_jsonl::Prompt;
use bowline_transport::{
    ConnectionState, Exit, OutputReader, RetryError, SessionId, Signal, SignalError,
    TerminalSession, TerminationReport,
};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::configuration::{Conversation, DialogueConfiguration};
use crate::error::{DialogueError, StartError};
use crate::events::{DialogueEvents, EventLimits, Router};
use crate::machine::{Command, Limits, Machine, ReceiptState, Reply};
use crate::permission::Permissions;
use crate::registry::{Registration, TerminalRegistry};
use crate::stderr::StderrReport;

pub use self::builder::SessionBuilder;
pub use self::changes::DialogueChanges;
pub use self::interrupt::{InterruptReport, InterruptScope};
pub use self::pages::PageError;
pub(crate) use self::permissions::WeakDialogue;
pub use self::reader::LastActivity;
pub use self::receipt::Receipt;

use self::driver::{Driver, Message};
use self::observers::{ClosingRouter, Observers};
use self::reader::TranscriptReader;
use self::recording::{RecordedOutput, Recorder};
use self::spans::SessionSpans;

/// A dialogue session: an agent's process and its conversation as one thing.
///
/// A cheap handle; clones are handles of the same session. Dropping the last handle terminates the
/// session.
#[derive(Clone)]
pub struct DialogueSession {
    messages: mpsc::UnboundedSender<Message>,
    reader: TranscriptReader,
    permissions: watch::Receiver<Permissions>,
    terminal: TerminalSession,
    router: Router,
    /// The recording, if there is one.
    recorded: Option<Arc<RecordedOutput>>,
    /// Longest line that is parsed, in bytes.
    max_line: usize,
}

/// What remains of a session after its end.
#[derive(Debug)]
struct EndedSession {
    end: DialogueEnd,
    machine: Mutex<Machine>,
    start: Instant,
}

/// How a dialogue session ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DialogueEnd {
    /// How the agent's process ended.
    pub exit: Exit,
    /// Whether the host requested it.
    pub expected: bool,
    /// A description of the end.
    pub reason: String,
    /// What was terminated, and whether any process survived.
    pub report: TerminationReport,
    /// The agent's standard error.
    pub stderr: StderrReport,
    /// Why the recording is incomplete, if one was requested and it is.
    pub recording_failed: Option<String>,
}

impl DialogueSession {
    /// Starts an agent. Its output is read from the first byte on. After an error, nothing runs and
    /// no file is left.
    ///
    /// # Errors
    ///
    /// The conversation does not exist, the agent cannot be found or started, or the recording cannot
    /// be created.
    pub async fn start(configuration: DialogueConfiguration) -> Result<Self, StartError> {
        let (session, _) = Self::start_inner(configuration, None).await?;
        Ok(session)
    }

    /// Like [`start`](Self::start), with a subscription that receives all events from the beginning.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_with_events(
        configuration: DialogueConfiguration,
        limits: EventLimits,
    ) -> Result<(Self, DialogueEvents), StartError> {
        let (session, events) = Self::start_inner(configuration, Some(limits)).await?;
        let events = events.unwrap_or_else(|| session.subscribe(limits));
        Ok((session, events))
    }

    async fn start_inner(
        configuration: DialogueConfiguration,
        limits: Option<EventLimits>,
    ) -> Result<(Self, Option<DialogueEvents>), StartError> {
        let configuration = configuration.verified()?;
        let recorder = Recorder::create(configuration.record.as_deref()).await?;
        let spawned = spawn::spawn(&configuration)
            .instrument(spans::spawn_span(&configuration))
            .await;
        let spawned = match spawned {
            Ok(spawned) => spawned,
            Err(error) => {
                Recorder::discard(recorder).await;
                return Err(error);
            }
        };
        let machine = Machine::new(Limits::from(&configuration), now_ms());
        let session = Self::drive(machine, spawned, &configuration, recorder, limits);
        Ok(session)
    }

    /// Spawns the task that drives a machine, and returns a handle of it.
    fn drive(
        machine: Machine,
        (terminal, streams): (TerminalSession, OutputReader),
        configuration: &DialogueConfiguration,
        recorder: Option<Recorder>,
        limits: Option<EventLimits>,
    ) -> (Self, Option<DialogueEvents>) {
        let (messages, inbox) = mpsc::unbounded_channel();
        let (permissions, published) = watch::channel(Permissions::default());
        let router = Router::new(terminal.id());
        let events = limits.map(|limits| router.subscribe(limits));
        let span = spans::session_span(&terminal);
        let dialogue = WeakDialogue::new(&messages, published.clone());
        let observers = Observers {
            router: ClosingRouter(router.clone()),
            permissions,
            registration: register(&terminal, dialogue, &configuration.conversation),
            spans: SessionSpans::new(&span),
            _files: configuration.options.private_files(),
        };
        let recorded = recorder.as_ref().map(|it| Arc::new(it.recorded()));
        let (driver, (revision, ended)) = Driver::new(
            machine,
            (terminal.clone(), streams),
            configuration.ladder,
            inbox,
            recorder,
            observers,
        );
        tokio::spawn(Box::new(driver).run().instrument(span));
        let session = Self {
            reader: TranscriptReader {
                messages: messages.downgrade(),
                revision,
                ended,
            },
            messages,
            permissions: published,
            terminal,
            router,
            recorded,
            max_line: configuration.max_line,
        };
        (session, events)
    }

    /// Returns the id of the session, which the registry and all events refer to.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.terminal.id()
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

    async fn last(&self) -> Arc<EndedSession> {
        let last = self.reader.last().await;
        last.expect("the driver publishes the end before it stops")
    }

    async fn command(&self, command: Command) -> Result<Reply, DialogueError> {
        let (reply, result) = oneshot::channel();
        self.post(Message::Command { command, reply })?;
        result.await.map_err(|_| DialogueError::Ended)?
    }

    fn post(&self, message: Message) -> Result<(), DialogueError> {
        let sent = self.messages.send(message);
        sent.map_err(|_| DialogueError::Ended)
    }
}

/// Returns the wall clock in milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// Lists an agent's terminal in the registry of this process.
fn register(
    terminal: &TerminalSession,
    dialogue: WeakDialogue,
    conversation: &Conversation,
) -> Registration {
    let registry = TerminalRegistry::shared();
    let registration = registry.register_dialogue(terminal, dialogue);
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
