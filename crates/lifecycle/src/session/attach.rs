//! Spawning an agent here or at a runner, attaching to one at a runner, and detaching from it.

use bowline_transport::wire::SessionKind;
use bowline_transport::{
    Attachment, LogLimits, OutputReader, Remote, RemoteOrder, SessionId, Stream, TerminalEngine,
    TerminalSession,
};
use tracing::Instrument as _;
use uuid::Uuid;

use super::driver::Message;
use super::recording::Recorder;
use super::{DialogueEnd, DialogueSession, now_ms, spans};
use crate::configuration::{AgentLocation, DialogueConfiguration};
use crate::error::{DialogueError, StartError};
use crate::events::{DialogueEvents, EventLimits};
use crate::machine::{Limits, Machine};

<<<<<<< HEAD:crates/lifecycle/src/session/attach.rs
/// The log keeps no history: output is folded as it arrives, and late readers have the transcript.
fn log_limits() -> LogLimits {
=======
/// Starts the agent's process. What it says is folded as it comes, so that its logs keep nothing
/// for readers that come later: they have the transcript.
pub(super) async fn start(
    configuration: &DialogueConfiguration,
) -> Result<(TerminalSession, OutputReader), StartError> {
    let mut terminal = configuration.terminal()?;
    match &configuration.place {
        Place::Here => {
            terminal.limits.history_bytes = 0;
            Ok(TerminalEngine.make_session_with_reader(terminal)?)
        }
        Place::Runner(remote) => {
            terminal.limits = limits();
            let order = RemoteOrder::new(SessionKind::Dialogue, terminal);
            Ok(TerminalEngine.make_remote_tapped(remote, &order).await?)
        }
    }
}

fn limits() -> LogLimits {
>>>>>>> d499693 (transport: document sessions and links in plain technical terms):crates/lifecycle/src/session/place.rs
    LogLimits {
        history_bytes: 0,
        ..LogLimits::default()
    }
}

/// Spawns the agent's process.
pub(super) async fn spawn(
    configuration: &DialogueConfiguration,
) -> Result<(TerminalSession, OutputReader), StartError> {
    let mut terminal = configuration.terminal()?;
    match &configuration.location {
        AgentLocation::Local => {
            terminal.limits.history_bytes = 0;
            Ok(TerminalEngine.make_session_with_reader(terminal)?)
        }
        AgentLocation::Runner(remote) => {
            terminal.limits = log_limits();
            let order = RemoteOrder::new(SessionKind::Dialogue, terminal);
            Ok(TerminalEngine.make_remote_tapped(remote, &order).await?)
        }
    }
}

impl DialogueSession {
    /// Attaches to a session at a runner, for example after the host that started it has exited. The
    /// agent's output since its start is folded first. The agent is not initialized again, and the
    /// host that drove the session until now is fenced off.
    ///
    /// Settings of the configuration about the start of an agent are ignored.
    ///
    /// # Errors
    ///
    /// The runner cannot be reached, rejects the credentials or does not have the session, or the
    /// recording cannot be created.
    pub async fn attach(
        remote: &Remote,
        session: SessionId,
        configuration: DialogueConfiguration,
    ) -> Result<Self, StartError> {
        let (session, _) = Self::attach_inner(remote, session, configuration, None).await?;
        Ok(session)
    }

    /// Like [`attach`](Self::attach), with a subscription that receives the events of all output
    /// since the agent's start.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach).
    pub async fn attach_with_events(
        remote: &Remote,
        session: SessionId,
        configuration: DialogueConfiguration,
        limits: EventLimits,
    ) -> Result<(Self, DialogueEvents), StartError> {
        let attached = Self::attach_inner(remote, session, configuration, Some(limits)).await?;
        let (session, events) = attached;
        let events = events.unwrap_or_else(|| session.subscribe(limits));
        Ok((session, events))
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

    async fn attach_inner(
        remote: &Remote,
        session: SessionId,
        configuration: DialogueConfiguration,
        events: Option<EventLimits>,
    ) -> Result<(Self, Option<DialogueEvents>), StartError> {
        let recorder = Recorder::create(configuration.record.as_deref()).await?;
        let attachment = Attachment {
            limits: log_limits(),
            ..Attachment::default()
        };
        let attached = TerminalEngine
            .attach_remote_tapped(remote, session, attachment)
            .instrument(spans::attach_span(session))
            .await;
        let (terminal, streams) = match attached {
            Ok(attached) => attached,
            Err(error) => {
                Recorder::discard(recorder).await;
                return Err(error.into());
            }
        };
        let history = terminal.joined_at(Stream::Output);
        let salt = Uuid::new_v4().simple().to_string();
        let limits = Limits::from(&configuration);
        let machine = Machine::resuming(limits, now_ms(), history, &salt);
        let attached = (terminal, streams);
        Ok(Self::drive(
            machine,
            attached,
            &configuration,
            recorder,
            events,
        ))
    }
}
