//! Commands for scripts: `bowline send`, `answer`, `wait` and `logs`.

mod answer;
mod logs;
mod wait;

pub(crate) use answer::answer;
pub(crate) use logs::logs;
pub(crate) use wait::wait;

use std::process::ExitCode;

use crate::args;
use crate::failure::Failure;
use crate::runner::{announced, client, find_session, request_failed};
use crate::stdio::print;

/// Sends a prompt to a session, and prints the prompt's id.
///
/// # Errors
/// If there is no such session, or it does not take the prompt.
pub(crate) async fn send(options: args::Send) -> Result<ExitCode, Failure> {
    let prompt = crate::run::prompt(Some(&options.prompt))?;
    let client = client(&options.runner)?;
    let session = find_session(&client, &options.runner, &options.id).await?;
    let sent = announced(client.prompt(session.id, &prompt)).await;
    let id = sent.map_err(|error| request_failed(&options.runner, error))?;
    print(&format!("{id}\n"))?;
    Ok(ExitCode::SUCCESS)
}
