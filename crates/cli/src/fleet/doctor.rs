//! `bowline fleet doctor`: checks the servers of a fleet.

use std::fmt::Write as _;
use std::process::ExitCode;

use bowline_fleet::{
    Bucket, BusError, Connection, FleetRunners, FleetUrl, KeyStore as _, NatsCredentials,
    ServerState, fleet_sessions,
};

use super::clocks::clocks;
use super::network::fleet_address;
use crate::args::fleet::FleetDoctor;
use crate::failure::Failure;
use crate::stdio::print;

/// Replicas that survive the loss of a server.
const REPLICAS: usize = 3;

/// What the servers do not report to these credentials.
const UNKNOWN: &str =
    "unknown; pass --system-creds, or configure the servers by `bowline fleet init`";

/// Checks the servers and prints the findings.
///
/// # Errors
/// If a server cannot be reached, or something is not as it must be.
pub(super) async fn doctor(options: &FleetDoctor) -> Result<ExitCode, Failure> {
    let url = options.fleet.as_deref().unwrap_or_default();
    let (url, credentials) = fleet_address(url, options.creds.as_deref())?;
    let bus = Connection::open(&url, credentials.as_ref(), "bowline fleet doctor").await;
    let bus = bus.map_err(|error| Failure::caused("cannot", &error))?;
    let (mut out, mut faults) = (String::new(), Vec::new());
    let mut add = |name: &str, value: &str| {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{name:9} {value}");
    };
    add("servers", &format!("{url}, version {}", bus.version()));
    match bus.layout().await {
        Ok(layout) if layout.replicas >= REPLICAS => {
            add("replicas", &format!("{}", layout.replicas));
        }
        Ok(layout) => add(
            "replicas",
            &format!(
                "{}; a copy is lost with its server, and made again from the journals",
                layout.replicas
            ),
        ),
        Err(error) => {
            add("replicas", &format!("unknown: {error}"));
            faults
                .push("the stream of logs is missing; start a runner with `bowline serve --fleet`");
        }
    }
    let servers = servers(options, &url, &bus).await?;
    match servers.iter().find(|it| !it.is_sync_always) {
        _ if servers.is_empty() => add("sync", UNKNOWN),
        None => add("sync", &format!("always; {} reported", servers.len())),
        Some(server) => {
            let lazy = &server.name;
            add(
                "sync",
                &format!("{lazy}: not at once: a power failure loses what was acknowledged"),
            );
            faults.push("set `sync_interval: always` in the servers' jetstream settings");
        }
    }
    match clocks(&servers) {
        None => add("clocks", UNKNOWN),
        Some(clocks) => {
            add("clocks", &clocks.text());
            if clocks.is_skewed() {
                faults.push("set the servers' clocks, such as by NTP: runners are shown silent early or late");
            }
        }
    }
    for bucket in [Bucket::Runners, Bucket::Seen, Bucket::Sessions] {
        match bus.get(bucket, "doctor").await {
            Ok(_) => add("rights", &format!("may read {}", bucket.name())),
            Err(BusError::Denied(what)) => {
                add("rights", &format!("may not {what}"));
                faults.push("the credentials lack a right; use those of `bowline fleet init`");
            }
            Err(error) => add("rights", &format!("{}: {error}", bucket.name())),
        }
    }
    if let Ok(runners) = FleetRunners::read(&bus).await {
        for runner in runners.live() {
            add(
                "runner",
                &format!(
                    "{}, version {}, {} sessions run",
                    runner.name, runner.version, runner.sessions
                ),
            );
        }
    }
    if let Ok(sessions) = fleet_sessions(&bus).await {
        let behind = sessions
            .iter()
            .map(|it| it.record.ends.past(&it.record.copied));
        let (most, all) = behind.fold((0, 0), |(most, all): (u64, u64), it| {
            (most.max(it), all + it)
        });
        add(
            "lag",
            &format!(
                "{all} bytes of {} sessions are not copied, {most} of one",
                sessions.len()
            ),
        );
    }
    print(&out)?;
    match faults.first() {
        None => Ok(ExitCode::SUCCESS),
        Some(_) => Err(Failure::failed(faults.join("; "))),
    }
}

/// Returns what the servers report, to the credentials of the fleet or of the servers' system account.
async fn servers(
    options: &FleetDoctor,
    url: &FleetUrl,
    bus: &Connection,
) -> Result<Vec<ServerState>, Failure> {
    let Some(file) = &options.system_creds else {
        return Ok(bus.servers().await);
    };
    let credentials = NatsCredentials::read(file);
    let credentials = credentials.map_err(|error| Failure::caused("cannot", &error))?;
    let system = Connection::open(url, Some(&credentials), "bowline fleet doctor").await;
    let system = system.map_err(|error| Failure::caused("cannot", &error))?;
    Ok(system.servers_as_system().await)
}
