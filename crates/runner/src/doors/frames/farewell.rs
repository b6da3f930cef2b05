//! What a client is told last, at every door that speaks frames.

use std::time::Duration;

use bowline_transport::SessionId;
use bowline_transport::wire::{Frame, Message, code, encode};
use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

use crate::doors::admission::is_gone;
use crate::doors::problem::Problem;
use crate::serve::{Hall, State};
use crate::shim::SessionDir;

/// How long a shim that dies may still let somebody in.
const DYING: Duration = Duration::from_millis(500);

/// How long a client should wait before it connects again when the runner ends.
const COME_BACK: Duration = Duration::from_millis(100);

/// The runner ends: come back soon.
pub(in crate::doors) fn go_away() -> Bytes {
    let after_ms = COME_BACK.as_millis() as u64;
    frame(Message::GoAway { after_ms })
}

/// For a client whose shim is gone: if it was killed, the client need not come back to hear of it.
pub(in crate::doors) async fn killed(hall: &Hall, session: SessionId) -> Option<Bytes> {
    if !is_killed(hall, session).await {
        return None;
    }
    let problem = Problem::killed();
    Some(frame(Message::Error {
        code: code::UNKNOWN_SESSION.to_owned(),
        retryable: false,
        after_ms: None,
        detail: format!("{}; {}", problem.detail, problem.next),
    }))
}

/// Whether a shim is gone without an end. One that cannot be reached just now, for want of
/// descriptors or because it is busy, is none of these.
async fn is_killed(hall: &Hall, session: SessionId) -> bool {
    let Some(folder) = hall.directory.find(session) else {
        return false;
    };
    let dying = timeout(DYING, is_dead(&folder));
    if !dying.await.unwrap_or(false) {
        return false;
    }
    let record = hall.directory.record(session).await;
    record.is_ok_and(|it| it.is_some_and(|it| it.state() == State::Lost))
}

/// A process that dies closes one descriptor after the other: who is let in meanwhile is put out
/// again.
async fn is_dead(folder: &SessionDir) -> bool {
    loop {
        match folder.connect().await {
            Err(error) => return is_gone(&error),
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
