//! Starting a session: the agent is spawned, and a task drives it.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_transport::{Inbox, OutputReader, TerminalSession};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tracing::{Instrument as _, Span};

use super::driver::DriverTask;
use super::handle::DialogueSession;
use super::observers::{ClosingRouter, Observers};
use super::reader::TranscriptReader;
use super::recording::{OutputSources, Recorder, SessionLog};
use super::spans::{self, SessionSpans};
use super::spawn;
use crate::configuration::DialogueConfiguration;
use crate::conversations::Conversation;
use crate::error::StartError;
use crate::events::{DialogueEvents, EventLimits, Router};
use crate::machine::{Limits, Machine};
use crate::message::WeakDialogue;
use crate::permission::Permissions;
use crate::registry::{Registration, TerminalRegistry};

impl DialogueSession {
    /// Starts an agent. Its output is read from the first byte on. After an error, nothing runs and
    /// no file is left, except the recording of what an agent said before it refused the session.
    ///
    /// # Errors
    ///
    /// The conversation does not exist, the agent cannot be found or started or refuses the session, or the
    /// recording cannot be created.
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
        configuration.check_dialect()?;
        let mut configuration = configuration.verified()?;
        let recorder = Recorder::create(configuration.record.as_deref()).await?;
        let spawned = spawn::spawn(&configuration)
            .instrument(spans::start_span(&configuration))
            .await;
        let spawned = match spawned {
            Ok(spawned) => spawned,
            Err(error) => {
                Recorder::discard(recorder).await;
                return Err(error);
            }
        };
        if let Some(past) = &spawned.past {
            configuration.history = Some(past.clone());
        }
        let mut machine = machine(&configuration).await;
        let (terminal, streams) = spawned.release();
        machine.set_epoch(now_ms());
        if terminal.input_at_attach().is_some() {
            machine.follow_input(0);
        }
        machine.begin();
        let is_open = machine.handshake().is_some();
        let attached = (terminal, streams);
        let (session, events) = drive(machine, attached, &configuration, recorder, limits);
        if is_open {
            return Ok((session, events));
        }
        let opening = Opening(Some(session.clone()));
        let opened = session.shake_hands().await;
        opening.done();
        if let Err(error) = opened {
            session.terminate().await;
            if let Some(recording) = &configuration.record {
                Recorder::discard_empty(recording).await;
            }
            return Err(error.into());
        }
        Ok((session, events))
    }
}

/// A session in its handshake. Dropped, it terminates the agent, at a runner too: the caller never got the
/// session.
struct Opening(Option<DialogueSession>);

impl Opening {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.request_termination();
        }
    }
}

/// Creates the machine of a new session. A past conversation is folded off the reactor.
async fn machine(configuration: &DialogueConfiguration) -> Machine {
    let limits = Limits::from(configuration);
    let opening = configuration.opening();
    let mut machine = Machine::silent(configuration.dialect, opening, limits, now_ms());
    machine.set_policy(configuration.policy.clone(), configuration.is_local());
    machine.set_budget(configuration.budget);
    machine.set_resume_prompt(configuration.resume_at_reset.clone());
    with_history(machine, configuration.history.clone()).await
}

/// Folds a past conversation off the reactor.
pub(super) async fn with_history(mut machine: Machine, history: Option<Bytes>) -> Machine {
    let Some(history) = history else {
        return machine;
    };
    let folded = spawn_blocking(move || {
        machine.fold_history(history);
        machine
    });
    folded
        .await
        .unwrap_or_else(|error| resume_unwind(error.into_panic()))
}

/// Spawns the task that drives a machine, and returns a handle of it.
pub(super) fn drive(
    machine: Machine,
    (terminal, streams): (TerminalSession, OutputReader),
    configuration: &DialogueConfiguration,
    recorder: Option<Recorder>,
    limits: Option<EventLimits>,
) -> (DialogueSession, Option<DialogueEvents>) {
    let (session, events, driver) = prepare(
        machine,
        (terminal, streams),
        configuration,
        recorder,
        limits,
    );
    driver.spawn();
    (session, events)
}

/// Returns the task that drives a machine, and a handle of it.
pub(super) fn prepare(
    machine: Machine,
    (terminal, streams): (TerminalSession, OutputReader),
    configuration: &DialogueConfiguration,
    recorder: Option<Recorder>,
    limits: Option<EventLimits>,
) -> (DialogueSession, Option<DialogueEvents>, PreparedDriver) {
    let (messages, inbox) = Inbox::new();
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
        last_state: None,
        _files: configuration.options.private_files(),
    };
    let sources = Arc::new(OutputSources {
        log: SessionLog::new(configuration.kept_output),
        history: configuration.history.clone(),
        dialect: configuration.dialect,
        started_ms: now_ms(),
        settings: configuration.summary().to_string().into(),
    });
    if let Some(recorder) = recorder {
        // A session that has not begun has no other recording.
        let _ = sources.log.record(recorder, &terminal);
    }
    let (mut driver, (revision, ended)) = DriverTask::new(
        machine,
        (terminal.clone(), streams),
        configuration.termination,
        inbox,
        Arc::clone(&sources),
        observers,
    );
    if let Some(budget) = &configuration.shared_budget {
        driver.share(budget);
    }
    let session = DialogueSession {
        reader: TranscriptReader {
            messages: messages.downgrade(),
            revision,
            ended,
        },
        messages,
        permissions: published,
        terminal,
        router,
        sources,
        max_line: configuration.max_line,
    };
    (session, events, PreparedDriver { driver, span })
}

/// A driver that does not run yet.
pub(super) struct PreparedDriver {
    pub(super) driver: DriverTask,
    span: Span,
}

impl PreparedDriver {
    pub(super) fn spawn(self) {
        tokio::spawn(self.driver.run().instrument(self.span));
    }
}

/// Returns the wall clock in milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
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
