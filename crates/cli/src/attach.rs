//! `bowline attach`: joins a session of a runner.

mod dialogue;
mod feed;
mod keys;
mod raw;
mod terminal;

use std::process::ExitCode;

use crate::args;
use crate::failure::Failure;
use crate::runner::{client, find, text};

/// Joins a session: a terminal as it is, a dialogue as its transcript.
pub(crate) async fn attach(options: args::Attach) -> Result<ExitCode, Failure> {
    let client = client(&options.at)?;
    let (id, session) = find(&client, &options.at, &options.id).await?;
    match (text(&session, "kind"), text(&session, "state")) {
        ("dialogue", state) => dialogue::follow(&client, &options.at, id, state).await,
        (_, "running") => terminal::join(&client, &options.at, id).await,
        _ => Err(Failure::failed(format!("{id} has ended, see `bowline ps`"))),
    }
}
