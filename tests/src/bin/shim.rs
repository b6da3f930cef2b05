//! The shim of a runner's session, as a binary of this package, so that its tests can refer to it.

use std::process::ExitCode;

fn main() -> ExitCode {
    bowline_transport::run_guard().unwrap_or_else(bowline_runner::run_shim)
}
