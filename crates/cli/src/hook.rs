//! `bowline hook URL VARIABLE`: carries one event from the agent to the server for hooks.
//!
//! The agent runs it. It never ends with code 2: that would refuse what the agent is about to do.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::view::tell;

/// Carries one event; the words behind `hook` are the arguments.
pub(crate) fn run(words: impl Iterator<Item = OsString>) -> ExitCode {
    match bowline_hooks::carry_hook(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("bowline hook: failed to {error}\n"));
            ExitCode::FAILURE
        }
    }
}
