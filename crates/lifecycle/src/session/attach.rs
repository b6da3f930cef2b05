//! Attaching to a session at a runner.

use bowline_reducer::dialect::DialectName;
use bowline_transport::wire::Lease;
use bowline_transport::{
    Attachment, ConnectionState, ReconnectFailed, Remote, RemoteError, SessionId, Stream,
    TerminalEngine,
};
use tokio::sync::{oneshot, watch};
use tracing::Instrument as _;
use uuid::Uuid;

use super::handle::DialogueSession;
use super::past::{labels, past};
use super::recording::Recorder;
use super::spans;
use super::spawn::log_limits;
use super::start::{drive, now_ms, with_history};
use crate::configuration::DialogueConfiguration;
use crate::control::is_driven;
use crate::error::StartError;
use crate::events::{DialogueEvents, EventLimits};
use crate::machine::{Limits, Machine, Opening};
use crate::message::Message;

impl DialogueSession {
    /// Attaches to a session at a runner, for example after the host that started it has exited.
    /// Returns when the agent's output until now is folded. The agent is not initialized again, and
    /// the host that drove the session until now is fenced off, unless the configuration
    /// [joins](DialogueConfiguration::joins) it.
    ///
    /// A session that the daemon of its runner drives has any number of hosts, and none is fenced off. Prompts,
    /// answers, interrupts, options and the end go to the daemon as intents; each completes when the daemon has
    /// carried it out, or with its error. Every host learns which client answered a permission request: one without
    /// a name has that of [`Remote::client`].
    ///
    /// Settings of the configuration about the start of an agent are ignored. The transcript begins with the past of a
    /// conversation that the session resumed, if its runner has it. The dialect is that of the
    /// session's record at the runner, unless the configuration names another one than Claude Code's.
    /// Dropping the future detaches.
    ///
    /// # Errors
    ///
    /// The runner cannot be reached, rejects the credentials or does not have the session, the
    /// connection fails or another host takes over before the output is folded, or the recording
    /// cannot be created.
    pub async fn attach(
        remote: &Remote,
        session: SessionId,
        configuration: DialogueConfiguration,
    ) -> Result<Self, StartError> {
        let (session, _) = Self::attach_inner(remote, session, configuration, None).await?;
        session.history_folded().await?;
        Ok(session)
    }

    /// Like [`attach`](Self::attach), with a subscription that receives the events of all output
    /// since the agent's start, except permission requests that are closed. Returns before that
    /// output is folded, so that the caller can take the events meanwhile; see
    /// [`history_folded`](Self::history_folded).
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

    async fn attach_inner(
        remote: &Remote,
        session: SessionId,
        configuration: DialogueConfiguration,
        events: Option<EventLimits>,
    ) -> Result<(Self, Option<DialogueEvents>), StartError> {
        let mut configuration = configuration;
        let labels = labels(remote, session).await?;
        if configuration.dialect == DialectName::default() && !labels.is_empty() {
            configuration.dialect = DialectName::of_labels(&labels);
        }
        configuration.history = past(remote, session, &labels).await?;
        let is_driven = is_driven(&labels);
        let recorder = Recorder::create(configuration.record.as_deref()).await?;
        let attachment = Attachment {
            limits: log_limits(configuration.kept_output),
            lease: if is_driven || configuration.joins {
                Lease::Append
            } else {
                Lease::Write
            },
            follows_control: is_driven,
            ..Attachment::default()
        };
        let attached = TerminalEngine
            .attach_remote_with_reader(remote, session, attachment)
            .instrument(spans::attach_span(session))
            .await;
        let (terminal, streams) = match attached {
            Ok(attached) => attached,
            Err(error) => {
                Recorder::discard(recorder).await;
                return Err(error.into());
            }
        };
        let joined_at = terminal.joined_at(Stream::Output);
        let salt = Uuid::new_v4().simple().to_string();
        let limits = Limits::from(&configuration);
        let opening = Opening {
            is_resumed: true,
            ..configuration.opening()
        };
        let mut machine = Machine::silent(configuration.dialect, opening, limits, now_ms());
        machine.set_policy(configuration.policy.clone(), false);
        machine.set_budget(configuration.budget);
        machine.set_resume_prompt(configuration.resume_at_reset.clone());
        if let Some(until) = terminal.input_at_attach() {
            machine.follow_input(until);
        }
        if is_driven {
            let until = terminal.control_at_attach().unwrap_or(0);
            machine.follow_driver(&remote.client, &salt, until);
        }
        let machine = with_history(machine, configuration.history.clone()).await;
        let machine = machine.registered(joined_at, &salt);
        let attached = (terminal, streams);
        Ok(drive(machine, attached, &configuration, recorder, events))
    }

    /// Waits until the agent's output before the attachment is folded, or the session has ended. Then the events about
    /// it are with the subscribers. Completes at once for a session that this host has started.
    ///
    /// # Errors
    ///
    /// The connection fails.
    pub async fn history_folded(&self) -> Result<(), RemoteError> {
        let (reply, folded) = oneshot::channel();
        // An error drops the reply: the session has ended.
        let _ = self.messages.send(Message::AwaitHistory(reply));
        let mut connection = self.terminal.connection();
        tokio::select! {
            _ = folded => Ok(()),
            Some(failed) = failure(&mut connection) => Err(RemoteError::Link {
                failure: failed.failure,
                detail: failed.detail,
            }),
        }
    }
}

/// Waits until the connection is given up. Returns `None` if it never will be.
async fn failure(connection: &mut watch::Receiver<ConnectionState>) -> Option<ReconnectFailed> {
    let state = connection.wait_for(ConnectionState::is_failed).await.ok()?;
    match &*state {
        ConnectionState::Failed(failed) => Some(failed.clone()),
        _ => None,
    }
}
