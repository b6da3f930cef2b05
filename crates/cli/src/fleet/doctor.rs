//! `bowline fleet doctor`: checks the servers of a fleet.

use std::fmt::Write as _;
use std::process::ExitCode;

use bowline_fleet::{
    Connection, FleetRunners, FleetUrl, LogLimits, NatsCredentials, ServerState, fleet_sessions,
};

use super::clocks::clocks;
use super::network::fleet_address;
use crate::args::fleet::FleetDoctor;
use crate::failure::Failure;
use crate::stdio::print;
use crate::text::one_line;

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
    let mut report = Report::default();
    report.add("servers", &format!("{url}, version {}", bus.version()));
    report.replicas(&bus).await;
    let servers = servers(options, &url, &bus).await?;
    report.sync(&servers);
    report.clocks(&servers);
    report.limits(&bus).await;
    report.rights(&bus).await;
    report.runners(&bus).await;
    report.lag(&bus).await;
    print(&report.text)?;
    match report.faults.first() {
        None => Ok(ExitCode::SUCCESS),
        Some(_) => Err(Failure::failed(report.faults.join("; "))),
    }
}

/// The findings, a line each, and what to do about those that are not as they must be.
#[derive(Default)]
struct Report {
    text: String,
    faults: Vec<&'static str>,
}

impl Report {
    fn add(&mut self, name: &str, value: &str) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.text, "{name:9} {}", one_line(value, usize::MAX));
    }

    async fn replicas(&mut self, bus: &Connection) {
        match bus.layout().await.map(|layout| layout.replicas) {
            Ok(count) if count >= REPLICAS => self.add("replicas", &count.to_string()),
            Ok(count) => {
                let loss = "a copy is lost with its server, and made again from the journals";
                self.add("replicas", &format!("{count}; {loss}"));
            }
            Err(error) => {
                self.add("replicas", &format!("unknown: {error}"));
                self.faults.push(
                    "the stream of logs is missing; start a runner with `bowline serve --fleet`",
                );
            }
        }
    }

    fn sync(&mut self, servers: &[ServerState]) {
        match servers.iter().find(|it| !it.is_sync_always) {
            _ if servers.is_empty() => self.add("sync", UNKNOWN),
            None => self.add("sync", &format!("always; {} reported", servers.len())),
            Some(server) => {
                let loss = "a power failure loses what was acknowledged";
                self.add("sync", &format!("{}: not at once: {loss}", server.name));
                self.faults
                    .push("set `sync_interval: always` in the servers' jetstream settings");
            }
        }
    }

    fn clocks(&mut self, servers: &[ServerState]) {
        let Some(clocks) = clocks(servers) else {
            return self.add("clocks", UNKNOWN);
        };
        self.add("clocks", &clocks.text());
        if clocks.is_skewed() {
            self.faults.push(
                "set the servers' clocks, such as by NTP: runners are shown silent early or late",
            );
        }
    }

    async fn limits(&mut self, bus: &Connection) {
        let Ok(layout) = bus.layout().await else {
            return;
        };
        let LogLimits { days, bytes } = layout.limits;
        let days = match days {
            Some(days) => format!("kept {days} days"),
            None => "kept for ever".to_owned(),
        };
        let most = bytes.map(|it| format!(" of at most {}", size(it)));
        let (used, most) = (size(layout.bytes), most.unwrap_or_default());
        self.add("log", &format!("{days}; {used} are used{most}"));
        if let Some(bytes) = bus.file_bytes().await {
            let text = format!("{} of conversations", size(bytes));
            self.add("files", &text);
        }
        if bytes.is_some_and(|it| layout.bytes >= it / 10 * 9) {
            self.faults.push(
                "the stream of logs is nearly full, and takes no more then: `nats stream edit BL_LOG --max-bytes`",
            );
        }
    }

    async fn rights(&mut self, bus: &Connection) {
        match bus.missing_rights().await {
            Ok(missing) if missing.is_empty() => self.add("rights", "all that this version needs"),
            Ok(missing) => {
                self.add("rights", &format!("may not {}", missing.join(", ")));
                self.faults.push(
                    "the credentials lack rights; if an earlier version set the fleet up, run `bowline fleet init --renew FOLDER` and have the servers read their configurations again",
                );
            }
            Err(error) => self.add("rights", &format!("unknown: {error}")),
        }
    }

    async fn runners(&mut self, bus: &Connection) {
        let Ok(runners) = FleetRunners::read(bus).await else {
            return;
        };
        for runner in runners.live() {
            let (name, version, sessions) = (&runner.name, &runner.version, runner.sessions);
            self.add(
                "runner",
                &format!("{name}, version {version}, {sessions} sessions run"),
            );
        }
    }

    async fn lag(&mut self, bus: &Connection) {
        let Ok(sessions) = fleet_sessions(bus).await else {
            return;
        };
        let behind = sessions
            .iter()
            .map(|it| it.record.ends.past(&it.record.copied));
        let (most, all) = behind.fold((0, 0), |(most, all): (u64, u64), it| {
            (most.max(it), all + it)
        });
        let count = sessions.len();
        let text = format!("{all} bytes of {count} sessions are not copied, {most} of one");
        self.add("lag", &text);
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

/// Formats a number of bytes.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    let (mut value, mut unit) = (bytes as f64 / 1e3, 0);
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_their_largest_unit() {
        let sizes = [0, 999, 1_000, 999_999, 30_000_000_000, u64::MAX].map(size);
        let expected = [
            "0 bytes",
            "999 bytes",
            "1.0 kB",
            "1.0 MB",
            "30.0 GB",
            "18446744.1 TB",
        ];
        assert_eq!(sizes, expected);
    }
}
