//! A runner that is a member of a fleet, and a host that reaches it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bowline_fleet::{
    Connection, FleetUrl, Gateway, LocalDaemon, Member, MemberConfiguration, RunnerId,
    link_subject, open_link,
};
use bowline_lifecycle::{AgentLocation, DialogueConfiguration};
use bowline_runner::{Runner, ServeConfiguration, ServeLimits, ShimProgram, StateDir, TokenScope};
use bowline_transport::{Address, Boxed, ByteStream, Network, Remote, RemoteUrl, Token};

use super::servers::connect;
use crate::campaign::{SHIM, own, understudy as configuration};

/// A daemon in this process, with separate shims, as a member of a fleet.
#[derive(Debug)]
pub struct FleetRunner {
    runner: Runner,
    state: StateDir,
    token: String,
    _member: Member,
}

impl FleetRunner {
    /// Starts a runner with its state in a folder. The program of this process serves as its shims
    /// ([`hidden`](crate::campaign::hidden)). It joins with `runner` as its id.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub async fn start(folder: &Path, bus: &Connection, runner: &RunnerId) -> Result<Self, String> {
        let failed = |error: &dyn std::error::Error| error.to_string();
        let state = StateDir::at(folder.join("state")).map_err(|error| failed(&error))?;
        let (socket, token_file) = (folder.join("runner.sock"), folder.join("token"));
        let served = Runner::start(ServeConfiguration {
            state: state.clone(),
            shim: ShimProgram {
                path: own(),
                args: vec![SHIM.into()],
            },
            socket: Some(socket),
            listen: vec![([127, 0, 0, 1], 0).into()],
            token_file: token_file.clone(),
            hosts: Vec::new(),
            origins: Vec::new(),
            tls: None,
            limits: ServeLimits {
                sessions: 2_000,
                // Links are cut more often here than in production.
                attaches_per_second: 1_000_000,
                ..ServeLimits::default()
            },
            policy: Default::default(),
        });
        let served = served.await.map_err(|error| failed(&error))?;
        let token = std::fs::read_to_string(token_file).map_err(|error| failed(&error))?;
        let local = LocalDaemon::new(&served, state.clone()).ok_or("no socket")?;
        let gateway = Gateway::new(runner.clone(), local.clone());
        gateway.connected(bus.clone());
        served.forward_to(Arc::new(gateway));
        let configuration = MemberConfiguration {
            runner: runner.clone(),
            name: runner.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            boot: bowline_transport::SessionId::random().to_string(),
            is_durable: tokio::sync::watch::channel(false).1,
            log_days: None,
        };
        Ok(Self {
            runner: served,
            state,
            token: token.trim().to_owned(),
            _member: Member::join(bus.clone(), configuration, local),
        })
    }

    /// The folders of its sessions.
    #[must_use]
    pub fn state(&self) -> &StateDir {
        &self.state
    }

    /// The runner as a host reaches it on its port, without the fleet.
    ///
    /// # Panics
    ///
    /// Never: it listens on a port.
    #[must_use]
    pub fn remote(&self) -> Remote {
        let address = self.runner.addresses().first().expect("a port");
        let url = format!("http://{address}").parse().expect("an address");
        Remote::new(url).with_credentials(Token::new(&self.token))
    }

    /// Stops the runner. Its sessions go on.
    pub async fn stop(self) {
        self.runner.stop().await;
    }
}

/// Configuration of a dialogue with the scripted agent, which this binary is in a hidden mode.
#[must_use]
pub fn understudy(location: AgentLocation) -> DialogueConfiguration {
    configuration(location)
}

/// A host with a connection of its own. As a network, each of its connections is a link to the runner.
#[derive(Debug)]
pub struct FleetHost {
    bus: Connection,
    link: String,
}

impl FleetHost {
    /// Connects a host, once a server accepts it.
    ///
    /// # Panics
    ///
    /// A server refuses.
    pub async fn connect(url: &FleetUrl, runner: &RunnerId) -> Arc<Self> {
        Arc::new(Self {
            bus: connect(url, None).await,
            link: link_subject(runner),
        })
    }

    /// The runner as this host reaches it.
    #[must_use]
    pub fn remote(network: Arc<dyn Network>) -> Remote {
        // Never looked up: the network connects to the runner.
        let mut remote = Remote::new(RemoteUrl::Tcp {
            host: "localhost".to_owned(),
            port: 80,
            tls: false,
            carrier: bowline_transport::Carrier::WebSocket,
        });
        remote.network = network;
        remote
    }

    /// The connection.
    #[must_use]
    pub fn bus(&self) -> &Connection {
        &self.bus
    }
}

impl Network for FleetHost {
    fn connect<'a>(&'a self, _: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async move {
            let scope = TokenScope::Own.to_string();
            let link = open_link(&self.bus, &self.link, "host", &scope).await;
            let link: Box<dyn ByteStream> = Box::new(link.map_err(io::Error::other)?);
            Ok(link)
        })
    }
}
