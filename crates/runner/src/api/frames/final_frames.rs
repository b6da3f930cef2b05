//! The last frame that a client receives before its connection ends.

use std::time::Duration;

use bowline_transport::wire::{Frame, Message, code, encode};
use bowline_transport::{SessionId, SessionSummaryState};
use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::sessions::has_no_listener;
use crate::shim::SessionDir;

/// How long a dying shim may still accept connections.
const DYING_TIMEOUT: Duration = Duration::from_millis(500);

/// Delay before clients reconnect when the runner shuts down.
const RECONNECT_DELAY: Duration = Duration::from_millis(100);

/// The shim has closed the connection of a client: it has ended, or the client was silent.
pub(in crate::api) const DISCONNECTED: &str =
    "the session's process closed the connection; connect again";

/// The runner shuts down; the client reconnects after a delay.
pub(in crate::api) fn go_away() -> Bytes {
    let after_ms = RECONNECT_DELAY.as_millis() as u64;
    frame(Message::GoAway { after_ms })
}

/// For a client whose shim has ended: an error frame if the shim was killed, so that the client
/// does not reconnect.
pub(in crate::api) async fn session_killed(app: &AppState, session: SessionId) -> Option<Bytes> {
    if !is_killed(app, session).await {
        return None;
    }
    let problem = Problem::session_killed();
    Some(frame(Message::Error {
        code: code::UNKNOWN_SESSION.to_owned(),
        retryable: false,
        after_ms: None,
        detail: format!("{}; {}", problem.detail, problem.next),
    }))
}

/// Returns whether the shim has ended without recording an exit. A shim that is only unreachable,
/// because it is busy or descriptors are exhausted, does not count.
async fn is_killed(app: &AppState, session: SessionId) -> bool {
    let Some(folder) = app.sessions.find(session) else {
        return false;
    };
    let dead = timeout(DYING_TIMEOUT, is_dead(&folder));
    if !dead.await.unwrap_or(false) {
        return false;
    }
    let record = app.sessions.record(session).await;
    record.is_ok_and(|it| it.is_some_and(|it| it.state() == SessionSummaryState::Lost))
}

/// Connects until the shim replies or nothing listens. A dying process closes its descriptors one
/// by one, so that its socket may still accept a connection and close it again.
async fn is_dead(folder: &SessionDir) -> bool {
    loop {
        match folder.connect().await {
            Err(error) => return has_no_listener(&error),
            Ok(mut shim) => {
                if let Ok(1..) = shim.read(&mut [0]).await {
                    return false;
                }
            }
        }
    }
}

fn frame(message: Message) -> Bytes {
    let mut bytes = BytesMut::new();
    encode(&Frame::new(0, message), &mut bytes);
    bytes.freeze()
}
