//! `bowline wait`: waits for a state of a session.

use std::process::ExitCode;
use std::time::Duration;

use bowline_lifecycle::{DialogueConfiguration, DialogueSession};
use bowline_reducer::{Phase, Revision, Transcript};
use bowline_runner::wire::SessionKind;
use bowline_runner::{RunnerClient, SessionSummary, SessionSummaryState};
use tokio::time::timeout;

use crate::args::{self, WaitFor};
use crate::failure::Failure;
use crate::runner::{announced, client, find_session, request_failed};

/// Waits until a session is idle, has ended, or asks for a permission.
///
/// # Errors
/// If there is no such session, it ends before another state, or the time is over.
pub(crate) async fn wait(options: args::Wait) -> Result<ExitCode, Failure> {
    let client = client(&options.runner)?;
    let session = find_session(&client, &options.runner, &options.id).await?;
    let id = session.id;
    let waiting = until(client, &options, &session);
    let reached = match options.timeout {
        None => waiting.await?,
        Some(seconds) => match timeout(Duration::from_secs_f64(seconds), waiting).await {
            Ok(reached) => reached?,
            Err(_) => {
                return Err(Failure::failed(format!(
                    "session {id} is not {} after {seconds} s; look at it with `bowline logs {id}`",
                    options.until
                )));
            }
        },
    };
    if reached {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::failed(format!(
        "session {id} has ended; read it with `bowline logs {id}`"
    )))
}

/// Returns whether the state was reached; `false` if the session ended before.
async fn until(
    client: RunnerClient,
    options: &args::Wait,
    session: &SessionSummary,
) -> Result<bool, Failure> {
    if session.state != SessionSummaryState::Running {
        return Ok(options.until == WaitFor::Ended);
    }
    if session.kind == SessionKind::Terminal {
        if options.until != WaitFor::Ended {
            return Err(Failure::usage(
                "a terminal session has no turns; wait for its end with --until ended",
            ));
        }
        let attached = announced(client.attach_reader(session.id)).await;
        let terminal = attached.map_err(|error| request_failed(&options.runner, error))?;
        terminal.exited().await;
        return Ok(true);
    }
    let configuration = DialogueConfiguration {
        joins: true,
        ..DialogueConfiguration::default()
    };
    let remote = client.into_remote();
    let attached = DialogueSession::attach(&remote, session.id, configuration);
    let attached = announced(attached).await;
    let dialogue = attached.map_err(|error| Failure::caused("failed to", &error))?;
    if options.until == WaitFor::Ended {
        dialogue.ended().await;
        return Ok(true);
    }
    let reached = reaches(&dialogue, options.until).await;
    // It continues; one that has ended is detached from.
    let _ = dialogue.detach().await;
    Ok(reached)
}

async fn reaches(dialogue: &DialogueSession, wanted: WaitFor) -> bool {
    loop {
        let read = move |transcript: &Transcript| {
            let has = match wanted {
                WaitFor::Permission => transcript.pending_permissions().next().is_some(),
                _ => transcript.status().phase == Phase::Idle,
            };
            (has, transcript.revision())
        };
        let has_ended = dialogue.has_ended();
        let (has, revision): (bool, Revision) = dialogue.inspect(read).await;
        if has || has_ended {
            return has;
        }
        dialogue.changed_since(revision).await;
    }
}
