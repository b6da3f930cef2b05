//! Which runner a command means, and which of its sessions.

use bowline_lifecycle::SessionId;
use bowline_runner::{Identity, RunnerClient, RunnerError, StateDir};
use serde_json::Value;

use crate::args::{At, Proof};
use crate::failure::Failure;

/// The runner that was named, or the one of this user's own socket.
pub(crate) fn client(at: &At) -> Result<RunnerClient, Failure> {
    match &at.runner {
        Some(url) => client_at(url, &at.proof),
        None => Ok(RunnerClient::local(&state()?)),
    }
}

/// The runner at a URL.
pub(crate) fn client_at(url: &str, proof: &Proof) -> Result<RunnerClient, Failure> {
    let client = RunnerClient::at(url, proof.token_file.clone(), proof.fingerprint.as_deref());
    let client = client.map_err(|error| Failure::usage(format!("cannot {error}")))?;
    let files = proof.client_cert.clone().zip(proof.client_key.clone());
    Ok(client.with_identity(files.map(|(certificate, key)| Identity { certificate, key })))
}

/// This user's own state folder.
pub(crate) fn state() -> Result<StateDir, Failure> {
    StateDir::from_environment().map_err(|error| Failure::failed(format!("cannot {error}")))
}

/// Why the runner did not do it.
pub(crate) fn refused(at: &At, error: RunnerError) -> Failure {
    match error {
        RunnerError::Refused(problem) => {
            Failure::failed(format!("{}, {}", problem.detail, problem.next))
        }
        error if at.runner.is_none() => {
            Failure::failed(format!("cannot {error}; start one with `bowline serve`"))
        }
        error => Failure::failed(format!("cannot {error}")),
    }
}

/// The one session whose id begins so.
pub(crate) async fn find(
    client: &RunnerClient,
    at: &At,
    id: &str,
) -> Result<(SessionId, Value), Failure> {
    let sessions = client
        .sessions()
        .await
        .map_err(|error| refused(at, error))?;
    let begins = |session: &Value| text(session, "id").starts_with(id);
    let mut found = sessions
        .into_iter()
        .filter(|it| !id.is_empty() && begins(it));
    let none = || {
        Failure::failed(format!(
            "no session's id begins with {id:?}, see `bowline ps`"
        ))
    };
    let session = found.next().ok_or_else(none)?;
    if found.next().is_some() {
        return Err(Failure::usage(format!(
            "more than one session's id begins with {id:?}, give more of it"
        )));
    }
    let id = text(&session, "id").parse().map_err(|_| none())?;
    Ok((id, session))
}

/// A text of a session, empty if it has none.
pub(crate) fn text<'a>(session: &'a Value, key: &str) -> &'a str {
    session[key].as_str().unwrap_or_default()
}
