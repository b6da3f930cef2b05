//! The link to a session at a runner, when it is given up.

use bowline_lifecycle::{ConnectionState, ReconnectFailed, ReconnectFailure, SessionId};
use tokio::sync::watch::Receiver;

use crate::failure::Failure;

/// Why a link is given up, if it is.
pub(crate) fn lost(link: &Receiver<ConnectionState>) -> Option<ReconnectFailed> {
    match &*link.borrow() {
        ConnectionState::Failed(why) => Some(why.clone()),
        _ => None,
    }
}

/// Waits until a link is given up; for ever when its session ends before.
pub(crate) async fn given_up(link: &mut Receiver<ConnectionState>) -> ReconnectFailed {
    loop {
        if let Some(why) = lost(link) {
            return why;
        }
        if link.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// What is told of a session whose link is given up, and how to go on with it. Only a runner that
/// was named is named again.
pub(crate) fn out_of_reach(runner: Option<&str>, id: SessionId, why: &ReconnectFailed) -> Failure {
    let at = runner.map_or_else(String::new, |url| format!(" --runner {url}"));
    let (why, next) = match why.failure {
        ReconnectFailure::Fenced => (
            "another host has taken the session over",
            format!("join it again with `bowline attach{at} {id}`"),
        ),
        failure if failure.can_retry() => (
            why.detail.as_str(),
            format!("join it again with `bowline attach{at} {id}` when that is mended"),
        ),
        _ => (
            why.detail.as_str(),
            format!("see `bowline ps{at}` for what is there"),
        ),
    };
    Failure::failed(format!("{id} is out of reach: {why}; {next}"))
}
