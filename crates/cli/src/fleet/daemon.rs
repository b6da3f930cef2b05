//! The daemon as a member of a fleet, and as a gateway to its sessions.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bowline_fleet::{
    Advertisement, ConnectError, Connection, FleetUrl, Gateway, Layout, LocalDaemon, Member,
    MemberConfiguration, NatsCredentials, RunnerId, advertise,
};
use bowline_lifecycle::SessionId;
use bowline_runner::{OtherRunners, Runner, StateDir};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::network::fleet_address;
use crate::args;
use crate::failure::Failure;
use crate::stdio::eprint;

/// Pause before servers that cannot be reached are tried again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Name of the file with the runner's id, in the state folder.
const ID_FILE: &str = "fleet-id";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A fleet to join.
pub(crate) struct Joining {
    url: FleetUrl,
    credentials: Option<NatsCredentials>,
    /// Whether it answers the discovery of micro-services.
    is_advertised: bool,
}

/// A member. Dropping it leaves the fleet.
pub(crate) struct Joined {
    _tasks: JoinSet<()>,
}

impl Joining {
    /// Reads the options; `None` without a fleet.
    ///
    /// # Errors
    /// If the address is wrong, the credentials cannot be read, or options of a fleet are given without one.
    pub(crate) fn new(options: &args::Serve) -> Result<Option<Self>, Failure> {
        let Some(url) = &options.fleet else {
            if options.creds.is_some() || options.advertise {
                let text = "--creds and --advertise are for a fleet; add --fleet URL";
                return Err(Failure::usage(text));
            }
            return Ok(None);
        };
        let (url, credentials) = fleet_address(url, options.creds.as_deref())?;
        Ok(Some(Self {
            url,
            credentials,
            is_advertised: options.advertise,
        }))
    }

    /// Joins the fleet. Servers that cannot be reached are tried again in the background: sessions go on without
    /// them.
    ///
    /// # Errors
    /// If the servers refuse the credentials, are too old, or lack JetStream.
    pub(crate) async fn join(self, runner: &Runner, state: &StateDir) -> Result<Joined, Failure> {
        let id = self.runner_id(state)?;
        let local = LocalDaemon::new(runner, state.clone())
            .ok_or_else(|| Failure::failed("a member of a fleet needs a Unix socket"))?;
        let mut tasks = JoinSet::new();
        let gateway = Arc::new(Gateway::new(id.clone(), local.clone()));
        runner.forward_to(Arc::clone(&gateway) as Arc<dyn OtherRunners>);
        match self.open(&id).await {
            Ok(bus) => {
                let layout = set_up(&bus).await?;
                gateway.connected(bus.clone());
                tasks.spawn(self.join_and_hold(bus, layout, id, local));
            }
            Err(error @ ConnectError::Unreachable { .. }) => {
                eprint(&format!("bowline: cannot {error}; trying again\n"));
                tasks.spawn(self.join_later(id, local, gateway));
            }
            Err(error) => return Err(Failure::caused("cannot", &error)),
        }
        Ok(Joined { _tasks: tasks })
    }

    async fn open(&self, id: &RunnerId) -> Result<Connection, ConnectError> {
        Connection::open(&self.url, self.credentials.as_ref(), id.as_str()).await
    }

    async fn join_later(self, id: RunnerId, local: LocalDaemon, gateway: Arc<Gateway<Connection>>) {
        loop {
            sleep(RETRY_AFTER).await;
            if let Ok(bus) = self.open(&id).await
                && let Ok(layout) = set_up(&bus).await
            {
                gateway.connected(bus.clone());
                return self.join_and_hold(bus, layout, id, local).await;
            }
        }
    }

    /// Is a member, and keeps what it needs at the servers, until the task is dropped.
    async fn join_and_hold(
        self,
        bus: Connection,
        layout: Layout,
        id: RunnerId,
        local: LocalDaemon,
    ) {
        let (durability, is_durable) = watch::channel(false);
        let configuration = MemberConfiguration {
            name: machine_name(&id),
            runner: id.clone(),
            version: VERSION.to_owned(),
            boot: SessionId::random().to_string(),
            is_durable,
            log_days: layout.limits.days,
        };
        let advertisement = self.is_advertised.then(|| Advertisement {
            runner: id,
            name: configuration.name.clone(),
            version: VERSION.to_owned(),
        });
        let _member = Member::join(bus.clone(), configuration, local.clone());
        let advertised = async {
            if let Some(advertisement) = advertisement {
                advertise(bus.clone(), advertisement, local).await;
            }
        };
        tokio::join!(
            bus.keep_set_up(layout.replicas),
            bus.keep_durability(&durability),
            advertised,
        );
    }

    /// Returns the id of the runner: the user of its credentials, whose rights name it, or a random one that the
    /// state folder keeps.
    fn runner_id(&self, state: &StateDir) -> Result<RunnerId, Failure> {
        let user = self.credentials.as_ref().and_then(NatsCredentials::user);
        let text = match user {
            Some(user) => user.to_owned(),
            None => kept_id(&state.path().join(ID_FILE))?,
        };
        text.parse()
            .map_err(|error| Failure::failed(format!("{text:?} is {error}")))
    }
}

/// Returns the name of this machine, or the runner's id if it has none.
fn machine_name(runner: &RunnerId) -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy().into_owned();
    match name.is_empty() {
        true => runner.to_string(),
        false => name,
    }
}

/// Creates the stream and the buckets that are missing.
async fn set_up(bus: &Connection) -> Result<Layout, Failure> {
    let layout = bus.set_up(None).await;
    layout.map_err(|error| Failure::caused("cannot", &error))
}

/// Reads the id in a file, which is created with a random one.
fn kept_id(path: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| {
        Failure::failed(format!(
            "cannot use {}: {error}; check the folder",
            path.display()
        ))
    };
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let id = SessionId::random().to_string();
            std::fs::write(path, format!("{id}\n")).map_err(failed)?;
            Ok(id)
        }
        Err(error) => Err(failed(error)),
    }
}
