//! The network that reaches a session's runner through the fleet.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bowline_fleet::{
    Connection, FleetRunners, FleetSession, FleetUrl, NatsCredentials, Reach, RunnerId,
    choose_runner, fleet_session, fleet_sessions, link_subject, open_link,
};
use bowline_lifecycle::SessionId;
use bowline_runner::{RunnerClient, SessionSummary, TokenScope};
use bowline_transport::{Address, Boxed, ByteStream, Network, Remote, RemoteUrl};
use tokio::sync::{OnceCell, watch};

use crate::args::fleet::FleetArgs;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::table::{age, now_ms};

/// Variables with the address of the servers, and the file with credentials.
const FLEET: &str = "BOWLINE_FLEET";
pub(crate) const CREDENTIALS: &str = "BOWLINE_FLEET_CREDS";

/// The address and the file that the user's settings have.
static CONFIGURED: OnceLock<(Option<String>, Option<PathBuf>)> = OnceLock::new();

/// Takes the address and the credentials of the user's settings.
pub(crate) fn configure(settings: &Settings) {
    let url = settings.value("fleet.url").map(str::to_owned);
    let creds = settings.value("fleet.creds").map(PathBuf::from);
    // They are the same at every call.
    let _ = CONFIGURED.set((url, creds));
}

/// Returns the address and the credentials that the options, the environment or the settings give.
///
/// # Errors
/// If there is no address, or the credentials cannot be read.
pub(crate) fn fleet_address(
    url: &str,
    creds: Option<&Path>,
) -> Result<(FleetUrl, Option<NatsCredentials>), Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|it| !it.is_empty());
    let (set_url, set_creds) = CONFIGURED.get().cloned().unwrap_or_default();
    let url = Some(url.to_owned())
        .filter(|it| !it.is_empty())
        .or_else(|| variable(FLEET))
        .or(set_url);
    let url = url.ok_or_else(|| {
        Failure::usage(format!(
            "no address of the fleet's NATS servers; pass --fleet=URL, or set {FLEET} or `fleet.url` of the settings"
        ))
    })?;
    let url = url.parse().map_err(Failure::usage)?;
    let file = creds
        .map(Path::to_owned)
        .or_else(|| variable(CREDENTIALS).map(Into::into))
        .or(set_creds);
    let credentials = file.map(|it| NatsCredentials::read(&it)).transpose();
    let credentials = credentials.map_err(|error| Failure::caused("cannot", &error))?;
    Ok((url, credentials))
}

/// Returns the network of the fleet that the options select; `None` if they select none. A command uses one fleet.
///
/// # Errors
/// If there is no address, or the credentials cannot be read.
pub(crate) fn network(options: &FleetArgs) -> Result<Option<Arc<FleetNetwork>>, Failure> {
    static NETWORK: OnceLock<Arc<FleetNetwork>> = OnceLock::new();
    let Some(url) = &options.fleet else {
        return Ok(None);
    };
    if let Some(network) = NETWORK.get() {
        return Ok(Some(Arc::clone(network)));
    }
    let (url, credentials) = fleet_address(url, options.creds.as_deref())?;
    let network = NETWORK.get_or_init(|| FleetNetwork::new(url, credentials));
    Ok(Some(Arc::clone(network)))
}

/// Where connections go.
#[derive(Clone, Debug)]
enum Target {
    /// To the runner that has the session at the time.
    Session(SessionId),
    Runner(RunnerId),
}

/// A network whose connections go to the selected runner, or that of the selected session.
#[derive(Debug)]
pub(crate) struct FleetNetwork {
    url: FleetUrl,
    credentials: Option<NatsCredentials>,
    bus: OnceCell<Connection>,
    selected: watch::Sender<Option<Target>>,
}

/// A shared [`FleetNetwork`] as the network of a client.
#[derive(Clone, Debug)]
struct SessionNetwork(Arc<FleetNetwork>);

impl FleetNetwork {
    fn new(url: FleetUrl, credentials: Option<NatsCredentials>) -> Arc<Self> {
        Arc::new(Self {
            url,
            credentials,
            bus: OnceCell::new(),
            selected: watch::Sender::new(None),
        })
    }

    /// Returns a client of the runner that is selected later.
    pub(crate) fn client(self: &Arc<Self>) -> RunnerClient {
        // Never looked up: the network connects by what is selected.
        let url = RemoteUrl::Tcp {
            host: "localhost".to_owned(),
            port: 80,
            tls: false,
            carrier: bowline_transport::Carrier::WebSocket,
        };
        let mut remote = Remote::new(url);
        remote.network = Arc::new(SessionNetwork(Arc::clone(self)));
        RunnerClient::of(remote)
    }

