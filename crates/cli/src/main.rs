//! The `bowline` command.
//!
//! Exit code 0: done; 1: the agent or the session failed; 2: usage; 130: interrupted. Errors are
//! one line on standard error that says what to do next.

mod args;
mod attach;
mod demo;
mod doctor;
mod failure;
mod hook;
mod input;
mod inspect;
mod kill;
mod link;
mod live;
mod printer;
mod ps;
mod replay;
mod run;
mod runner;
mod screen;
mod serve;
mod view;

use std::io;
use std::process::ExitCode;

use tokio::runtime::{Builder, Runtime};

use args::Command;
use failure::Failure;

/// The hidden first argument that makes this binary the understudy.
const UNDERSTUDY: &str = "understudy";

/// The hidden first argument that makes this binary carry one hook to its server.
const HOOK: &str = "hook";

/// The hidden first argument that makes this binary the owner of one session of a runner.
const SHIM: &str = "shim";

fn main() -> ExitCode {
    if let Some(code) = bowline_lifecycle::run_guard() {
        return code;
    }
    let mut words = std::env::args_os();
    match words.nth(1) {
        Some(word) if word == UNDERSTUDY => return understudy::run(words),
        Some(word) if word == HOOK => return hook::run(words),
        Some(word) if word == SHIM => return bowline_runner::run_shim(),
        _ => {}
    }
    match args::parse().and_then(carry_out) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn carry_out(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Demo(demo) => hold(demo::demo(&demo)),
        Command::Run(run) => hold(run::run(run)),
        Command::Replay(replay) => replay::replay(&replay),
        Command::Inspect(inspect) => inspect::inspect(&inspect),
        Command::Serve(serve) => hold_in(bowline_runner::runtime(), serve::serve(*serve)),
        Command::Ps(ps) => hold(ps::ps(ps)),
        Command::Attach(attach) => hold(attach::attach(attach)),
        Command::Kill(kill) => hold(kill::kill(kill)),
        Command::Doctor(doctor) => hold(doctor::doctor(&doctor)),
    }
}

/// Holds a command to its last word: as long as it may be held up by output that nobody reads,
/// somebody listens for signals.
fn hold(command: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    hold_in(runtime(), command)
}

/// The same, in a runtime of its own kind.
fn hold_in(
    runtime: io::Result<Runtime>,
    command: impl Future<Output = Result<ExitCode, Failure>>,
) -> Result<ExitCode, Failure> {
    let told = async { command.await.unwrap_or_else(|failure| failure.report()) };
    Ok(runtime.map_err(no_runtime)?.block_on(told))
}

/// Threads that the reactor has.
const WORKERS: usize = 2;

fn runtime() -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(WORKERS).enable_all();
    bowline_lifecycle::check_threads(WORKERS).and_then(|()| builder.build())
}

fn no_runtime(error: io::Error) -> Failure {
    Failure::failed(format!(
        "cannot start: {error}, raise the limits of threads and descriptors"
    ))
}
