//! The `bowline` command.
//!
//! Exit code 0: done; 1: the agent or the session failed; 2: usage; 130: interrupted. An error is
//! one line on standard error: what failed, then what to do about it.
//!
//! The binary is also the programs that it starts. A hidden first argument selects them: the
//! understudy of `bowline demo`, the hook client that the agent runs, and the shim that owns one
//! session of a runner.

mod acp;
mod agent_start;
mod args;
mod attach;
mod bundle;
mod chat;
mod daemon;
mod demo;
mod doctor;
mod failure;
#[cfg(feature = "fleet")]
mod fleet;
mod history;
mod inspect;
mod leases;
mod log;
mod open_recording;
mod permission;
mod policy;
mod printer;
mod recording;
mod replay;
mod run;
mod runner;
mod screen;
mod script;
mod serve;
mod service;
mod session_ids;
mod session_view;
mod sessions;
mod settings;
mod shell;
mod signals;
mod stdio;
mod style;
mod table;
mod template;
mod text;
mod token;
mod ui;
mod view;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use tokio::runtime::{Builder, Runtime};

use args::Command;
use failure::Failure;
use settings::Settings;

/// Worker threads of the runtime.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    if let Some(code) = bowline_lifecycle::run_guard() {
        return code;
    }
    // A daemon and its sessions outlive this command, and so would a lock or a pipe of its starter with them.
    bowline_process::seal_descriptors();
    // A write past the file size limit is an error, as on a full disk.
    bowline_process::ignore_write_signals();
    let mut words = std::env::args_os();
    match words.nth(1) {
        Some(word) if word == demo::UNDERSTUDY => return understudy::run(words),
        Some(word) if word == "hook" => return post_hook(words),
        Some(word) if word == serve::SHIM => return bowline_runner::run_shim(),
        _ => {}
    }
    shell::complete();
    run_command().unwrap_or_else(|failure| stdio::report(&failure))
}

fn run_command() -> Result<ExitCode, Failure> {
    let settings = Settings::load()?;
    let (command, format) = args::parse(&settings, chat::has_terminal())?;
    execute(command, format, &settings)
}

/// Posts one event from the agent to the hook server. The arguments are the server's URL and the
/// name of the variable that holds its token.
///
/// The exit code is never 2, which the agent would take as a refusal.
fn post_hook(args: impl Iterator<Item = OsString>) -> ExitCode {
    match bowline_hooks::post_hook(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            stdio::eprint(&format!("bowline hook: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn execute(
    command: Command,
    format: args::LogFormat,
    settings: &Settings,
) -> Result<ExitCode, Failure> {
    let default_filter = matches!(command, Command::Serve(_)).then_some("warn");
    log::install(format, default_filter)?;
    #[cfg(feature = "fleet")]
    fleet::configure(settings);
    match command {
        Command::Demo(demo) => block_on(runtime(), demo::demo(&demo)),
        Command::Chat(chat) => block_on(runtime(), chat::chat(chat)),
        Command::Run(run) => block_on(runtime(), run::run(run)),
        Command::Replay(replay) if replay.open => {
            block_on(bowline_runner::runtime(), open_recording::replay(replay))
        }
        Command::Replay(replay) => replay::replay(&replay),
        #[cfg(feature = "fleet")]
        Command::History(options) if options.fleet.fleet.is_some() => {
            block_on(runtime(), fleet::history(options))
        }
        Command::History(history) => history::list(&history),
        Command::Bundle(bundle) => block_on(runtime(), bundle::bundle(bundle)),
        Command::Inspect(inspect) if inspect.open => {
            block_on(bowline_runner::runtime(), open_recording::inspect(inspect))
        }
        Command::Inspect(inspect) => inspect::inspect(&inspect),
        Command::Serve(serve) if serve.install => service::install(&serve),
        Command::Serve(serve) if serve.uninstall => service::uninstall(),
        Command::Serve(serve) => block_on(bowline_runner::runtime(), serve::serve(*serve)),
        #[cfg(feature = "fleet")]
        Command::Ps(ps) if ps.runner.fleet.fleet.is_some() => block_on(runtime(), fleet::ps(ps)),
        Command::Ps(ps) => block_on(runtime(), sessions::ps(ps)),
        Command::Attach(attach) => block_on(runtime(), attach::attach(attach)),
        Command::Logs(logs) => block_on(runtime(), script::logs(logs)),
        Command::Send(send) => block_on(runtime(), script::send(send)),
        Command::Answer(answer) => block_on(runtime(), script::answer(answer)),
        Command::Wait(wait) => block_on(runtime(), script::wait(wait)),
        Command::Kill(kill) => block_on(runtime(), sessions::kill(kill)),
        Command::Ui(options) => block_on(runtime(), ui::ui(&options)),
        Command::Token(options) => token::token(&options),
        Command::Config => settings::config(settings),
        Command::Completions(completions) => shell::completions(&completions),
        Command::Man(man) => shell::man(&man),
        Command::Acp(acp) => block_on(runtime(), acp::acp(acp)),
        #[cfg(feature = "fleet")]
        Command::Fleet(options) => block_on(runtime(), fleet::fleet(options)),
        #[cfg(feature = "fleet")]
        Command::Resume(options) => block_on(runtime(), fleet::resume(options)),
        Command::Doctor(doctor) => block_on(runtime(), doctor::doctor(&doctor)),
    }
}

/// Runs a command. A failure is reported inside the runtime, so that signals are still handled
/// while standard error blocks.
fn block_on(
    runtime: io::Result<Runtime>,
    command: impl Future<Output = Result<ExitCode, Failure>>,
) -> Result<ExitCode, Failure> {
    let runtime = runtime.map_err(|error| {
        Failure::failed(format!(
            "cannot start: {error}; raise the limits of threads and descriptors"
        ))
    })?;
    let reported = async {
        command
            .await
            .unwrap_or_else(|failure| stdio::report(&failure))
    };
    Ok(runtime.block_on(reported))
}

fn runtime() -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(WORKERS).enable_all();
    bowline_lifecycle::check_threads(WORKERS).and_then(|()| builder.build())
}
