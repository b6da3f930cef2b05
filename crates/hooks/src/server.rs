//! The server that an agent's hooks reach.

mod connection;
mod fallback;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::agent;
use crate::dispatcher::{HookDispatcher, MAX_OPEN_QUESTIONS};
use crate::forward::{self, ForwardReport, Forwarder};
use crate::reply::is_refusal;
use crate::settings;
use crate::token::HookToken;
use crate::{
    AgentVersion, HookConfiguration, HookGate, HookKind, HookQuestions, HookServerError,
    HookSubscription,
};
use connection::{Endpoint, Slot};

/// How long open connections may take to finish when the server is stopped.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Pause after a failed accept(2), which fails as a rule for want of descriptors (EMFILE).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Receives the hooks of one session on a loopback port of its own.
///
/// The server broadcasts events to any number of [subscribers](Self::subscribe), asks the host about
/// those of its gate ([`questions`](Self::questions)), and forwards all of them to a backend. Any
/// number of interactions may use it.
///
/// Dropping the server closes everything at once; [`stop`](Self::stop) drains it first. Open questions
/// get the gate's default in both cases, and also when the runtime is dropped.
#[derive(Debug)]
pub struct HookServer {
    address: SocketAddr,
    token: HookToken,
    /// The last part of the path to which events are posted without a token.
    secret_path: Option<HookToken>,
    configuration: HookConfiguration,
    dispatcher: Arc<HookDispatcher>,
    questions: Option<HookQuestions>,
    forwarder: Option<Forwarder>,
    acceptor: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

/// The counters of a [`HookServer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookReport {
    /// Events received, repeated deliveries not counted.
    pub events: u64,
    /// Repeated deliveries of an event.
    pub duplicates: u64,
    /// Requests that were rejected.
    pub refused: u64,
    /// Replies that were the gate's default.
    pub defaults: u64,
    /// What became of the events to forward, with a backend.
    pub forward: Option<ForwardReport>,
}

