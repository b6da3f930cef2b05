//! The runner that a command talks to: its client, its sessions, and its errors as messages.

use bowline_lifecycle::{
    ConnectionState, ReconnectFailed, ReconnectFailure, SessionId, error_chain,
};
use bowline_runner::{Identity, RunnerClient, RunnerError, SessionSummary, StateDir};
use tokio::sync::watch::Receiver;

use crate::args::{Credentials, RunnerArgs};
use crate::failure::Failure;

/// Returns a client of the runner that the arguments name, by default the one on this user's own
/// socket.
pub(crate) fn client(runner: &RunnerArgs) -> Result<RunnerClient, Failure> {
    match &runner.runner {
        Some(url) => client_of(url, &runner.credentials),
        None => Ok(RunnerClient::local(&state_dir()?)),
    }
}

/// Returns a client of the runner at a URL.
pub(crate) fn client_of(url: &str, credentials: &Credentials) -> Result<RunnerClient, Failure> {
    let fingerprint = credentials.fingerprint.as_deref();
    let client = RunnerClient::at(url, credentials.token_file.clone(), fingerprint);
    let client = client.map_err(|error| match error {
        // Its message is complete.
        RunnerError::Url(error) => Failure::usage(error),
        error => Failure::usage(format!("cannot {}", error_chain(&error))),
    })?;
    let certificate = credentials.client_cert.clone();
    let files = certificate.zip(credentials.client_key.clone());
    Ok(client.with_identity(files.map(|(certificate, key)| Identity { certificate, key })))
}

/// Returns this user's state folder.
pub(crate) fn state_dir() -> Result<StateDir, Failure> {
    StateDir::from_environment().map_err(|error| Failure::caused("cannot", &error))
}

/// Describes a failed request to the runner.
pub(crate) fn request_failed(runner: &RunnerArgs, error: RunnerError) -> Failure {
    match error {
        RunnerError::Refused(problem) => {
            Failure::failed(format!("{}; {}", problem.detail, problem.next))
        }
        error if runner.runner.is_none() => Failure::failed(format!(
            "cannot {}; start one with `bowline serve`",
            error_chain(&error)
        )),
        error => Failure::caused("cannot", &error),
    }
}

/// Finds the session whose id starts with `prefix`.
///
/// # Errors
/// If no session or more than one matches, or the request fails.
pub(crate) async fn find_session(
    client: &RunnerClient,
    runner: &RunnerArgs,
    prefix: &str,
) -> Result<SessionSummary, Failure> {
    let sessions = client.sessions().await;
    let sessions = sessions.map_err(|error| request_failed(runner, error))?;
    let mut found = sessions
        .into_iter()
        .filter(|it| !prefix.is_empty() && it.id.to_string().starts_with(prefix));
    let none = || {
        Failure::failed(format!(
            "no session id starts with {prefix:?}; list the sessions with `bowline ps`"
        ))
    };
    let session = found.next().ok_or_else(none)?;
    if found.next().is_some() {
        return Err(Failure::usage(format!(
            "more than one session id starts with {prefix:?}; give more of it"
        )));
    }
    Ok(session)
}

/// Returns why the connection has failed for good, if it has.
pub(crate) fn connection_failure(
    connection: &Receiver<ConnectionState>,
) -> Option<ReconnectFailed> {
    match &*connection.borrow() {
        ConnectionState::Failed(reason) => Some(reason.clone()),
        _ => None,
    }
}

/// Waits until the connection has failed for good; for ever if its session ends first. Cancel safe.
pub(crate) async fn until_connection_failed(
    connection: &mut Receiver<ConnectionState>,
) -> ReconnectFailed {
    loop {
        if let Some(reason) = connection_failure(connection) {
            return reason;
        }
        if connection.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Describes a session whose connection has failed for good, and how to attach again. `url` is the
/// runner's if the command line names one.
pub(crate) fn unreachable_session(
    url: Option<&str>,
    id: SessionId,
    reason: &ReconnectFailed,
) -> Failure {
    let runner = url.map_or_else(String::new, |url| format!(" --runner {url}"));
    let attach = format!("attach again with `bowline attach{runner} {id}`");
    let (why, next) = match reason.failure {
        ReconnectFailure::Fenced => ("another host has taken over the session", attach),
        failure if failure.can_retry() => (
            reason.detail.as_str(),
            format!("once that is repaired, {attach}"),
        ),
        _ => (
            reason.detail.as_str(),
            format!("list the sessions with `bowline ps{runner}`"),
        ),
    };
    Failure::failed(format!("session {id} is unreachable: {why}; {next}"))
}