    /// Returns the connection to the servers, which is made when it is needed first.
    pub(crate) async fn bus(&self) -> Result<&Connection, Failure> {
        let open = || Connection::open(&self.url, self.credentials.as_ref(), "bowline");
        let bus = self.bus.get_or_try_init(open).await;
        bus.map_err(|error| Failure::caused("cannot", &error))
    }

    /// Returns all sessions.
    pub(crate) async fn sessions(&self) -> Result<Vec<FleetSession>, Failure> {
        let sessions = fleet_sessions(self.bus().await?).await;
        sessions.map_err(|error| Failure::caused("cannot list the sessions of the fleet:", &error))
    }

    /// Finds the session whose id starts with `prefix`.
    pub(crate) async fn find(&self, prefix: &str) -> Result<FleetSession, Failure> {
        let sessions = self.sessions().await?.into_iter();
        let mut found =
            sessions.filter(|it| !prefix.is_empty() && it.id.to_string().starts_with(prefix));
        let session = found.next().ok_or_else(|| {
            Failure::failed(format!(
                "no session id of the fleet starts with {prefix:?}; list the sessions with `bowline ps --fleet`"
            ))
        })?;
        if found.next().is_some() {
            return Err(Failure::usage(format!(
                "more than one session id starts with {prefix:?}; give more of it"
            )));
        }
        Ok(session)
    }

    /// Finds the session whose id starts with `prefix` if its runner cannot be reached.
    pub(crate) async fn away(&self, prefix: &str) -> Result<Option<FleetSession>, Failure> {
        let session = self.find(prefix).await?;
        Ok(matches!(session.reach, Reach::Silent { .. }).then_some(session))
    }

    /// Selects the session whose id starts with `prefix`.
    ///
    /// # Errors
    /// If no session or more than one matches, or its runner cannot be reached.
    pub(crate) async fn select(&self, prefix: &str) -> Result<SessionSummary, Failure> {
        let session = self.find(prefix).await?;
        if let Reach::Silent { since_ms } = session.reach {
            return Err(Failure::failed(format!(
                "the runner {} of session {} is {}; `bowline logs --fleet {}` shows what was copied",
                session.runner_name,
                session.id,
                silence(since_ms),
                session.id
            )));
        }
        let summary = serde_json::from_value(session.record.summary);
        let summary = summary.map_err(|error| {
            Failure::failed(format!(
                "cannot read what the runner {} says of the session: {error}; use the same version of bowline there",
                session.runner_name
            ))
        })?;
        self.selected
            .send_replace(Some(Target::Session(session.id)));
        Ok(summary)
    }

    /// Selects the runner with an id or a name, or the one with the fewest running sessions.
    ///
    /// # Errors
    /// If no runner is connected, none matches, or several do.
    pub(crate) async fn select_runner(&self, wanted: Option<&str>) -> Result<RunnerId, Failure> {
        let runners = FleetRunners::read(self.bus().await?).await;
        let runners = runners
            .map_err(|error| Failure::caused("cannot list the runners of the fleet:", &error))?;
        let runner = choose_runner(runners.live(), wanted).map_err(Failure::failed)?;
        let id = runner.runner.clone();
        self.selected.send_replace(Some(Target::Runner(id.clone())));
        Ok(id)
    }

    async fn connect(&self) -> io::Result<Box<dyn ByteStream>> {
        let selected = self.selected.borrow().clone();
        let bus = self
            .bus()
            .await
            .map_err(|failure| io::Error::other(failure.line()))?;
        let link = match selected.ok_or(io::ErrorKind::NotConnected)? {
            Target::Session(id) => link_of_session(bus, id).await?,
            Target::Runner(id) => link_subject(&id),
        };
        let scope = TokenScope::Own.to_string();
        let stream = open_link(bus, &link, "bowline", &scope).await;
        Ok(Box::new(stream.map_err(io::Error::other)?))
    }
}

async fn link_of_session(bus: &Connection, id: SessionId) -> io::Result<String> {
    let session = fleet_session(bus, id).await.map_err(io::Error::other)?;
    let session = session.ok_or(io::ErrorKind::NotFound)?;
    match session.reach {
        Reach::Live { link } => Ok(link),
        Reach::Silent { .. } => {
            let text = format!("the runner {} is silent", session.runner_name);
            Err(io::Error::new(io::ErrorKind::NotConnected, text))
        }
    }
}

/// Describes since when a runner is silent.
pub(crate) fn silence(since_ms: Option<u64>) -> String {
    match since_ms {
        Some(at) => format!("silent since {}", age(now_ms().saturating_sub(at) / 1000)),
        None => "silent".to_owned(),
    }
}

impl Network for SessionNetwork {
    fn connect<'a>(&'a self, _to: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        Box::pin(self.0.connect())
    }
}
