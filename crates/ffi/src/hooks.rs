//! The agent's hooks: told, and answered.

mod configuration;
mod question;
mod reply;
mod settings;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::core;

use crate::cancellation::Cancellation;
use crate::counters::Kind;
use crate::error::{BowlineError, Outcome};
use crate::feed::{Events, event_stream};
use crate::runtime::{Held, call, finish};

pub use configuration::{
    HookBackend, HookConfiguration, HookGate, HookHelper, HookLimits, HookRoute, HookVariables,
    common_hook_kinds,
};
pub(crate) use question::OpenQuestions;
pub use question::{HookQuestion, HookQuestionBatch, HookQuestionStream};
pub use reply::{HookReply, ToolVerdict};
pub use settings::merge_settings;

/// One event, as a hook brought it. What the agent left out is absent.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct HookEvent {
    /// The event's place in the order of arrival, from 0.
    pub sequence: u64,
    /// The interaction whose settings the hook was in.
    pub interaction: String,
    /// The agent's name for the event, such as `PreToolUse`.
    pub kind: String,
    /// The agent's session.
    pub session_id: Option<String>,
    /// The session's main transcript, which lags.
    pub transcript_path: Option<String>,
    /// The agent's working directory.
    pub cwd: Option<String>,
    /// The prompt that is being answered.
    pub prompt_id: Option<String>,
    /// The permission mode.
    pub permission_mode: Option<String>,
    /// The sub-agent that it happened in.
    pub agent_id: Option<String>,
    /// The sub-agent's kind.
    pub agent_type: Option<String>,
    /// How hard the model thinks.
    pub effort: Option<String>,
    /// The event as the agent wrote it: a JSON object with every member, known or not.
    pub json: String,
}

impl From<&core::HookEvent> for HookEvent {
    fn from(it: &core::HookEvent) -> Self {
        Self {
            sequence: it.sequence,
            interaction: it.interaction.to_string(),
            kind: it.kind.name().to_owned(),
            session_id: it.session_id.clone(),
            transcript_path: it.transcript_path.clone(),
            cwd: it.cwd.clone(),
            prompt_id: it.prompt_id.clone(),
            permission_mode: it.permission_mode.clone(),
            agent_id: it.agent_id.clone(),
            agent_type: it.agent_type.clone(),
            effort: it.effort.clone(),
            json: it.raw().to_owned(),
        }
    }
}

/// What a reader of hooks is given.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
#[expect(clippy::large_enum_variant, reason = "it is lowered at once")]
pub enum HookNews {
    /// An event.
    Event {
        /// The event.
        event: HookEvent,
    },
    /// The reader was too slow.
    Missed {
        /// How many events are gone.
        events: u64,
    },
}

event_stream! {
    /// The events of a server from now on.
    HookStream;
    /// Events in the order of arrival.
    HookBatch { /// The events.
        HookNews };
    News
}

pub(crate) struct News(core::HookSubscription);

impl From<core::HookSubscription> for News {
    fn from(subscription: core::HookSubscription) -> Self {
        Self(subscription)
    }
}

impl Events for News {
    type Event = HookNews;

    async fn next(&mut self) -> Option<HookNews> {
        Some(match self.0.next().await? {
            core::HookNews::Missed(events) => HookNews::Missed { events },
            core::HookNews::Event(event) => HookNews::Event {
                event: (&*event).into(),
            },
            // What this version does not know is not told.
            _ => HookNews::Missed { events: 0 },
        })
    }
}

/// What a server has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct HookReport {
    /// Events, each counted once.
    pub events: u64,
    /// Deliveries of events that had been brought before.
    pub duplicates: u64,
    /// Requests that were turned away.
    pub refused: u64,
    /// Decisions that nobody made in time.
    pub defaults: u64,
    /// What became of the events that were to be forwarded.
    pub forward: Option<HookForwardReport>,
}

/// What became of events that were to be forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct HookForwardReport {
    /// The backend took them.
    pub delivered: u64,
    /// It did not, however often they were offered.
    pub failed: u64,
    /// They were never offered.
    pub dropped: u64,
}

