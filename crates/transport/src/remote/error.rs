//! Why there is no remote session.

use crate::connection::ReconnectFailure;

/// Why a session on another machine could not be made or joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The runner could not be reached, or did not let us in.
    #[error("reach the runner: {failure}, {detail}")]
    Link {
        /// What kind of trouble it is.
        failure: ReconnectFailure,
        /// What is wrong, for people.
        detail: String,
    },
    /// The runner did not make a session.
    #[error("make a session: the runner answers {status} {code}, {detail}")]
    Refused {
        /// The status of the HTTP answer.
        status: u16,
        /// Why, for programs: the runner's own code, such as `MAX_SESSIONS`; empty if it gave none.
        code: String,
        /// Why, for people.
        detail: String,
    },
    /// What was asked for cannot be said to a runner.
    #[error("make a session: {what} is no UTF-8, which a runner on another machine cannot be told")]
    NotText {
        /// What it is.
        what: &'static str,
    },
    /// A single session's socket makes no sessions.
    #[error("make a session: {url} is the socket of one session, give the runner's URL")]
    NotARunner {
        /// The URL.
        url: String,
    },
    /// A session needs a tokio runtime with I/O and time enabled around the call.
    #[error("join a session: call it inside a tokio runtime")]
    NoRuntime,
}
