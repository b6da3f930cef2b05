//! Receives the agent's hooks and answers them.

#[cfg(not(feature = "full"))]
mod absent;
mod configuration;
#[cfg(feature = "full")]
mod convert;
mod question;
mod reply;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::agent::AgentVersion;
use crate::cancellation::Cancellation;
use crate::core::{self, ExposeSecret as _};
use crate::counters::ObjectKind;
use crate::error::{BowlineError, Result};
use crate::event_stream::event_stream;
use crate::remote::RunnerConfiguration;
use crate::runner::parse_id;
use crate::runtime::{Tracked, call, serving, uncancelled};

#[cfg(not(feature = "full"))]
use absent::{HookEventSource, merge_settings as merge, relay_hooks};
pub use configuration::{
    HookBackend, HookConfiguration, HookGate, HookHelper, HookLimits, HookRoute, HookVariables,
    common_hook_kinds,
};
#[cfg(feature = "full")]
use convert::{HookEventSource, relay_hooks};
#[cfg(feature = "full")]
use core::merge_settings as merge;
pub(crate) use question::OpenQuestions;
pub use question::{HookQuestion, HookQuestionBatch, HookQuestionStream};
pub use reply::{HookReply, ToolVerdict};

/// An event that a hook delivered. Fields are absent if the agent did not send them.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct HookEvent {
    /// The number of the event in the order of arrival, from 0.
    pub sequence: u64,
    /// The interaction whose settings contain the hook.
    pub interaction: String,
    /// The agent's name for the event, such as `PreToolUse`.
    pub kind: String,
    /// The agent's session id.
    pub session_id: Option<String>,
    /// The path of the agent's transcript. The file is written with a delay.
    pub transcript_path: Option<String>,
    /// The agent's working directory.
    pub cwd: Option<String>,
    /// The id of the prompt that is being answered.
    pub prompt_id: Option<String>,
    /// The permission mode.
    pub permission_mode: Option<String>,
    /// The id of the sub-agent that the event is about.
    pub agent_id: Option<String>,
    /// The type of the sub-agent.
    pub agent_type: Option<String>,
    /// The reasoning effort of the model.
    pub effort: Option<String>,
    /// The complete event as a JSON object.
    pub json: String,
}

/// An element of a hook stream.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
#[expect(clippy::large_enum_variant, reason = "values cross the FFI at once")]
pub enum HookEventItem {
    /// An event.
    Event {
        /// The event.
        event: HookEvent,
    },
    /// Events were dropped here because the reader was too slow.
    Lagged {
        /// The number of dropped events.
        missed: u64,
    },
}

event_stream! {
    /// A stream of the events that a hook server receives.
    HookStream;
    /// Consecutive hook events, in the order of arrival.
    HookBatch { /// The events in order.
        HookEventItem };
    HookEventSource
}

/// Counts of a hook server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct HookReport {
    /// Events, without repeated deliveries.
    pub events: u64,
    /// Repeated deliveries of events.
    pub duplicates: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Questions that the host did not answer in time, so that the default answer was sent.
    pub defaults: u64,
    /// Counts of forwarded events, if a backend is configured.
    pub forward: Option<HookForwardReport>,
}

/// Counts of the events that were to be forwarded to a backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct HookForwardReport {
    /// Events that the backend accepted.
    pub delivered: u64,
    /// Events that failed after all attempts.
    pub failed: u64,
    /// Events that were dropped because the queue was full or the server stopped.
    pub dropped: u64,
}

/// A server on the loopback interface that receives the hooks of a session, or of several that share its token
/// and its backend. Each event has the name of its interaction.
#[derive(uniffi::Object)]
pub struct HookServer {
    /// `None` after `stop`.
    server: Tracked<Mutex<Option<core::HookServer>>>,
    /// Closed when the server stops or is released, which ends its relays. `None` after `stop`.
    running: Mutex<Option<watch::Sender<()>>>,
    questions: OpenQuestions,
}

impl std::fmt::Debug for HookServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookServer").finish_non_exhaustive()
    }
}

