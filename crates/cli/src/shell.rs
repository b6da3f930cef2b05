//! `bowline completions` and `bowline man`: completions of shells, and manual pages.

use std::process::ExitCode;

use clap_complete::env::{CompleteEnv, Shells};

use crate::args;
use crate::failure::Failure;
use crate::stdio::print;

/// The variable with which a shell asks for completions.
const VARIABLE: &str = "BOWLINE_COMPLETE";

/// Answers a shell that asks for completions, and ends the process then.
pub(crate) fn complete() {
    CompleteEnv::with_factory(args::command)
        .var(VARIABLE)
        .complete();
}

/// Prints the script that makes a shell ask for completions.
///
/// # Errors
/// If the shell is not known.
pub(crate) fn completions(options: &args::Completions) -> Result<ExitCode, Failure> {
    let shells = Shells::builtins();
    let shell = shells.completer(&options.shell).ok_or_else(|| {
        let names: Vec<_> = shells.names().collect();
        Failure::usage(format!(
            "no completions for {:?}; the shells are {}",
            options.shell,
            names.join(", ")
        ))
    })?;
    let mut script = Vec::new();
    let written = shell.write_registration(VARIABLE, "bowline", "bowline", "bowline", &mut script);
    written.map_err(|error| Failure::failed(format!("cannot write the script: {error}")))?;
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a manual page.
///
/// # Errors
/// If there is no such command.
pub(crate) fn man(options: &args::Man) -> Result<ExitCode, Failure> {
    let mut command = args::command();
    command.build();
    let page = match &options.command {
        None => command,
        Some(name) => {
            let found = command.find_subcommand(name).cloned();
            let found = found.ok_or_else(|| {
                Failure::usage(format!(
                    "there is no command {name:?}; see `bowline --help`"
                ))
            })?;
            found.name(format!("bowline-{name}"))
        }
    };
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(page).render(&mut text);
    rendered.map_err(|error| Failure::failed(format!("cannot write the page: {error}")))?;
    print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
