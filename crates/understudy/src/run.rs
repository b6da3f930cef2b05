//! Runs the program, from the command line to the exit code.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::args::{DialectName, Options};
use crate::builtin::{builtin, builtin_names};
use crate::dialect::Setup;
use crate::help::HELP;
use crate::hooks::Hooks;
use crate::input::InputQueue;
use crate::lines::{encode, unknown_session};
use crate::output::Output;
use crate::play::play;
use crate::player::{Exit, Player};
use crate::scenario::Scenario;
use crate::session::Session;
use crate::version::Version;

/// Runs the understudy with these arguments, without the program name, and returns its exit code.
///
/// Uses the process's stdin, stdout and stderr, and installs handlers for SIGINT, SIGTERM and
/// SIGHUP. A program that embeds it executes itself and calls this at the start of `main`. Does not
/// return if the scenario ends the process by a signal.
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let options = Version::from_environment().and_then(|version| Options::parse(args, version));
    match options.and_then(|options| start(&options)) {
        Ok(code) => code,
        Err(why) => {
            print_error(&format!("understudy: {why}"));
            ExitCode::from(2)
        }
    }
}

fn start(options: &Options) -> Result<ExitCode, String> {
    if options.help {
        return print_text(HELP);
    }
    if options.version {
        return print_text(&format!("{} (understudy)\n", options.as_version));
    }
    if let Some(flag) = &options.unknown {
        print_error(&format!("error: unknown option '{flag}'"));
        return Ok(ExitCode::from(1));
    }
    if let Some(path) = &options.play {
        let failed = |error| format!("cannot play {}: {error}", path.display());
        play(path, options.speed).map_err(failed)?;
        return Ok(ExitCode::from(options.exit.unwrap_or(0)));
    }
    let scenario = options
        .scenario
        .as_deref()
        .map_or_else(|| Ok(Scenario::new()), find_scenario)?;
    if let Some(code) = startup_failure(options, &scenario) {
        return Ok(code);
    }
    match Hooks::from_settings(options.settings.as_deref()) {
        Ok(hooks) => play_scenario(options, scenario, hooks),
        Err(why) => {
            print_error(&why);
            Ok(ExitCode::from(1))
        }
    }
}

/// Loads a scenario: a file, or a built-in one.
fn find_scenario(name: &OsStr) -> Result<Scenario, String> {
    let path = Path::new(name);
    let known = name
        .to_str()
        .filter(|_| path.components().count() == 1 && !path.exists());
    match known.and_then(builtin) {
        Some(scenario) => Ok(scenario),
        None if path.exists() => Scenario::load(path).map_err(|error| format!("cannot {error}")),
        None => {
            let names: Vec<&str> = builtin_names().collect();
            let name = path.display();
            Err(format!(
                "no scenario {name}; give a file or one of {}",
                names.join(", ")
            ))
        }
    }
}

/// Fails at the start, if the agent would or the scenario does. Returns the exit code.
fn startup_failure(options: &Options, scenario: &Scenario) -> Option<ExitCode> {
    if let Some(startup) = &scenario.startup {
        print_error(&startup.stderr);
        return Some(ExitCode::from(startup.exit));
    }
    let known = |id: &String| {
        scenario
            .sessions
            .as_ref()
            .is_none_or(|ids| ids.contains(id))
    };
    if let Some(id) = options.resume.as_ref().filter(|id| !known(id)) {
        let _ = io::stdout().lock().write_all(&encode(&unknown_session(id)));
        print_error(&format!("No conversation found with session ID: {id}"));
        return Some(ExitCode::from(1));
    }
    let taken = |id: &&String| {
        scenario
            .sessions
            .as_ref()
            .is_some_and(|ids| ids.contains(id))
    };
    if let Some(id) = options.session_id.as_ref().filter(taken) {
        print_error(&format!("Error: Session ID {id} is already in use."));
        return Some(ExitCode::from(1));
    }
    let reads = !scenario.ignore_stdin && !scenario.allow_tty;
    if reads && prompt(options).is_none() && io::stdin().is_terminal() {
        print_error("Error: Input must be provided either through stdin or as a prompt argument");
        return Some(ExitCode::from(1));
    }
    None
}

fn play_scenario(options: &Options, scenario: Scenario, hooks: Hooks) -> Result<ExitCode, String> {
    let failed = |error| format!("cannot start a thread: {error}");
    let prompt = match prompt(options) {
        None if options.text_input => Some(io::read_to_string(io::stdin()).unwrap_or_default()),
        given => given.cloned(),
    };
    let output = Output::start(scenario.chunk).map_err(failed)?;
    let inputs = InputQueue::start(prompt.is_none() && !scenario.ignore_stdin).map_err(failed)?;
    let session = Session::new(options, scenario.forward_subagent_text);
    let resumes = options.resume.is_some() || options.continues;
    let resumed = resumes && options.dialect == DialectName::Claude;
    let dialect = options.dialect.dialect(Setup {
        sessions: scenario.sessions.clone(),
        logged_out: scenario.logged_out,
        state: options.state.clone(),
    });
    let pace = pace(options);
    let mut player = Player::new(session, output, inputs, scenario, hooks, resumed, pace);
    player = player.speaking(dialect);
    match player.run(prompt) {
        Exit::Code(code) => Ok(ExitCode::from(code)),
        Exit::Signal(signal) => {
            signal.raise();
            Ok(ExitCode::from(1))
        }
    }
}

/// Returns the prompt argument, which the agent ignores with `--input-format stream-json`.
fn prompt(options: &Options) -> Option<&String> {
    let ignored = options.stream_input || options.dialect != DialectName::Claude;
    options.prompt.as_ref().filter(|_| !ignored)
}

fn pace(options: &Options) -> f64 {
    let environment = || std::env::var("UNDERSTUDY_PACE").ok()?.parse().ok();
    let pace: f64 = options.pace.or_else(environment).unwrap_or(1.0);
    if pace.is_finite() {
        pace.clamp(0.0, 1000.0)
    } else {
        1.0
    }
}

fn print_text(text: &str) -> Result<ExitCode, String> {
    // A closed pipe is no error.
    let _ = io::stdout().lock().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn print_error(text: &str) {
    let _ = io::stderr()
        .lock()
        .write_all(format!("{text}\n").as_bytes());
}
