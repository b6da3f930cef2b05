//! Sessions of many machines: `serve --fleet`, `--fleet` of the other commands, and `bowline fleet`.

mod clocks;
mod daemon;
mod doctor;
mod history;
mod init;
mod last_screen;
mod list;
mod network;
mod replica;
mod resume;

pub(crate) use daemon::Joining;
pub(crate) use history::history;
pub(crate) use list::ps;
pub(crate) use network::{CREDENTIALS, configure, network};
pub(crate) use replica::{attach_copy, logs};
pub(crate) use resume::resume;

use std::process::ExitCode;

use crate::args::fleet::{Fleet, FleetCommand};
use crate::failure::Failure;

/// Sets up or checks the servers of a fleet.
///
/// # Errors
/// If files cannot be written, or the servers are not as they must be.
pub(crate) async fn fleet(options: Fleet) -> Result<ExitCode, Failure> {
    match options.command {
        FleetCommand::Init(options) => init::init(options),
        FleetCommand::Doctor(options) => doctor::doctor(&options).await,
    }
}
