//! The options of fleets.

use std::path::PathBuf;

use bowline_lifecycle::Shell;
use clap::{Args, Subcommand};

/// Selects a fleet instead of one runner.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FleetArgs {
    /// All runners of the fleet of these NATS servers, nats, tls, ws or wss://host:port; by default those of
    /// BOWLINE_FLEET.
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        group = "place",
    )]
    pub(crate) fleet: Option<String>,
    /// The file with credentials for the fleet; by default that of BOWLINE_FLEET_CREDS.
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(crate) creds: Option<PathBuf>,
}

impl FleetArgs {
    /// Formats the options for another command, each after a space; `None` if no fleet is selected.
    pub(crate) fn options(&self) -> Option<String> {
        let quote = |text: &str| Shell::Sh.quote(text);
        let url = self.fleet.as_deref()?;
        let url = if url.is_empty() {
            String::new()
        } else {
            format!("={}", quote(url))
        };
        let creds = self
            .creds
            .as_ref()
            .map(|it| format!(" --creds {}", quote(&it.to_string_lossy())));
        Some(format!(" --fleet{url}{}", creds.unwrap_or_default()))
    }
}

/// Selects the runner of the fleet at which a session is started.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    /// With --fleet: the runner, by its id or the name of its machine; by default the one with the fewest running
    /// sessions.
    #[arg(long, value_name = "RUNNER", requires = "fleet")]
    pub(crate) on: Option<String>,
}

/// Continues a session of a fleet at another runner.
#[derive(Debug, Args)]
#[command(after_help = "\
The session has ended, or its runner is silent. Its agent starts at the other runner with the files of its conversation, \
as they were copied at the end of its last turn: the session keeps its id, its earlier output stays readable, and a runner \
that comes back learns that the session was taken over; it ends nothing by itself. The working tree and credentials are \
not moved. Only conversations of Claude Code can be moved.")]
pub(crate) struct Resume {
    /// The runner that continues it, by its id or the name of its machine.
    #[arg(long, value_name = "RUNNER")]
    pub(crate) on: String,
    /// The working directory there; by default the path that it had.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// The fleet's NATS servers; by default those of BOWLINE_FLEET.
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
    )]
    pub(crate) fleet: Option<String>,
    /// The file with credentials for the fleet; by default that of BOWLINE_FLEET_CREDS.
    #[arg(long, value_name = "FILE")]
    pub(crate) creds: Option<PathBuf>,
    /// The session's id as `bowline ps --fleet` lists it, or the start of it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// A prompt to continue with.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
}

/// Sets up and checks the servers of a fleet.
#[derive(Debug, Args)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Write the configuration of NATS servers, and credentials of runners and hosts.
    Init(FleetInit),
    /// Check the servers of a fleet: versions, replicas, clocks, rights, and how much is not copied yet.
    Doctor(FleetDoctor),
}

#[derive(Debug, Args)]
pub(crate) struct FleetInit {
    /// The name or address of a server: one, or three. By default 127.0.0.1.
    #[arg(long = "node", value_name = "HOST", conflicts_with = "renew")]
    pub(crate) nodes: Vec<String>,
    /// The name of a runner; may be repeated.
    #[arg(
        long = "runner",
        value_name = "NAME",
        required_unless_present = "renew"
    )]
    pub(crate) runners: Vec<String>,
    /// The name of a machine that uses the sessions of others and runs none; may be repeated.
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// Days after which the servers remove what they have of a session's output; 0 keeps it. The first runner that joins
    /// sets it; later, `nats stream edit BL_LOG` changes it.
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub(crate) log_days: u32,
    /// Gigabytes of output at which the servers take no more; by default what their disks have.
    #[arg(long, value_name = "N")]
    pub(crate) log_gigabytes: Option<u32>,
    /// Keep the keys of the folder, and write the rights of this version into its configurations; further runners and
    /// hosts are added. The former configurations stay as *.old.
    #[arg(long)]
    pub(crate) renew: bool,
    /// The folder to write to, which must not have the files yet; with --renew, that of the fleet.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct FleetDoctor {
    /// The NATS servers; by default those of BOWLINE_FLEET.
    #[arg(long, value_name = "URL")]
    pub(crate) fleet: Option<String>,
    /// The file with credentials; by default that of BOWLINE_FLEET_CREDS.
    #[arg(long, value_name = "FILE")]
    pub(crate) creds: Option<PathBuf>,
    /// The credentials of the servers' system account, for servers that report to no other account whether they sync at
    /// once; those that `bowline fleet init` configured do.
    #[arg(long, value_name = "FILE")]
    pub(crate) system_creds: Option<PathBuf>,
}