impl HookServer {
    pub(crate) fn new(server: core::HookServer) -> Arc<Self> {
        Arc::new(Self {
            server: Tracked::new(ObjectKind::HookServer, Mutex::new(Some(server))),
            running: Mutex::new(Some(watch::Sender::new(()))),
            questions: OpenQuestions::default(),
        })
    }

    fn with_server<T>(&self, body: impl FnOnce(&mut core::HookServer) -> Result<T>) -> Result<T> {
        call(|| body(self.server.lock().as_mut().ok_or_else(stopped)?))
    }
}

/// Waits until the server stops or is released.
async fn closed(mut running: watch::Receiver<()>) {
    while running.changed().await.is_ok() {}
}

fn stopped() -> BowlineError {
    BowlineError::Ended {
        reason: "use the hook server: it was stopped; start another one".to_owned(),
    }
}

#[uniffi::export]
impl HookServer {
    /// Returns the URL that events of an interaction are posted to. It contains no secret.
    ///
    /// # Errors
    ///
    /// `Invalid` if the interaction's name cannot be part of a URL; `Ended` after `stop`.
    pub fn url(&self, interaction: String) -> Result<String> {
        self.with_server(|it| Ok(it.url(&interaction)?))
    }

    /// Returns the bearer token for posting events. It is a secret.
    ///
    /// # Errors
    ///
    /// `Ended` after `stop`.
    pub fn token(&self) -> Result<String> {
        self.with_server(|it| Ok(it.token().expose_secret().to_owned()))
    }

    /// Returns settings that make the agent deliver its hooks, as a JSON object for
    /// `AgentOptions.settings`. They contain no secret.
    ///
    /// They suit the newest agent. An older one may ignore all of its settings; see `settingsFor`.
    ///
    /// # Errors
    ///
    /// As `url`.
    pub fn settings(&self, interaction: String) -> Result<String> {
        self.with_server(|it| Ok(it.settings(&interaction)?.to_string()))
    }

    /// Returns the settings for a version of the agent, as `Engine.findAgent` returns it: without the
    /// common events that it does not know, and with the helper if it has no HTTP hooks.
    ///
    /// # Errors
    ///
    /// `Configuration` if the configuration needs a newer agent: for an event that it names, for HTTP
    /// hooks without a helper, or for a gate that stays closed if the server cannot be reached. Otherwise
    /// as `url`.
    pub fn settings_for(&self, interaction: String, agent: AgentVersion) -> Result<String> {
        self.with_server(|it| Ok(it.settings_for(&interaction, agent.into())?.to_string()))
    }

    /// Returns the variables to set for the agent. They contain the token.
    ///
    /// # Errors
    ///
    /// As `url`.
    pub fn environment(&self, interaction: String) -> Result<HashMap<String, String>> {
        self.with_server(|it| {
            let variables = it.environment(&interaction)?.into_iter();
            Ok(variables
                .map(|(name, value)| (name, value.expose_secret().to_owned()))
                .collect())
        })
    }

    /// Returns what a runner needs to serve the hooks of an agent there as this server would, for
    /// `DialogueConfiguration.hooks`: a JSON object. `agent` is the version of the agent at the runner, if it is known.
    /// Call `serve` once the session has started.
    ///
    /// # Errors
    ///
    /// `Configuration` if the configuration has a helper, which is a program of this machine, or needs a newer agent.
    /// Otherwise as `url`.
    #[uniffi::method(default(agent = None))]
    pub fn spec(&self, interaction: String, agent: Option<AgentVersion>) -> Result<String> {
        self.with_server(|it| {
            let spec = it.spec(&interaction, agent.map(Into::into))?;
            serde_json::to_string(&spec).map_err(|error| BowlineError::invalid(error.to_string()))
        })
    }

