//! `bowline attach`: attaches to a session of a runner.

mod dialogue;
mod display;
mod keyboard;
mod output_filter;
mod raw_mode;
mod terminal;

pub(crate) use dialogue::{LogSource, show_dialogue};
#[cfg(feature = "fleet")]
pub(crate) use terminal::window_size;

use std::process::ExitCode;

use bowline_runner::SessionSummaryState;
use bowline_runner::wire::SessionKind;

use crate::args::{self, Output};
use crate::chat;
use crate::failure::Failure;
use crate::runner::{client, find_session};

/// Attaches to a session: holds the conversation of a dialogue, or connects this terminal to the session's. With
/// `--read-only`, and a dialogue also without a terminal, the session is only shown.
pub(crate) async fn attach(options: args::Attach) -> Result<ExitCode, Failure> {
    let runner = &options.runner;
    let client = client(runner)?;
    #[cfg(feature = "fleet")]
    if let Some(network) = crate::fleet::network(&runner.fleet)?
        && let Some(session) = network.away(&options.id).await?
    {
        return crate::fleet::attach_copy(&network, &session).await;
    }
    let session = find_session(&client, runner, &options.id).await?;
    let id = session.id;
    let is_running = session.state == SessionSummaryState::Running;
    let is_read_only = options.read_only || !chat::has_terminal();
    match session.kind {
        SessionKind::Dialogue if is_running && !is_read_only => {
            chat::attach(client, runner, &session).await
        }
        SessionKind::Dialogue => {
            let source = LogSource {
                client: &client,
                runner,
                session: &session,
                follows: is_running,
            };
            show_dialogue(&source, Output::Text).await
        }
        SessionKind::Terminal if is_running => {
            terminal::attach(&client, runner, id, options.read_only).await
        }
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
