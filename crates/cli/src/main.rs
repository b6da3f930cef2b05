//! The `bowline` command.
//!
//! Exit code 0: done; 1: the agent or the session failed; 2: usage; 130: interrupted. Errors are
//! one line on standard error that says what to do next.

mod args;
mod demo;
mod doctor;
mod failure;
mod input;
mod inspect;
mod live;
mod printer;
mod replay;
mod run;
mod screen;
mod view;

use std::process::ExitCode;

use args::Command;
use failure::Failure;

/// The hidden first argument that makes this binary the understudy.
const UNDERSTUDY: &str = "understudy";

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    if words.nth(1).is_some_and(|word| word == UNDERSTUDY) {
        return understudy::run(words);
    }
    match args::parse().and_then(carry_out) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn carry_out(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Demo(demo) => runtime()?.block_on(demo::demo(&demo)),
        Command::Run(run) => runtime()?.block_on(run::run(run)),
        Command::Replay(replay) => replay::replay(&replay),
        Command::Inspect(inspect) => inspect::inspect(&inspect),
        Command::Doctor(doctor) => runtime()?.block_on(doctor::doctor(&doctor)),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))
}
