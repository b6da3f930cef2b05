//! The runner that a command talks to: its client, its sessions, and its errors as messages.

use bowline_lifecycle::{
    ConnectionState, ReconnectFailed, ReconnectFailure, SessionId, error_chain,
};
use bowline_runner::{Identity, RunnerClient, RunnerError, SessionSummary, StateDir};
use tokio::sync::watch::Receiver;
use tokio::time::{Duration, Instant, interval_at, sleep_until};

use crate::args::{Credentials, RunnerArgs};
use crate::failure::Failure;
use crate::stdio::eprint;

/// Time between two notices while a runner does not answer.
const NOTICE_INTERVAL: Duration = Duration::from_secs(10);

/// Returns a client of the runner that the arguments name, by default the one on this user's own
/// socket.
pub(crate) fn client(runner: &RunnerArgs) -> Result<RunnerClient, Failure> {
    #[cfg(feature = "fleet")]
    if let Some(network) = crate::fleet::network(&runner.fleet)? {
        return Ok(network.client());
    }
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
    StateDir::from_environment().map_err(Failure::failed)
}

/// Describes a failed request to the runner.
pub(crate) fn request_failed(runner: &RunnerArgs, error: RunnerError) -> Failure {
    match error {
        RunnerError::Refused(problem) => {
            Failure::failed(format!("{}; {}", problem.detail, problem.next))
        }
        error if runner.is_own() => Failure::failed(format!(
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
    #[cfg(feature = "fleet")]
    if let Some(network) = crate::fleet::network(&runner.fleet)? {
        return announced(network.select(prefix)).await;
    }
    let sessions = announced(client.sessions()).await;
    let sessions = sessions.map_err(|error| request_failed(runner, error))?;
    let mut found = sessions
        .into_iter()
        .filter(|it| !prefix.is_empty() && it.id.to_string().starts_with(prefix));
    let none = || {
        Failure::failed(format!(
            "no session id starts with {prefix:?}; list the sessions with `bowline ps{}`",
            runner.options()
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

/// Waits until the connection has failed for good; never returns if its session ends first. Cancel safe.
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

/// Describes a session whose connection has failed for good, and how to attach again. `runner` is the
/// runner's options, as [`RunnerArgs::options`] returns them.
pub(crate) fn unreachable_session(
    runner: &str,
    id: SessionId,
    reason: &ReconnectFailed,
) -> Failure {
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

/// Describes a session whose end was requested over a connection that did not confirm it.
pub(crate) fn unconfirmed_end(runner: &str, id: SessionId) -> Failure {
    Failure::interrupted(format!(
        "detached from session {id}, which may still be running; end it with `bowline kill{runner} {id}`"
    ))
}

/// Waits for the answer of a runner, and reports on standard error that there is none yet.
pub(crate) async fn announced<T>(answer: impl Future<Output = T>) -> T {
    let mut answer = std::pin::pin!(answer);
    let begin = Instant::now();
    let mut notices = interval_at(begin + NOTICE_INTERVAL, NOTICE_INTERVAL);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            now = notices.tick() => {
                let seconds = (now - begin).as_secs();
                eprint(&format!("bowline: no answer from the runner for {seconds} s; waiting\n"));
            }
        }
    }
}

/// Describes the losses of a connection, its restorations, and the time in between.
#[derive(Debug)]
pub(crate) struct ConnectionNotices {
    connection: Receiver<ConnectionState>,
    /// The other end, as a noun with its article.
    peer: &'static str,
    /// When the connection was lost, and when the next notice is due.
    lost: Option<(Instant, Instant)>,
}

impl ConnectionNotices {
    pub(crate) fn new(connection: Receiver<ConnectionState>, peer: &'static str) -> Self {
        Self {
            connection,
            peer,
            lost: None,
        }
    }

    /// Waits for the next notice; for ever once the connection has failed for good, or its session has
    /// ended. Cancel safe.
    pub(crate) async fn next(&mut self) -> String {
        let peer = self.peer;
        loop {
            let state = self.connection.borrow_and_update().clone();
            match (state, self.lost) {
                (ConnectionState::Reconnecting { .. }, None) => {
                    let now = Instant::now();
                    self.lost = Some((now, now + NOTICE_INTERVAL));
                    return format!("connection to {peer} lost; reconnecting");
                }
                (ConnectionState::Reconnecting { attempt }, Some((since, due))) => {
                    tokio::select! {
                        Ok(()) = self.connection.changed() => {}
                        () = sleep_until(due) => {
                            self.lost = Some((since, due + NOTICE_INTERVAL));
                            let seconds = (due - since).as_secs();
                            return format!(
                                "no connection to {peer} for {seconds} s; reconnecting, attempt {attempt}"
                            );
                        }
                    }
                }
                (state, lost) => {
                    self.lost = None;
                    if lost.is_some() && state.is_up() {
                        return format!("connection to {peer} restored");
                    }
                    if self.connection.changed().await.is_err() {
                        std::future::pending().await
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lost_connection_is_announced_every_10_seconds() {
        let (state, connection) = watch::channel(ConnectionState::Connected);
        let mut notices = ConnectionNotices::new(connection, "the agent");
        state.send_replace(ConnectionState::Reconnecting { attempt: 4 });
        let lost = "connection to the agent lost; reconnecting";
        assert_eq!(notices.next().await, lost);
        let begin = Instant::now();
        for seconds in (10..=600).step_by(10) {
            let notice = notices.next().await;
            assert_eq!(begin.elapsed().as_secs(), seconds);
            assert!(
                notice.contains(&format!("for {seconds} s; reconnecting")),
                "{notice}"
            );
        }
        state.send_replace(ConnectionState::Reconnected { from: 0, gap: 0 });
        assert_eq!(notices.next().await, "connection to the agent restored");
        state.send_replace(ConnectionState::Reconnecting { attempt: 1 });
        assert_eq!(notices.next().await, lost);
    }

    #[tokio::test(start_paused = true)]
    async fn answer_that_does_not_arrive_is_announced() {
        let begin = Instant::now();
        let answer = announced(tokio::time::sleep(Duration::from_secs(60))).await;
        assert_eq!((answer, begin.elapsed().as_secs()), ((), 60));
    }

    #[test]
    fn hints_keep_the_options_of_the_runner() {
        let credentials = Credentials {
            token_file: Some("/tmp/my token".into()),
            fingerprint: None,
            client_cert: None,
            client_key: None,
        };
        let runner = credentials.options(Some("https://runner:1"));
        assert_eq!(
            runner,
            " --runner https://runner:1 --token-file '/tmp/my token'"
        );
        let id = SessionId::random();
        let line = unconfirmed_end(&runner, id).line();
        assert!(
            line.ends_with(&format!("`bowline kill{runner} {id}`")),
            "{line}"
        );
    }
}