impl From<core::HookReport> for HookReport {
    fn from(it: core::HookReport) -> Self {
        Self {
            events: it.events,
            duplicates: it.duplicates,
            refused: it.refused,
            defaults: it.defaults,
            forward: it.forward.map(|it| HookForwardReport {
                delivered: it.delivered,
                failed: it.failed,
                dropped: it.dropped,
            }),
        }
    }
}

/// A server on loopback that the agent's hooks reach, for one session.
#[derive(uniffi::Object)]
pub struct HookServer {
    server: Held<Mutex<Option<core::HookServer>>>,
    open: OpenQuestions,
}

impl std::fmt::Debug for HookServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookServer").finish_non_exhaustive()
    }
}

impl HookServer {
    pub(crate) fn new(server: core::HookServer) -> Arc<Self> {
        Arc::new(Self {
            server: Held::new(Kind::HookServer, Mutex::new(Some(server))),
            open: OpenQuestions::default(),
        })
    }

    fn with<T>(&self, read: impl FnOnce(&mut core::HookServer) -> Outcome<T>) -> Outcome<T> {
        call(|| {
            let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
            read(server.as_mut().ok_or_else(stopped)?)
        })
    }
}

fn stopped() -> BowlineError {
    BowlineError::Ended {
        reason: "use the server for hooks: it was stopped, start another one".to_owned(),
    }
}

#[uniffi::export]
impl HookServer {
    /// The address that events of an interaction are posted to. It holds no secret.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Invalid`] for an interaction that cannot stand in an address,
    /// [`BowlineError::Ended`].
    pub fn url(&self, interaction: String) -> Outcome<String> {
        self.with(|it| Ok(it.url(&interaction)?))
    }

    /// The token that must be shown there, as a bearer token: a secret.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`].
    pub fn token(&self) -> Outcome<String> {
        self.with(|it| Ok(it.token().expose().clone()))
    }

    /// The settings that make the agent tell its events, a JSON object for
    /// [`AgentOptions::settings`](crate::AgentOptions). They hold no secret.
    ///
    /// # Errors
    ///
    /// As [`url`](Self::url).
    pub fn settings(&self, interaction: String) -> Outcome<String> {
        self.with(|it| Ok(it.settings(&interaction)?.to_string()))
    }

    /// The variables that the agent and its hooks need. They hold the token.
    ///
    /// # Errors
    ///
    /// As [`url`](Self::url).
    pub fn environment(&self, interaction: String) -> Outcome<HashMap<String, String>> {
        self.with(|it| {
            let variables = it.environment(&interaction)?.into_iter();
            Ok(variables
                .map(|(name, value)| (name, value.into_inner()))
                .collect())
        })
    }

    /// The events from now on.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`].
    pub fn events(&self) -> Outcome<Arc<HookStream>> {
        self.with(|it| Ok(HookStream::of(it.subscribe())))
    }

    /// The questions of the gate, once: there is one who decides.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Busy`] when they were given before, [`BowlineError::Ended`].
    pub fn questions(&self) -> Outcome<Arc<HookQuestionStream>> {
        self.with(|it| self.open.stream(it.questions()))
    }

    /// Answers a question.
    ///
    /// # Errors
    ///
    /// [`BowlineError::NotFound`] when there is none of that number or it was answered,
    /// [`BowlineError::TooLate`], and [`BowlineError::Invalid`] for what is no answer to it; the
    /// default of the gate is given then.
    pub fn answer(&self, question: u64, reply: HookReply) -> Outcome<()> {
        call(|| self.open.answer(question, reply))
    }

    /// Waits until a question does not wait any more: it was answered, its time has passed, or the
    /// agent has gone away. A host that shows it takes it away then.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Cancelled`].
    #[uniffi::method(default(cancellation = None))]
    pub async fn withdrawn(
        &self,
        question: u64,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Outcome<()> {
        self.open.wait(question, cancellation).await
    }

    /// What the server has done so far.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`].
    pub fn report(&self) -> Outcome<HookReport> {
        self.with(|it| Ok(it.report().into()))
    }

    /// Stops to listen, answers those who wait, forwards what is left, each for a bounded time.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`] when it was stopped before.
    pub async fn stop(&self) -> Outcome<HookReport> {
        let server = self
            .server
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let server = server.ok_or_else(stopped)?;
        self.open.clear();
        finish(async move { Ok(server.stop().await.into()) }).await
    }
}
