//! Hooks that a runner serves, where the agent runs: what the host asks for, and the lines that the events
//! are forwarded to it as.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::{
    AgentVersion, HookConfiguration, HookEvent, HookEventItem, HookGate, HookKind, HookQuestion,
    HookQuestions, HookReply, HookRoute, HookServer, HookServerError, HookSubscription,
    HookVariables,
};

/// Lines of closed questions that may wait for [`RunnerHooks::next`].
const CLOSED_QUEUE: usize = 64;

/// What a runner serves the hooks of a session by, from [`HookServer::spec`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookSpec {
    interaction: String,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    kinds: Option<Vec<String>>,
    #[serde(default)]
    gate: Option<GateSpec>,
    url_variable: Option<String>,
    token_variable: String,
    #[serde(default)]
    secret_path: bool,
    /// Variables of the backend, by name.
    #[serde(default)]
    variables: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GateSpec {
    kinds: Vec<String>,
    deadline_ms: u64,
    default: HookReply,
}

/// A line of the stream of hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookLine {
    /// An event.
    Event {
        /// Number of the event in its session.
        id: u64,
        /// The interaction whose settings have the hook.
        interaction: String,
        /// The event, a JSON object as the agent wrote it.
        event: String,
        /// Whether the agent waits for the reply of a host.
        asks: bool,
    },
    /// An event needs no reply any more: a host has replied, or the gate's default was the reply.
    Closed {
        /// Number of the event.
        id: u64,
    },
    /// Events were dropped.
    Lagged {
        /// Their number.
        missed: u64,
    },
}

/// Shows no variables, since their values may be secrets.
impl fmt::Debug for HookSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookSpec")
            .field("interaction", &self.interaction)
            .field("gate", &self.gate)
            .finish_non_exhaustive()
    }
}

impl HookServer {
    /// Returns what a runner needs to serve the hooks of an interaction as this server would. `agent` is the
    /// version of the agent there, if it is known; see [`settings_for`](Self::settings_for).
    ///
    /// # Errors
    ///
    /// The interaction's id is not valid, the agent is too old, or the configuration has a helper, which is a
    /// program of this machine.
    pub fn spec(
        &self,
        interaction: &str,
        agent: Option<AgentVersion>,
    ) -> Result<HookSpec, HookServerError> {
        let configuration = self.configuration();
        if configuration.helper.is_some() || configuration.route == HookRoute::Helper {
            let what = "a helper program";
            return Err(HookServerError::NotAtRunner { what });
        }
        match agent {
            Some(agent) => self.settings_for(interaction, agent)?,
            None => self.settings(interaction)?,
        };
        let names = &configuration.variables;
        let own = [names.url.as_ref(), Some(&names.token)];
        let variables = self.environment(interaction)?.into_iter();
        let variables = variables.filter(|(name, _)| !own.contains(&Some(name)));
        let gate = configuration.gate.as_ref().map(|gate| GateSpec {
            kinds: words(&gate.kinds),
            deadline_ms: u64::try_from(gate.capped_deadline().as_millis()).unwrap_or(u64::MAX),
            default: gate.default.clone(),
        });
        Ok(HookSpec {
            interaction: interaction.to_owned(),
            agent: agent.map(|it| it.to_string()),
            kinds: configuration.kinds.as_deref().map(words),
            gate,
            url_variable: names.url.clone(),
            token_variable: names.token.clone(),
            secret_path: configuration.secret_path,
            variables: variables
                .map(|(name, value)| (name, value.expose_secret().to_owned()))
                .collect(),
        })
    }
}

fn words(kinds: &[HookKind]) -> Vec<String> {
    kinds.iter().map(|it| it.name().to_owned()).collect()
}

fn kinds(words: &[String]) -> Vec<HookKind> {
    words.iter().map(|it| HookKind::of(it)).collect()
}

impl HookSpec {
    fn configuration(&self) -> HookConfiguration {
        HookConfiguration {
            kinds: self.kinds.as_deref().map(kinds),
            gate: self.gate.as_ref().map(|gate| HookGate {
                kinds: kinds(&gate.kinds),
                deadline: Duration::from_millis(gate.deadline_ms),
                default: gate.default.clone(),
            }),
            variables: HookVariables {
                url: self.url_variable.clone(),
                token: self.token_variable.clone(),
                ..HookVariables::default()
            },
            secret_path: self.secret_path,
            ..HookConfiguration::default()
        }
    }
}

