//! The handle of a dialogue session.

mod driver;
mod record;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_jsonl::{Decision, HostRequest, Prompt};
use bowline_reducer::{Changes, Cursor, Revision, Transcript};
use bowline_transport::{
    Exit, Signal, SignalError, Tap, TerminalEngine, TerminalSession, TerminationReport,
};
use tokio::sync::{mpsc, oneshot, watch};
use uuid::Uuid;

use crate::configuration::DialogueConfiguration;
use crate::error::{DialogueError, StartError};
use crate::machine::{Command, Limits, Machine, ReceiptState, Reply};
use crate::stderr::StderrReport;

use self::driver::{Driver, Message};
use self::record::Recorder;

/// A dialogue session: an agent's process and its conversation as one thing.
///
/// A cheap handle; clones are handles of the same session. Dropping the last one terminates it.
#[derive(Clone)]
pub struct DialogueSession {
    messages: mpsc::UnboundedSender<Message>,
    revision: watch::Receiver<Revision>,
    ended: watch::Receiver<Option<Arc<Final>>>,
    terminal: TerminalSession,
}

/// What is left of a session when it is over.
#[derive(Debug)]
struct Final {
    end: Ended,
    machine: Mutex<Machine>,
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

/// What becomes of one prompt.
#[derive(Clone, Debug)]
pub struct Receipt {
    uuid: String,
    state: watch::Receiver<ReceiptState>,
}

impl DialogueSession {
    /// Starts an agent. Its output is read from the first byte on; when an error comes back,
    /// nothing was started.
    ///
    /// # Errors
    ///
    /// The agent cannot be found or run, or the recording cannot be made.
    pub async fn start(configuration: DialogueConfiguration) -> Result<Self, StartError> {
        let recorder = Recorder::create(configuration.record.as_deref()).await?;
        let (terminal, tap) = match terminal(&configuration) {
            Ok(started) => started,
            Err(error) => {
                Recorder::discard(recorder).await;
                return Err(error);
            }
        };
        let epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let epoch_ms = u64::try_from(epoch.as_millis()).unwrap_or(u64::MAX);
        let machine = Machine::new(Limits::from(&configuration), epoch_ms);
        let (messages, inbox) = mpsc::unbounded_channel();
        let (driver, (revision, ended)) = Driver::new(
            machine,
            (terminal.clone(), tap),
            configuration.ladder,
            inbox,
            recorder,
        );
        tokio::spawn(Box::new(driver).run());
        Ok(Self {
            messages,
            revision,
            ended,
            terminal,
        })
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

    /// Answers a permission request. The first answer counts.
    ///
    /// # Errors
    ///
    /// The session has ended, there is no such request, it was answered or withdrawn before, or a
    /// part of the decision is not JSON.
    pub async fn answer_permission(
        &self,
        request_id: impl Into<String>,
        decision: Decision,
    ) -> Result<(), DialogueError> {
        let request_id = request_id.into();
        self.command(Command::Answer {
            request_id,
            decision,
        })
        .await
        .map(drop)
    }

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

/// Starts the agent's process. What it says is folded as it comes, so that its logs keep nothing
/// for readers that come later: they have the transcript.
fn terminal(configuration: &DialogueConfiguration) -> Result<(TerminalSession, Tap), StartError> {
    let mut configuration = configuration.terminal()?;
    configuration.limits.history_bytes = 0;
    Ok(TerminalEngine.make_tapped(configuration)?)
}

impl fmt::Debug for DialogueSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DialogueSession")
            .field("pid", &self.pid())
            .finish_non_exhaustive()
    }
}

impl Receipt {
    /// The prompt's uuid.
    #[must_use]
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    /// How far the prompt has come.
    #[must_use]
    pub fn state(&self) -> ReceiptState {
        *self.state.borrow()
    }

    /// Waits until the prompt has come at least this far, or will not come further; gives where it
    /// stands.
    pub async fn reached(&mut self, state: ReceiptState) -> ReceiptState {
        let there = self
            .state
            .wait_for(|now| *now >= state || now.is_final())
            .await
            .map(|it| *it);
        there.unwrap_or(ReceiptState::Unknown)
    }

    /// Waits until nothing more will come of the prompt.
    pub async fn settled(&mut self) -> ReceiptState {
        self.reached(ReceiptState::Answered).await
    }
}

#[cfg(test)]
mod tests;
