//! The server that the agent's hooks reach.

mod client;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::desk::{Desk, QUESTIONS};
use super::forward::{self, ForwardReport, Forwarder};
use super::settings;
use super::token::Token;
use super::{HookConfiguration, HookGate, HookQuestions, HookServerError, HookSubscription};
use client::Reception;
use secrecy::SecretString;

/// How long clients that are being answered may take when the server is stopped.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The pause after an accept(2) that failed, for want of descriptors as a rule.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A server on loopback that the agent's hooks reach, for one session.
///
/// It tells events to any number of readers, puts those behind the gate to the host, and forwards
/// all to a backend. It takes any number of events of any number of interactions. Dropped, it is
/// gone at once; [`stop`](Self::stop) waits until nothing is left.
#[derive(Debug)]
pub struct HookServer {
    address: SocketAddr,
    token: Token,
    configuration: HookConfiguration,
    desk: Arc<Desk>,
    questions: Option<HookQuestions>,
    forwarder: Option<Forwarder>,
    accepting: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

/// What a server has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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
    pub forward: Option<ForwardReport>,
}

impl HookServer {
    /// Starts to listen on a free port of 127.0.0.1, with a token that nobody else knows.
    ///
    /// # Errors
    ///
    /// No port can be had, a name or an address cannot be used, or the default of the gate is no
    /// answer to one of its events.
    pub async fn start(configuration: HookConfiguration) -> Result<Self, HookServerError> {
        check(&configuration)?;
        let token = Token::random()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(HookServerError::Listen)?;
        let address = listener.local_addr().map_err(HookServerError::Listen)?;
        let backend = configuration.backend.as_ref();
        let (outbox, forwarder) = backend.map(forward::start).transpose()?.unzip();
        let (questions, asked) = mpsc::channel(QUESTIONS);
        let desk = Desk::new(configuration.gate.clone(), questions, outbox);
        let desk = Arc::new(desk);
        let reception = Reception {
            address,
            token: token.clone(),
            limits: configuration.limits,
            patience: configuration.gate.as_ref().map(HookGate::patience),
            desk: Arc::clone(&desk),
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(accept(listener, Arc::new(reception), stopped));
        debug!(%address, "listening for hooks");
        Ok(Self {
            address,
            token,
            configuration,
            desk,
            questions: Some(HookQuestions(asked)),
            forwarder,
            accepting: Some((stop, task)),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address that events of an interaction are posted to. It holds no secret.
    ///
    /// # Errors
    ///
    /// The interaction's id cannot stand in an address.
    pub fn url(&self, interaction: &str) -> Result<String, HookServerError> {
        settings::url(self.address, interaction)
    }

    /// The token that must be shown there, as a bearer token.
    #[must_use]
    pub const fn token(&self) -> &SecretString {
        self.token.secret()
    }

    /// The settings that make the agent tell its events, for `--settings`. They hold no secret.
    ///
    /// # Errors
    ///
    /// The interaction's id cannot stand in an address.
    pub fn settings(&self, interaction: &str) -> Result<Value, HookServerError> {
        let url = self.url(interaction)?;
        Ok(settings::settings(&self.configuration, &url))
    }

    /// The variables that the agent and its hooks need, by name.
    ///
    /// # Errors
    ///
    /// The interaction's id cannot stand in an address.
    pub fn environment(
        &self,
        interaction: &str,
    ) -> Result<BTreeMap<String, SecretString>, HookServerError> {
        let names = &self.configuration.variables;
        let backend = self.configuration.backend.as_ref();
        let url = self.url(interaction)?;
        let mut variables = BTreeMap::new();
        let mut set = |name: Option<&String>, value: Option<SecretString>| {
            if let (Some(name), Some(value)) = (name, value) {
                variables.insert(name.clone(), value);
            }
        };
        set(names.url.as_ref(), Some(url.into()));
        set(Some(&names.token), Some(self.token().clone()));
        let api = backend.map(|it| it.url.clone().into());
        set(names.api_url.as_ref(), api);
        let session = backend.map(|it| it.session_id.clone().into());
        set(names.session_id.as_ref(), session);
        let api_token = backend.and_then(|it| it.token.clone());
        set(names.api_token.as_ref(), api_token);
        Ok(variables)
    }

    /// A reader of the events from now on.
    #[must_use]
    pub fn subscribe(&self) -> HookSubscription {
        self.desk.subscribe()
    }

    /// The questions of the gate, once: there is one who decides.
    #[must_use]
    pub const fn questions(&mut self) -> Option<HookQuestions> {
        self.questions.take()
    }

    /// What it has done so far.
    #[must_use]
    pub fn report(&self) -> HookReport {
        let counts = self.desk.counts();
        HookReport {
            events: counts.events.load(Ordering::Relaxed),
            duplicates: counts.duplicates.load(Ordering::Relaxed),
            refused: counts.refused.load(Ordering::Relaxed),
            defaults: counts.defaults.load(Ordering::Relaxed),
            forward: self.forwarder.as_ref().map(Forwarder::report),
        }
    }

    /// Stops to listen, answers those who wait, forwards what is left, each for a bounded time.
    pub async fn stop(mut self) -> HookReport {
        if let Some((stop, task)) = self.accepting.take() {
            let guard = AbortOnDrop(task);
            let _ = stop.send(());
            guard.ended().await;
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
        if let Some((_, task)) = &self.accepting {
            task.abort();
        }
        if let Some(forwarder) = &self.forwarder {
            forwarder.abort();
        }
    }
}

/// A task that does not outlive whoever waits for it.
struct AbortOnDrop(JoinHandle<()>);

impl AbortOnDrop {
    async fn ended(mut self) {
        // It ends by itself; a panic in it is its own.
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
        let output = gate.default.output(kind);
        output.map_err(|source| HookServerError::Default {
            kind: kind.name().to_owned(),
            source,
        })?;
    }
    Ok(())
}

/// Whether a variable can have this name (POSIX, 3.216).
fn is_name(name: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    name.bytes().all(is_plain) && name.bytes().next().is_some_and(|it| !it.is_ascii_digit())
}

/// Lets clients in, and serves each in a task of its own, until it is told to stop.
async fn accept(
    listener: TcpListener,
    reception: Arc<Reception>,
    mut stopped: oneshot::Receiver<()>,
) {
    let slots = Arc::new(Semaphore::new(reception.limits.connections.max(1)));
    let mut clients = JoinSet::new();
    loop {
        let (stream, slot) = tokio::select! {
            _ = &mut stopped => break,
            Some(_) = clients.join_next() => continue,
            next = next_client(&listener, &slots) => match next {
                Ok(next) => next,
                Err(error) => {
                    warn!(%error, "a hook could not connect");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        let reception = Arc::clone(&reception);
        clients.spawn(async move {
            client::serve(stream, reception).await;
            drop(slot);
        });
    }
    drop(listener);
    let all = async { while clients.join_next().await.is_some() {} };
    if timeout(LAST_WORDS, all).await.is_err() {
        clients.shutdown().await;
    }
}

async fn next_client(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await;
    let slot = slot.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}
