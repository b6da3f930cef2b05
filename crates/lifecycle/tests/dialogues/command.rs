//! The agent's command line: arguments, refusals before the start, and quoting for shells.

mod flags;
mod refusals;
mod shells;

use std::ffi::OsString;
use std::path::Path;

use bowline_lifecycle::{AgentOptions, CommandError, Environment};

pub(crate) const ID: &str = "0b1b1b1b-1111-4111-8111-111111111111";
pub(crate) const OTHER: &str = "0b1b1b1b-1111-4111-8111-222222222222";

pub(crate) fn built(options: &AgentOptions) -> Result<Vec<String>, CommandError> {
    let command = options.command("claude", Some(Path::new("/")), Environment::empty())?;
    let text = |arg: OsString| arg.into_string().expect("text");
    Ok(command.args.into_iter().map(text).collect())
}

pub(crate) fn args(options: &AgentOptions) -> Vec<String> {
    built(options).expect("the options are sound")
}

pub(crate) fn refused(change: impl FnOnce(&mut AgentOptions)) -> String {
    let mut options = AgentOptions::default();
    change(&mut options);
    built(&options).expect_err("must be refused").to_string()
}

pub(crate) fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

pub(crate) fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
