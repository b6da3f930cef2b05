//! The daemon as a member of a fleet, and as a gateway to its sessions.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bowline_fleet::{
    ConnectError, Connection, FleetUrl, Gateway, Layout, LocalDaemon, Member, MemberConfiguration,
    NatsCredentials, RunnerId,
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

/// A fleet to join.
pub(crate) struct Joining {
    url: FleetUrl,
    credentials: Option<NatsCredentials>,
}

/// A member. Dropping it leaves the fleet.
pub(crate) struct Joined {
    _tasks: JoinSet<()>,
}

impl Joining {
    /// Reads the options; `None` without a fleet.
    ///
    /// # Errors
    /// If the address is wrong, or the credentials cannot be read.
    pub(crate) fn new(options: &args::Serve) -> Result<Option<Self>, Failure> {
        let Some(url) = &options.fleet else {
            return Ok(None);
        };
        let (url, credentials) = fleet_address(url, options.creds.as_deref())?;
        Ok(Some(Self { url, credentials }))
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
                tasks.spawn(join_and_hold(bus, layout, id, local));
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
                return join_and_hold(bus, layout, id, local).await;
            }
        }
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

/// Creates the stream and the buckets that are missing.
async fn set_up(bus: &Connection) -> Result<Layout, Failure> {
    let layout = bus.set_up(None).await;
    layout.map_err(|error| Failure::caused("cannot", &error))
}

/// Is a member, and keeps what it needs at the servers, until the task is dropped.
async fn join_and_hold(bus: Connection, layout: Layout, id: RunnerId, local: LocalDaemon) {
    let (durability, is_durable) = watch::channel(false);
    let _member = Member::join(bus.clone(), configuration(id, is_durable), local);
    tokio::join!(
        bus.keep_set_up(layout.replicas),
        bus.keep_durability(&durability)
    );
}

fn configuration(runner: RunnerId, is_durable: watch::Receiver<bool>) -> MemberConfiguration {
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    MemberConfiguration {
        name: if name.is_empty() {
            runner.to_string()
        } else {
            name
        },
        runner,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        boot: SessionId::random().to_string(),
        is_durable,
    }
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
