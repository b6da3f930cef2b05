//! `bowline attach`: attaches to a session of a runner.

mod dialogue;
mod keyboard;
mod output_filter;
mod raw_mode;
mod terminal;

use std::process::ExitCode;

use bowline_runner::SessionSummaryState;
use bowline_runner::wire::SessionKind;

use crate::args;
use crate::failure::Failure;
use crate::runner::{client, find_session};

/// Attaches to a session: shows a dialogue's transcript, or connects this terminal to the session's.
pub(crate) async fn attach(options: args::Attach) -> Result<ExitCode, Failure> {
    let runner = &options.runner;
    let client = client(runner)?;
    let session = find_session(&client, runner, &options.id).await?;
    let id = session.id;
    let is_running = session.state == SessionSummaryState::Running;
    match session.kind {
        SessionKind::Dialogue => dialogue::show(&client, runner, &session).await,
        SessionKind::Terminal if is_running => terminal::attach(&client, runner, id).await,
        SessionKind::Terminal => {
            let what = if session.state == SessionSummaryState::Lost {
                "was lost: its process was killed"
            } else {
                "has ended"
            };
            Err(Failure::failed(format!(
                "session {id} {what}; list the sessions with `bowline ps{}`",
                runner.options()
            )))
        }
    }
}
