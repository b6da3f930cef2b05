//! A session that is being created and attached to: it is ended unless the host gets its handle.

use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::ask::ask;
use super::error::RemoteError;
use super::machine::Backoff;
use super::target::Remote;
use bowline_process::SessionId;

/// Time limit of ending a session that was not attached to.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of answers that the session does not exist until it counts as confirmed: the request that
/// creates it may still be under way.
const MAX_MISSES: u32 = 5;

/// A session that may exist at a runner, and that the caller has no handle of. If it is dropped, as the
/// future of a start may be, the session is ended in the background.
#[derive(Debug)]
pub(super) struct PendingSession {
    /// `None` if there is nothing to end.
    remote: Option<Remote>,
    id: SessionId,
}

impl PendingSession {
    /// Starts without a session. It will have this id, or a random one.
    pub(super) fn new(id: Option<SessionId>) -> Self {
        let id = id.unwrap_or_else(SessionId::random);
        Self { remote: None, id }
    }

    pub(super) const fn id(&self) -> SessionId {
        self.id
    }

    /// Notes that the session may exist from now on.
    pub(super) fn may_exist(&mut self, remote: &Remote) {
        self.remote = Some(remote.clone());
    }

    /// Notes that the session does not exist, or that the caller has its handle.
    pub(super) fn settle(&mut self) {
        self.remote = None;
    }

    /// Ends the session, if it may exist, after the `error` of creating or attaching. Returns the
    /// error, with the session's id if it could not be ended.
    pub(super) async fn fail(mut self, error: RemoteError) -> RemoteError {
        let id = self.id;
        let Some(remote) = &self.remote else {
            return error;
        };
        let is_ended = timeout(END_TIMEOUT, end(remote, id)).await == Ok(true);
        self.settle();
        if is_ended {
            return error;
        }
        RemoteError::LeftRunning {
            id,
            source: Box::new(error),
        }
    }
}

impl Drop for PendingSession {
    fn drop(&mut self) {
        let (remote, id) = (self.remote.take(), self.id);
        if let (Some(remote), Ok(runtime)) = (remote, Handle::try_current()) {
            runtime.spawn(async move {
                if timeout(END_TIMEOUT, end(&remote, id)).await != Ok(true) {
                    tracing::warn!(session = %id, "an abandoned session may still run at its runner");
                }
            });
        }
    }
}

/// Ends a session, and returns whether the runner has confirmed that it does not exist. Tries again
/// until the runner answers.
async fn end(remote: &Remote, id: SessionId) -> bool {
    let path = format!("/api/sessions/{id}?force=true");
    let (random, _) = Uuid::new_v4().as_u64_pair();
    let mut backoff = Backoff::new(random);
    let mut misses = 0;
    loop {
        match ask(remote, Method::DELETE, &path, Bytes::new()).await {
            Ok(answer) if answer.status().is_success() => return true,
            Ok(answer) if answer.status() == StatusCode::NOT_FOUND => misses += 1,
            Ok(answer) if answer.status().is_client_error() => return false,
            Ok(_) | Err(_) => {}
        }
        if misses >= MAX_MISSES {
            return true;
        }
        sleep(backoff.next()).await;
    }
}
