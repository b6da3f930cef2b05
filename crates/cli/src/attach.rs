//! `bowline attach`: attaches to a session of a runner.

mod dialogue;
mod keyboard;
mod output_filter;
mod raw_mode;
mod terminal;

use std::process::ExitCode;

use crate::args;
use crate::failure::Failure;
use crate::runner::{client, find_session, text};

/// Attaches to a session: shows a dialogue's transcript, or connects this terminal to the session's.
pub(crate) async fn attach(options: args::Attach) -> Result<ExitCode, Failure> {
    let runner = &options.runner;
    let client = client(runner)?;
    let (id, session) = find_session(&client, runner, &options.id).await?;
    match (text(&session, "kind"), text(&session, "state")) {
        ("dialogue", state) => dialogue::show(&client, runner, id, state).await,
        (_, "running") => terminal::attach(&client, runner, id).await,
        _ => Err(Failure::failed(format!(
            "session {id} has ended; list the sessions with `bowline ps`"
        ))),
    }
}
