//! The session of a conversation: of this program, or at a runner.

use std::collections::VecDeque;
use std::sync::Arc;

use bowline_lifecycle::{
    Capabilities, DialogueConfiguration, DialogueEvents, DialogueSession, EventLimits,
    PermissionRecord, ReconnectFailed, Remote, SessionId,
};

use crate::args;
use crate::failure::Failure;
use crate::leases::ConversationLeases;
use crate::runner::{announced, unreachable_session};
use crate::text::one_line;

/// A session, its event streams, and its relation to this process.
pub(super) struct ChatSession {
    pub(super) session: DialogueSession,
    pub(super) events: DialogueEvents,
    /// Permission requests that are not shown yet, oldest first.
    pub(super) waiting: VecDeque<Arc<PermissionRecord>>,
    pub(super) supported: Capabilities,
    /// The name of the agent.
    pub(super) agent: String,
    /// Whether this program started it, and so ends it.
    pub(super) is_owned: bool,
    /// Whether a daemon drives it.
    pub(super) is_driven: bool,
    /// Whether this program can start another session in its place.
    pub(super) can_switch: bool,
    place: SessionPlace,
}

/// Where a session runs.
enum SessionPlace {
    /// In this program, which holds its conversations.
    Local(ConversationLeases),
    /// At a runner, which these options select.
    Runner(String),
}

impl ChatSession {
    /// Starts an agent in this program.
    ///
    /// # Errors
    /// If it cannot be started, or another program uses the conversation.
    pub(super) async fn start(
        run: &args::Run,
        configuration: DialogueConfiguration,
    ) -> Result<Self, Failure> {
        let leases = ConversationLeases::acquire(run)?;
        let starting = DialogueSession::start_with_events(configuration, EventLimits::default());
        let started = starting.await;
        let (session, events) = started.map_err(|error| Failure::caused("failed to", &error))?;
        let agent = run.agent.to_string_lossy();
        let mut chat = Self::new(session, events, &agent, SessionPlace::Local(leases));
        chat.is_owned = true;
        chat.can_switch = true;
        Ok(chat)
    }

    /// Attaches to a session at a runner.
    ///
    /// # Errors
    /// If the runner does not have it, or cannot be reached.
    pub(super) async fn attach(
        remote: &Remote,
        id: SessionId,
        agent: &str,
        runner_options: String,
    ) -> Result<Self, Failure> {
        let configuration = DialogueConfiguration {
            joins: true,
            ..DialogueConfiguration::default()
        };
        let attaching =
            DialogueSession::attach_with_events(remote, id, configuration, EventLimits::default());
        let attached = announced(attaching).await;
        let (session, events) = attached.map_err(|error| Failure::caused("failed to", &error))?;
        Ok(Self::new(
            session,
            events,
            agent,
            SessionPlace::Runner(runner_options),
        ))
    }

    fn new(
        session: DialogueSession,
        events: DialogueEvents,
        agent: &str,
        place: SessionPlace,
    ) -> Self {
        let name = agent.rsplit('/').next().unwrap_or(agent);
        Self {
            session,
            events,
            waiting: VecDeque::new(),
            supported: Capabilities::default(),
            agent: one_line(name, 20),
            is_owned: false,
            is_driven: matches!(place, SessionPlace::Runner(_)),
            can_switch: false,
            place,
        }
    }

    pub(super) const fn is_remote(&self) -> bool {
        matches!(self.place, SessionPlace::Runner(_))
    }

    /// Describes where the session runs, in a few words.
    pub(super) fn place(&self) -> String {
        match &self.place {
            SessionPlace::Local(_) => "local".to_owned(),
            SessionPlace::Runner(_) => {
                let id = self.session.id().to_string();
                format!("session {}", id.get(..8).unwrap_or_default())
            }
        }
    }

    /// Reads what the agent can do, which it declares when it has started.
    pub(super) async fn update_capabilities(&mut self) {
        self.supported = self.session.supported().await;
    }

    /// Holds the agent's conversation, so that no other program resumes it.
    pub(super) fn enter_conversation(&mut self, id: &str) {
        if let SessionPlace::Local(leases) = &mut self.place {
            leases.enter(id);
        }
    }

    /// Describes a connection that has failed for good.
    pub(super) fn unreachable(&self, reason: &ReconnectFailed) -> Failure {
        match &self.place {
            SessionPlace::Runner(options) => {
                unreachable_session(options, self.session.id(), reason)
            }
            SessionPlace::Local(_) => Failure::failed(&reason.detail),
        }
    }

    /// Returns the message about a session that keeps running: how to attach again.
    pub(super) fn detached(&self) -> String {
        let id = self.session.id();
        let options = match &self.place {
            SessionPlace::Runner(options) => options,
            SessionPlace::Local(_) => "",
        };
        format!("detached from {id}; it keeps running: `bowline attach{options} {id}`")
    }
}
