//! Runs campaigns: `cargo stress --help`.

use std::process::ExitCode;

use bowline_tests::campaign::hidden;
use bowline_tests::stress::{Arguments, run};
use clap::Parser as _;

fn main() -> ExitCode {
    if let Some(code) = bowline_transport::run_guard() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = hidden::run(&args) {
        return code;
    }
    run(&Arguments::parse())
}