impl HookServer {
    /// Listens on a free port of 127.0.0.1, with a random token.
    ///
    /// # Errors
    ///
    /// No port can be bound, a variable's name or the backend's URL is invalid, or the gate has an
    /// event that does not reach the server, that its default does not fit, or that the agent would
    /// not refuse if the server is gone although the default refuses it.
    pub async fn start(configuration: HookConfiguration) -> Result<Self, HookServerError> {
        check(&configuration)?;
        let token = HookToken::random()?;
        let has_path = configuration.secret_path;
        let secret_path = has_path.then(HookToken::random).transpose()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(HookServerError::listen)?;
        let address = listener.local_addr().map_err(HookServerError::Listen)?;
        let backend = configuration.backend.as_ref();
        let (queue, forwarder) = backend.map(forward::start).transpose()?.unzip();
        let (questions, inbox) = mpsc::channel(MAX_OPEN_QUESTIONS);
        let gate = configuration.gate.clone();
        let dispatcher = Arc::new(HookDispatcher::new(gate, questions, queue));
        let endpoint = Endpoint {
            address,
            token: token.clone(),
            secret_path: secret_path.clone(),
            limits: configuration.limits,
            reply_time: configuration.gate.as_ref().map(HookGate::capped_deadline),
            dispatcher: Arc::clone(&dispatcher),
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(accept(listener, Arc::new(endpoint), stopped));
        debug!(%address, "listening for hooks");
        Ok(Self {
            address,
            token,
            secret_path,
            configuration,
            dispatcher,
            questions: Some(HookQuestions(inbox)),
            forwarder,
            acceptor: Some((stop, task)),
        })
    }

    pub(crate) const fn configuration(&self) -> &HookConfiguration {
        &self.configuration
    }

    pub(crate) fn dispatcher(&self) -> Arc<HookDispatcher> {
        Arc::clone(&self.dispatcher)
    }

    /// Returns the address that the server listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL that the events of an interaction are posted to. It holds no secret.
    ///
    /// # Errors
    ///
    /// The interaction's id is not valid in a URL path.
    pub fn url(&self, interaction: &str) -> Result<String, HookServerError> {
        settings::url(self.address, interaction)
    }

    /// Returns the URL that the events of an interaction are posted to without a token, if the configuration has
    /// a [secret path](field@HookConfiguration::secret_path). The URL is a secret.
    ///
    /// # Errors
    ///
    /// The interaction's id is not valid in a URL path.
    pub fn secret_url(&self, interaction: &str) -> Result<Option<SecretString>, HookServerError> {
        let url = self.url(interaction)?;
        let path = self.secret_path.as_ref();
        Ok(path.map(|path| format!("{url}/{}", path.secret().expose_secret()).into()))
    }

    /// Returns the bearer token that a client presents.
    #[must_use]
    pub const fn token(&self) -> &SecretString {
        self.token.secret()
    }

    /// Returns the agent settings, for `--settings`, that make it send its events here. They hold
    /// no secret: the token is referred to by the name of its variable.
    ///
    /// They suit the newest agent. One before 2.1.101 ignores all of its settings if they name an event
    /// that it does not know; see [`settings_for`](Self::settings_for).
    ///
    /// # Errors
    ///
    /// The interaction's id is not valid in a URL path.
    pub fn settings(&self, interaction: &str) -> Result<Value, HookServerError> {
        let url = self.url(interaction)?;
        Ok(settings::settings(&self.configuration, &url))
    }

    /// Returns the [settings](Self::settings) for a version of the agent: without the common events that
    /// it does not know, and with the helper if it has no HTTP hooks.
    ///
    /// # Errors
    ///
    /// The interaction's id is not valid in a URL path, or the configuration needs a newer agent: for an
    /// event that it names ([`UnknownEvent`](HookServerError::UnknownEvent)), for HTTP hooks without a
    /// helper ([`NoHttp`](HookServerError::NoHttp)), or for a gate that stays closed if the server cannot
    /// be reached ([`FailsOpen`](HookServerError::FailsOpen)).
    pub fn settings_for(
        &self,
        interaction: &str,
        agent: AgentVersion,
    ) -> Result<Value, HookServerError> {
        let url = self.url(interaction)?;
        let supported = agent::supported(&self.configuration, agent)?;
        Ok(settings::settings(&supported, &url))
    }

    /// Returns the environment variables that the agent and its hooks need, by name.
    ///
    /// # Errors
    ///
    /// The interaction's id is not valid in a URL path.
    pub fn environment(
        &self,
        interaction: &str,
    ) -> Result<BTreeMap<String, SecretString>, HookServerError> {
        let names = &self.configuration.variables;
        let backend = self.configuration.backend.as_ref();
        let url = match self.secret_url(interaction)? {
            Some(url) => url,
            None => self.url(interaction)?.into(),
        };
        let mut variables = BTreeMap::new();
        let mut set = |name: Option<&String>, value: Option<SecretString>| {
            if let (Some(name), Some(value)) = (name, value) {
                variables.insert(name.clone(), value);
            }
        };
        set(names.url.as_ref(), Some(url));
        set(Some(&names.token), Some(self.token().clone()));
        let api = backend.map(|it| it.url.clone().into());
        set(names.api_url.as_ref(), api);
        let session = backend.map(|it| it.session_id.clone().into());
        set(names.session_id.as_ref(), session);
        let api_token = backend.and_then(|it| it.token.clone());
        set(names.api_token.as_ref(), api_token);
        Ok(variables)
    }

    /// Returns a reader of the events from now on.
    #[must_use]
    pub fn subscribe(&self) -> HookSubscription {
        self.dispatcher.subscribe()
    }

    /// Takes the questions of the gate. Returns `None` after the first call: there is one reader.
    #[must_use]
    pub const fn questions(&mut self) -> Option<HookQuestions> {
        self.questions.take()
    }

    /// Returns the counters so far.
    #[must_use]
    pub fn report(&self) -> HookReport {
        let counts = self.dispatcher.counts();
        HookReport {
            events: counts.events.load(Ordering::Relaxed),
            duplicates: counts.duplicates.load(Ordering::Relaxed),
            refused: counts.refused.load(Ordering::Relaxed),
            defaults: counts.defaults.load(Ordering::Relaxed),
            forward: self.forwarder.as_ref().map(Forwarder::report),
        }
    }

    /// Closes the port, finishes open connections and forwards queued events, each for a bounded
    /// time. Questions that the host does not answer in this time get the gate's default.
    ///
    /// A cancelled stop closes everything at once, as a drop does.
    pub async fn stop(mut self) -> HookReport {
        if let Some((stop, task)) = self.acceptor.take() {
            let guard = AbortOnDrop(task);
            let _ = stop.send(());
            guard.join().await;
        }
        let forward = match self.forwarder.take() {
            Some(forwarder) => Some(forwarder.stop().await),
            None => None,
        };
        HookReport {
            forward,
            ..self.report()
        }
    }
}

impl Drop for HookServer {
    fn drop(&mut self) {
        if let Some((_, task)) = &self.acceptor {
            task.abort();
        }
        if let Some(forwarder) = &self.forwarder {
            forwarder.abort();
        }
    }
}

/// Aborts a task when the future that joins it is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl AbortOnDrop {
    async fn join(mut self) {
        // An error is a panic of the task, which was reported by the panic hook.
        let _ = (&mut self.0).await;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn check(configuration: &HookConfiguration) -> Result<(), HookServerError> {
    let names = &configuration.variables;
    let optional = [
        &names.url,
        &names.api_url,
        &names.api_token,
        &names.session_id,
    ];
    for name in optional.into_iter().flatten().chain([&names.token]) {
        if !is_name(name) {
            let name = name.clone();
            return Err(HookServerError::Variable { name });
        }
    }
    let gate = configuration.gate.iter();
    for (gate, kind) in gate.flat_map(|gate| gate.kinds.iter().map(move |kind| (gate, kind))) {
        check_gate(configuration, gate, kind)?;
    }
    Ok(())
}

/// Checks that the gate can hold an event: also while the host is busy, and when the server is gone.
fn check_gate(
    configuration: &HookConfiguration,
    gate: &HookGate,
    kind: &HookKind,
) -> Result<(), HookServerError> {
    let name = || kind.name().to_owned();
    let default = gate.default.output(kind);
    let default = default.map_err(|source| HookServerError::Default {
        kind: name(),
        source,
    })?;
    if !settings::is_received(configuration, kind) {
        return Err(HookServerError::NotReceived { kind: name() });
    }
    if is_refusal(default.as_ref()) && !kind.is_refused_on_failure() {
        return Err(HookServerError::NotClosable { kind: name() });
    }
    Ok(())
}

/// Whether this is the name of an environment variable (POSIX.1-2017, 3.235 Name).
fn is_name(name: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    name.bytes().all(is_plain) && name.bytes().next().is_some_and(|it| !it.is_ascii_digit())
}

/// Serves each connection in a task of its own until `stopped` completes, then drains them.
async fn accept(
    listener: TcpListener,
    endpoint: Arc<Endpoint>,
    mut stopped: oneshot::Receiver<()>,
) {
    let slots = Arc::new(Semaphore::new(
        endpoint.limits.connections.clamp(1, Semaphore::MAX_PERMITS),
    ));
    let mut connections = JoinSet::new();
    loop {
        let (stream, slot) = tokio::select! {
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => continue,
            next = next_connection(&listener, &slots) => match next {
                Ok(next) => next,
                Err(error) => {
                    warn!(%error, "cannot accept a hook connection");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        let endpoint = Arc::clone(&endpoint);
        let slot = Slot::new(Mutex::new(Some(slot)));
        connections.spawn(connection::serve(stream, endpoint, slot));
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    if timeout(DRAIN_TIME, all).await.is_err() {
        connections.shutdown().await;
    }
}

async fn next_connection(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await;
    let slot = slot.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}
