//! What is known of one session.

use std::io;

use serde::Serialize;
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use crate::shim::{SessionDir, SessionInfo, SessionPhase};

/// What is known of one session.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) session: SessionDir,
    pub(crate) info: SessionInfo,
    pub(crate) standing: Standing,
}

/// Whether a session's shim is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The child runs.
    Running,
    /// The child has ended, and the shim keeps its exit.
    Exited,
    /// The shim is gone: what is left is a tombstone, or what a killed shim left.
    Gone,
}

/// How far a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// It runs.
    Running,
    /// It has ended.
    Exited,
    /// Its process was killed, and everything of it with it.
    Lost,
}

impl Record {
    /// Looks whether the shim is there. A listening socket says so; that it is ours is checked
    /// when it is used.
    pub(super) async fn look(session: SessionDir, info: SessionInfo) -> Self {
        let standing = match info.phase {
            SessionPhase::Buried => Standing::Gone,
            phase => match session.connect().await {
                Err(error) if is_deserted(&error) => {
                    return Self::last(session, info).await;
                }
                // Descriptors that we lack, or a shim with many callers, say nothing of a session.
                _ if phase == SessionPhase::Running => Standing::Running,
                _ => Standing::Exited,
            },
        };
        Self {
            session,
            info,
            standing,
        }
    }

    /// The shim may have written its last word while it was looked for.
    async fn last(session: SessionDir, info: SessionInfo) -> Self {
        let folder = session.clone();
        let last = spawn_blocking(move || folder.info()).await;
        Self {
            session,
            info: last.ok().and_then(Result::ok).flatten().unwrap_or(info),
            standing: Standing::Gone,
        }
    }

    /// How far the session has come.
    pub(crate) fn state(&self) -> State {
        match self.standing {
            Standing::Running => State::Running,
            Standing::Exited => State::Exited,
            Standing::Gone if self.info.exit.is_some() => State::Exited,
            Standing::Gone => State::Lost,
        }
    }
}

/// Whether a shim's socket is there for nobody: no shim, or a stranger in its place.
fn is_deserted(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
    matches!(
        error.kind(),
        NotFound | ConnectionRefused | PermissionDenied
    )
}
