//! Errors of creating and attaching to remote sessions.

use crate::connection::ReconnectFailure;
use bowline_process::SessionId;

/// A remote session could not be created or attached to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The runner could not be reached or refused the connection.
    #[error("reach the runner: {}", reason(*failure, detail))]
    Link {
        /// The kind of failure.
        failure: ReconnectFailure,
        /// The reason and the remedy, as text.
        detail: String,
    },
    /// The runner did not create the session.
    #[error("make a session: the runner answered {status} {code}: {detail}")]
    Refused {
        /// The status of the HTTP response.
        status: u16,
        /// The stable error code of the runner, such as `MAX_SESSIONS`; empty if there is none.
        code: String,
        /// The reason and the remedy, as text.
        detail: String,
    },
    /// The session was created, but could neither be attached to nor ended: it may still run.
    #[error("make a session: session {id} may still run; end it with bowline kill {id}")]
    LeftRunning {
        /// The id of the session.
        id: SessionId,
        /// Why it was not attached to.
        source: Box<Self>,
    },
    /// A value of the request is not UTF-8, so it cannot be sent as JSON.
    #[error("make a session: {what} is not valid UTF-8; a runner accepts only UTF-8")]
    NotText {
        /// The name of the value, with its article.
        what: &'static str,
    },
    /// A label has a name that only Bowline sets.
    #[error("make a session: the label {label} is reserved; use a name without `bowline.`")]
    ReservedLabel {
        /// The label.
        label: String,
    },
    /// The runner does not serve hooks.
    #[error("start the agent: the runner does not serve hooks; use a runner of this version")]
    NoHooks,
    /// The runner refused a request about a session.
    #[error("ask the runner: it answered {status} {code}: {detail}")]
    Answer {
        /// The status of the HTTP response.
        status: u16,
        /// The stable error code of the runner; empty if there is none.
        code: String,
        /// The reason and the remedy, as text.
        detail: String,
    },
    /// The URL is the socket of a single session, which cannot create sessions.
    #[error("make a session: {url} is the socket of a single session; use the URL of a runner")]
    NotARunner {
        /// The URL.
        url: String,
    },
    /// The call is outside of a tokio runtime. The runtime needs I/O and time enabled.
    #[error("join a session: no tokio runtime; call this function inside one")]
    NoRuntime,
}

/// Describes a failed link in a sentence that already says that the runner was not reached.
fn reason(failure: ReconnectFailure, detail: &str) -> String {
    match failure {
        ReconnectFailure::Lost => detail.to_owned(),
        _ => format!("{failure}: {detail}"),
    }
}