    /// Receives the hooks of a session at a runner, until the session ends or this server is stopped or released:
    /// its events are events of this server, and its questions wait for the host as others do. Returns once it is
    /// attached; cuts of the link and restarts of the runner are survived.
    ///
    /// With `hasPast` for a session that an earlier host may have served, only questions that are still open and later
    /// events are received.
    ///
    /// # Errors
    ///
    /// `Start` if the runner cannot be reached, or does not serve the hooks of the session; `Configuration` if the URL
    /// or the id is not valid; `Ended` after `stop`.
    #[uniffi::method(default(has_past = false))]
    pub async fn serve(
        &self,
        runner: RunnerConfiguration,
        session: String,
        has_past: bool,
    ) -> Result<()> {
        let remote: core::Remote = runner.try_into()?;
        let id = parse_id(&session)?;
        let relay = self.with_server(|it| Ok(it.relay(session)))?;
        let running = self.running.lock().as_ref().map(watch::Sender::subscribe);
        let running = running.ok_or_else(stopped)?;
        uncancelled(async move {
            let feed = core::HookFeed::attach(&remote, id, has_past).await;
            let feed = feed.map_err(core::StartError::from)?;
            serving(async move {
                tokio::select! {
                    () = relay_hooks(relay, feed) => {}
                    () = closed(running) => {}
                }
            });
            Ok(())
        })
        .await
    }

    /// Returns a stream of the events from now on.
    ///
    /// # Errors
    ///
    /// `Ended` after `stop`.
    pub fn event_stream(&self) -> Result<Arc<HookStream>> {
        self.with_server(|it| Ok(HookStream::new(it.subscribe())))
    }

    /// Returns the stream of the hooks that wait for a decision of the host. It can be taken once.
    ///
    /// # Errors
    ///
    /// `Busy` if the stream was taken before; `Ended` after `stop`.
    pub fn question_stream(&self) -> Result<Arc<HookQuestionStream>> {
        self.with_server(|it| self.questions.stream(it.questions()))
    }

    /// Answers a question. `question` is `HookQuestion.id`.
    ///
    /// # Errors
    ///
    /// `NotFound` if no such question is open; `TooLate` if its deadline has passed; `Invalid` if the
    /// reply does not fit the event, in which case the agent receives the gate's default answer.
    pub fn answer(&self, question: u64, reply: HookReply) -> Result<()> {
        call(|| self.questions.answer(question, reply))
    }

    /// Waits until a question is closed: answered, past its deadline, or cancelled by the agent.
    ///
    /// A host that shows the question can then remove it.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `cancellation` is cancelled.
    #[uniffi::method(default(cancellation = None))]
    pub async fn wait_for_withdrawal(
        &self,
        question: u64,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Result<()> {
        self.questions.wait(question, cancellation).await
    }

    /// Returns the counts so far.
    ///
    /// # Errors
    ///
    /// `Ended` after `stop`.
    pub fn report(&self) -> Result<HookReport> {
        self.with_server(|it| Ok(it.report().into()))
    }

    /// Stops the server: closes its port, sends default answers to open questions and forwards queued
    /// events, each for a bounded time. Questions of agents at runners stay open there, for another host or the
    /// default. Returns the final counts.
    ///
    /// # Errors
    ///
    /// `Ended` if the server was stopped before.
    pub async fn stop(&self) -> Result<HookReport> {
        let server = self.server.lock().take();
        let server = server.ok_or_else(stopped)?;
        drop(self.running.lock().take());
        self.questions.clear();
        uncancelled(async move { Ok(server.stop().await.into()) }).await
    }
}

/// Adds hook settings, as returned by `HookServer.settings`, to other settings of the agent.
///
/// Hooks that `settings` has for the same event are kept and run first. Both arguments and the result
/// are JSON objects.
///
/// # Errors
///
/// `Configuration` if an argument is not a JSON object or has hooks that the agent would not accept.
#[uniffi::export]
pub fn merge_settings(settings: String, hooks: String) -> Result<String> {
    let parse = |text: &str| -> Result<Value> {
        serde_json::from_str(text).map_err(|error| BowlineError::Configuration {
            reason: format!("merge settings: {error}; pass JSON objects"),
        })
    };
    call(|| Ok(merge(&parse(&settings)?, &parse(&hooks)?)?.to_string()))
}
