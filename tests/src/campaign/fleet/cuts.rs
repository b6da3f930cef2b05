//! Dialogues through NATS whose host loses its connection again and again.
//!
//! Checked for each: its transcript equals that of a local dialogue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bowline_fleet::RunnerId;
use bowline_lifecycle::AgentLocation;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::campaign::remote::cuts::dialogue::{
    BehindTheFirst, configuration, expected, transcript_of,
};
use crate::campaign::support::{run_to_end, within};
use crate::campaign::{Job, Report};
use crate::chaos::{Address, ChaosProxy, Fault, Faults, Impatient};
use crate::fleet::{FleetHost, FleetRunner, NatsServers};
use crate::normalize::difference;

/// Interval between two cuts of a connection.
const CUT_EVERY: Duration = Duration::from_millis(200);

/// Number of concurrent dialogues.
const LANES: usize = 8;

pub(in crate::campaign) fn run(job: &Job) -> Report {
    run_to_end(job, dialogues)
}

async fn dialogues(job: &Job, report: &mut Report) -> Result<(), String> {
    let servers = NatsServers::start(1, "")?;
    let bus = within("a server", servers.set_up()).await?;
    // The path of a socket is limited in length (unix(7)).
    let folder = tempfile::Builder::new().prefix("bw").tempdir_in("/tmp");
    let folder = folder.map_err(|error| error.to_string())?;
    let id: RunnerId = "a".parse().map_err(|_| "no id of a runner")?;
    let runner = FleetRunner::start(folder.path(), &bus, &id).await?;
    let servers = Arc::new(servers);
    let expected = Arc::new(expected().await?);
    let mut lanes = JoinSet::new();
    let mut cuts = 0;
    for number in 0..job.count {
        if lanes.len() >= LANES {
            cuts += count(report, lanes.join_next().await);
        }
        let (servers, expected, id) = (Arc::clone(&servers), Arc::clone(&expected), id.clone());
        let seed = job.seed.wrapping_add(number);
        lanes.spawn(async move {
            let done = dialogue(&servers, &id, seed, &expected).await;
            done.map_err(|why| format!("dialogue {number}, seed {seed}: {why}"))
        });
    }
    while let Some(done) = lanes.join_next().await {
        cuts += count(report, Some(done));
    }
    report.note(format!(
        "{cuts} connections to NATS were cut under {} dialogues",
        report.done
    ));
    runner.stop().await;
    Ok(())
}

fn count(
    report: &mut Report,
    done: Option<Result<Result<u64, String>, tokio::task::JoinError>>,
) -> u64 {
    let done = done.unwrap_or(Ok(Ok(0)));
    let done = done.map_err(|error| error.to_string()).flatten();
    let cuts = done.as_ref().copied().unwrap_or(0);
    report.one(done.map(drop));
    cuts
}

/// Runs one dialogue, and returns how often its connection was cut.
async fn dialogue(
    servers: &NatsServers,
    runner: &RunnerId,
    seed: u64,
    expected: &Value,
) -> Result<u64, String> {
    // Only cuts between connections: the proxy's own faults never come.
    let none = Faults {
        kinds: vec![Fault::Cut],
        after: u64::MAX - 1..u64::MAX,
    };
    let proxy = ChaosProxy::start(Address::Tcp(servers.address(0)), seed, none).await;
    let proxy = proxy.map_err(|error| error.to_string())?;
    let url = format!("nats://{}", proxy.address()).parse();
    let url = url.map_err(|error| format!("{error}"))?;
    let direct = within("a host", FleetHost::connect(&servers.url(), runner)).await?;
    let interrupted = within("a host", FleetHost::connect(&url, runner)).await?;
    let network = BehindTheFirst::new(direct, interrupted);
    let remote = FleetHost::remote(Arc::new(Impatient::new(Arc::new(network))));
    let is_over = AtomicBool::new(false);
    let cutting = async {
        loop {
            sleep(CUT_EVERY).await;
            // The end has been reported; only the detach remains.
            if !is_over.load(Ordering::Relaxed) {
                proxy.cut_all();
            }
        }
    };
    let over = || is_over.store(true, Ordering::Relaxed);
    let transcript = tokio::select! {
        done = transcript_of(configuration(AgentLocation::Runner(remote)), over) => done?,
        () = cutting => return Ok(0),
    };
    match difference(&transcript, expected, "transcript") {
        Some(difference) => Err(difference),
        None => Ok(proxy.severed()),
    }
}
