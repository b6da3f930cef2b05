//! Where an agent runs, and how a host comes to it.

use bowline_transport::wire::SessionKind;
use bowline_transport::{
    Attachment, LogLimits, OutputReader, Remote, RemoteOrder, SessionId, Stream, TerminalEngine,
    TerminalSession,
};
use uuid::Uuid;

use super::driver::Message;
use super::record::Recorder;
use super::{DialogueSession, Ended, now_ms};
use crate::configuration::{DialogueConfiguration, Place};
use crate::error::{DialogueError, StartError};
use crate::events::{DialogueEvents, EventLimits};
use crate::machine::{Limits, Machine};

/// Starts the agent's process. What it says is folded as it comes, so that its logs keep nothing
/// for readers that come later: they have the transcript.
pub(super) async fn start(
    configuration: &DialogueConfiguration,
) -> Result<(TerminalSession, OutputReader), StartError> {
    let mut terminal = configuration.terminal()?;
    match &configuration.place {
        Place::Here => {
            terminal.limits.history_bytes = 0;
            Ok(TerminalEngine.make_tapped(terminal)?)
        }
        Place::Runner(remote) => {
            terminal.limits = limits();
            let order = RemoteOrder::new(SessionKind::Dialogue, terminal);
            Ok(TerminalEngine.make_remote_tapped(remote, &order).await?)
        }
    }
}

fn limits() -> LogLimits {
    LogLimits {
        history_bytes: 0,
        ..LogLimits::default()
    }
}

impl DialogueSession {
    /// Goes on with a dialogue that a runner has kept, as after the end of the host that started
    /// it. Everything that the agent has said since its start is folded first, by the code that
    /// folds what it says now; the agent is not registered with again. Whoever drove the dialogue
    /// until now is fenced.
    ///
    /// What the configuration says of the start is not looked at: the agent runs.
    ///
    /// # Errors
    ///
    /// The runner cannot be reached, does not let this host in or does not have the session, or the
    /// recording cannot be made.
    pub async fn attach(
        remote: &Remote,
        session: SessionId,
        configuration: DialogueConfiguration,
    ) -> Result<Self, StartError> {
        let (session, _) = Self::attach_heard(remote, session, configuration, None).await?;
        Ok(session)
    }

    /// As [`attach`](Self::attach), with a subscription that hears of everything that the agent has
    /// said, from its start on.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach).
    pub async fn attach_subscribed(
        remote: &Remote,
        session: SessionId,
        configuration: DialogueConfiguration,
        limits: EventLimits,
    ) -> Result<(Self, DialogueEvents), StartError> {
        let attached = Self::attach_heard(remote, session, configuration, Some(limits)).await?;
        let (session, events) = attached;
        let events = events.unwrap_or_else(|| session.subscribe(limits));
        Ok((session, events))
    }

    /// Lets go of a dialogue that a runner keeps: the agent goes on, and this session ends for all
    /// of its handles as if it had been asked to. What was sent and not written yet is lost.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent is a child of this process and has no other keeper.
    pub async fn detach(&self) -> Result<Ended, DialogueError> {
        if !self.terminal.is_remote() {
            return Err(DialogueError::NotKept);
        }
        self.post(Message::Detach)?;
        Ok(self.ended().await)
    }

    async fn attach_heard(
        remote: &Remote,
        session: SessionId,
        configuration: DialogueConfiguration,
        heard: Option<EventLimits>,
    ) -> Result<(Self, Option<DialogueEvents>), StartError> {
        let recorder = Recorder::create(configuration.record.as_deref()).await?;
        let attachment = Attachment {
            limits: limits(),
            ..Attachment::default()
        };
        let attached = TerminalEngine.attach_remote_tapped(remote, session, attachment);
        let (terminal, tap) = match attached.await {
            Ok(attached) => attached,
            Err(error) => {
                Recorder::discard(recorder).await;
                return Err(error.into());
            }
        };
        let history = terminal.joined_at(Stream::Output);
        let salt = Uuid::new_v4().simple().to_string();
        let limits = Limits::from(&configuration);
        let machine = Machine::resuming(limits, now_ms(), history, salt);
        Ok(Self::begin(
            machine,
            (terminal, tap),
            &configuration,
            recorder,
            heard,
        ))
    }
}
