//! A fleet on three NATS servers beside the clients: what copying, reaching and listing sessions costs.

mod copies;
mod directory;
mod fenced;
mod join;
mod prompts;

use std::time::Duration;

use anyhow::{Context as _, Result};
use bowline_fleet::RunnerId;
use bowline_tests::fleet::{FleetHost, FleetRunner, NatsServers};

pub use crate::terminal::Row;

/// Amounts of work of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Messages that are stored one after another.
    pub messages: usize,
    /// Sessions that are copied, and listed.
    pub sessions: usize,
    /// Time for which they are copied.
    pub copying: Duration,
    /// Bytes of output that a host joins.
    pub history: usize,
    /// Joins through each way.
    pub joins: usize,
    /// Prompts through each way.
    pub prompts: usize,
}

/// Servers of the cluster.
const SERVERS: usize = 3;

/// Runs all measurements.
///
/// # Errors
///
/// Fails if the servers or the runner cannot be started, or something that is stored is wrong.
pub fn measure(plan: &Plan) -> Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut rows = runtime.block_on(async {
        let cluster = Cluster::start().await?;
        let fenced = fenced::row(&cluster, plan).await.context("messages")?;
        let list = directory::row(&cluster, plan).await.context("a list")?;
        let mut rows = vec![fenced, list];
        rows.extend(prompts::rows(&cluster, plan).await.context("prompts")?);
        rows.extend(join::rows(&cluster, plan).await.context("joins")?);
        cluster.runner.stop().await;
        Ok::<_, anyhow::Error>(rows)
    })?;
    rows.extend(copies::rows(plan).context("copies")?);
    Ok(rows)
}

/// Servers, a runner that is a member, and a host.
struct Cluster {
    servers: NatsServers,
    runner: FleetRunner,
    id: RunnerId,
    _folder: tempfile::TempDir,
}

impl Cluster {
    async fn start() -> Result<Self> {
        let servers = started()?;
        let bus = servers.set_up().await;
        // The path of a socket is limited in length (unix(7)).
        let folder = tempfile::Builder::new().prefix("bw").tempdir_in("/tmp")?;
        let id: RunnerId = "a".parse()?;
        let runner = FleetRunner::start(folder.path(), &bus, &id).await;
        Ok(Self {
            servers,
            runner: runner.map_err(anyhow::Error::msg)?,
            id,
            _folder: folder,
        })
    }

    /// The runner as a host reaches it, through the servers or on its port.
    async fn remote(&self, way: Way) -> bowline_transport::Remote {
        match way {
            Way::Fleet => {
                let host = FleetHost::connect(&self.servers.url(), &self.id).await;
                FleetHost::remote(host)
            }
            Way::WebSocket => self.runner.remote(),
        }
    }
}

/// How a host reaches the runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Fleet,
    WebSocket,
}

impl Way {
    const ALL: [Self; 2] = [Self::WebSocket, Self::Fleet];

    const fn name(self) -> &'static str {
        match self {
            Self::Fleet => "through NATS",
            Self::WebSocket => "WebSocket",
        }
    }
}

fn started() -> Result<NatsServers> {
    NatsServers::start(SERVERS, "").map_err(anyhow::Error::msg)
}

/// Returns the median and the 99th percentile, in milliseconds.
fn percentiles(times: &mut [Duration]) -> Result<(f64, f64)> {
    times.sort_unstable();
    let at = |share: usize| times.get((times.len() * share / 100).min(times.len() - 1));
    let ms = |at: Option<&Duration>| Some(at?.as_secs_f64() * 1e3);
    ms(at(50)).zip(ms(at(99))).context("no times")
}