/// The hooks of one session, served where its agent runs.
///
/// Dropping it, or its runtime, gives open questions the gate's default.
#[derive(Debug)]
pub struct RunnerHooks {
    server: HookServer,
    spec: HookSpec,
    events: HookSubscription,
    questions: Option<HookQuestions>,
    open: HashMap<u64, oneshot::Sender<HookReply>>,
    closed: mpsc::Receiver<u64>,
    close: mpsc::Sender<u64>,
}

/// What [`RunnerHooks`] waits for.
enum RunnerPart {
    Closed(u64),
    Question(Box<HookQuestion>),
    Event(HookEventItem),
}

impl RunnerHooks {
    /// Listens on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// As [`HookServer::start`].
    pub async fn start(spec: HookSpec) -> Result<Self, HookServerError> {
        let mut server = HookServer::start(spec.configuration()).await?;
        let (close, closed) = mpsc::channel(CLOSED_QUEUE);
        Ok(Self {
            events: server.subscribe(),
            questions: server.questions(),
            server,
            spec,
            open: HashMap::new(),
            closed,
            close,
        })
    }

    /// Returns the settings of the agent. They hold no secret.
    ///
    /// # Errors
    ///
    /// As [`HookServer::settings_for`].
    pub fn settings(&self) -> Result<Value, HookServerError> {
        let interaction = &self.spec.interaction;
        match self.spec.agent.as_deref().and_then(AgentVersion::parse) {
            Some(agent) => self.server.settings_for(interaction, agent),
            None => self.server.settings(interaction),
        }
    }

    /// Returns the variables of the agent. Their values are secrets.
    ///
    /// # Errors
    ///
    /// The interaction's id is not valid in a URL path.
    pub fn environment(&self) -> Result<BTreeMap<String, String>, HookServerError> {
        let own = self.server.environment(&self.spec.interaction)?.into_iter();
        let own = own.map(|(name, value)| (name, value.expose_secret().to_owned()));
        Ok(self.spec.variables.clone().into_iter().chain(own).collect())
    }

    /// Returns the next line of the stream, without its end.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> HookLine {
        loop {
            match self.next_part().await {
                RunnerPart::Closed(id) => {
                    self.open.remove(&id);
                    return HookLine::Closed { id };
                }
                RunnerPart::Question(question) => return self.ask(*question),
                RunnerPart::Event(HookEventItem::Lagged(missed)) => {
                    return HookLine::Lagged { missed };
                }
                // One of the gate is forwarded with its question.
                RunnerPart::Event(HookEventItem::Event(event)) if self.is_gated(&event.kind) => {}
                RunnerPart::Event(HookEventItem::Event(event)) => return line(&event, false),
            }
        }
    }

    async fn next_part(&mut self) -> RunnerPart {
        let Self {
            questions,
            events,
            closed,
            ..
        } = self;
        let question = async {
            match questions {
                Some(questions) => questions.next().await,
                None => None,
            }
        };
        tokio::select! {
            Some(id) = closed.recv() => RunnerPart::Closed(id),
            Some(question) = question => RunnerPart::Question(Box::new(question)),
            Some(item) = events.next() => RunnerPart::Event(item),
            // The server has stopped.
            else => std::future::pending().await,
        }
    }

    fn is_gated(&self, kind: &HookKind) -> bool {
        let gate = self.server.configuration().gate.as_ref();
        gate.is_some_and(|gate| gate.kinds.contains(kind))
    }

    fn ask(&mut self, mut question: HookQuestion) -> HookLine {
        let line = line(question.event(), true);
        let id = question.event().sequence;
        let (reply, replied) = oneshot::channel();
        self.open.insert(id, reply);
        let close = self.close.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = question.withdrawn() => {}
                reply = replied => if let Ok(reply) = reply {
                    // One that does not fit was refused, or the default was faster.
                    let _ = question.answer(reply);
                },
            }
            let _ = close.send(id).await;
        });
        line
    }

    /// Replies to an event that asks, with the JSON of a [`HookReply`]. Returns why the reply is refused, if it is.
    ///
    /// # Errors
    ///
    /// The event has a reply, the reply is not valid, or it is too late.
    pub fn answer(&mut self, id: u64, reply: &[u8]) -> Result<(), String> {
        let reply: HookReply = serde_json::from_slice(reply)
            .map_err(|error| format!("the reply is not valid: {error}"))?;
        let open = self.open.remove(&id);
        let sent = open.and_then(|open| open.send(reply).ok());
        sent.ok_or_else(|| "the hook has its reply, or does not wait any more".to_owned())
    }
}

fn line(event: &HookEvent, asks: bool) -> HookLine {
    HookLine::Event {
        id: event.sequence,
        interaction: event.interaction.to_string(),
        event: event.raw().to_owned(),
        asks,
    }
}
