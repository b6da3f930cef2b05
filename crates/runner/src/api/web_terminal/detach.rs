//! What happens to a session whose web terminal has disconnected: it runs until the detach window
//! closes, unless a client attaches before.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use bowline_transport::wire::Message;
use bowline_transport::{SessionId, TerminationPolicy};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::app_state::AppState;
use crate::sessions::{ShimLink, ShimLinkError, ShimStatus, TerminateError};
use crate::shim::SessionDir;

/// Time limit for the last messages on a connection.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A file in a session's folder, which marks the session as a web terminal's. After a crash of the
/// daemon, the next one starts the detach timers of marked sessions. The file is empty unless
/// another host has taken over the session.
const MARKER_FILE: &str = "panel";

/// Generation of a timer that an earlier daemon would have started. The write lease begins with 1.
const UNKNOWN_GENERATION: u64 = 0;

/// Marks a session as a web terminal's. Returns whether it had a marker already.
pub(super) fn mark(session: &SessionDir) -> bool {
    let mut create = OpenOptions::new();
    create.write(true).create_new(true).mode(0o600);
    let path = session.path().join(MARKER_FILE);
    if create.open(&path).is_ok() {
        return false;
    }
    // A host may have taken over the session in between.
    let _ = OpenOptions::new().write(true).truncate(true).open(path);
    true
}

/// Returns whether a session is terminated when its web terminal does not reconnect.
fn is_marked(session: &SessionDir) -> bool {
    let marker = fs::metadata(session.path().join(MARKER_FILE));
    marker.is_ok_and(|it| it.len() == 0)
}

/// Records that a host has taken over a session from its web terminal, so that neither this daemon
/// nor the next one waits for the web terminal.
pub(in crate::api) async fn release_to_host(app: &AppState, id: SessionId) {
    let Some(session) = app.sessions.find(id) else {
        return;
    };
    let update = move || {
        let marker = OpenOptions::new()
            .write(true)
            .open(session.path().join(MARKER_FILE));
        marker.and_then(|mut marker| marker.write_all(b"released\n"))
    };
    // Fails for most sessions, which never had a web terminal.
    let _ = spawn_blocking(update).await;
}

/// Detaches a web terminal whose connection was lost, and terminates the session unless a client
/// attaches within the detach window.
pub(super) async fn detach(mut link: ShimLink, app: Arc<AppState>, id: SessionId) {
    let generation = link.generation();
    // A client that attaches from now on cancels the timer; one that attached before has fenced
    // this link.
    let cancelled = app.detach_timers.start(id, generation);
    link.queue(Message::Detach);
    let was_fenced = timeout(CLOSE_TIMEOUT, is_fenced(&mut link)).await;
    drop(link);
    if was_fenced.unwrap_or(false) {
        app.detach_timers.finish(id, generation);
    } else {
        run_timer(&app, id, generation, cancelled).await;
    }
}

/// Reads until the shim disconnects. Returns whether another client has the write lease.
async fn is_fenced(link: &mut ShimLink) -> bool {
    loop {
        match link.next().await {
            Ok(Message::Fenced { .. }) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

async fn run_timer(
    app: &Arc<AppState>,
    id: SessionId,
    generation: u64,
    cancelled: oneshot::Receiver<()>,
) {
    debug!(session.id = %id, "waiting for the web terminal to reconnect");
    tokio::select! {
        _ = cancelled => return,
        // The session and its marker stay for the next daemon.
        () = app.shutdown.cancelled() => return,
        () = sleep(app.limits.detach_window) => {}
    }
    if !app.detach_timers.finish(id, generation) {
        return;
    }
    let policy = TerminationPolicy::default();
    let terminated = if generation == UNKNOWN_GENERATION {
        app.sessions.terminate(id, policy).await
    } else {
        app.sessions
            .terminate_unattended(id, policy, generation)
            .await
    };
    match terminated {
        // It attached while the timer fired, or before it started.
        Err(TerminateError::Link(ShimLinkError::Fenced)) => {
            debug!(session.id = %id, "another client has attached; session kept");
        }
        Ok(_) => {
            debug!(session.id = %id, "web terminal did not reconnect; session terminated");
            app.metrics.terminated.add(1);
        }
        Err(error) => warn!(session.id = %id, %error, "cannot terminate a detached session"),
    }
}

/// Starts the timers of sessions whose web terminal was attached to an earlier daemon. Must run
/// before clients are accepted, since a client that attaches cancels the timer.
pub(crate) async fn restore_detach_timers(app: &Arc<AppState>) {
    for id in app.sessions.matching(is_marked).await {
        let (app, cancelled) = (
            Arc::clone(app),
            app.detach_timers.start(id, UNKNOWN_GENERATION),
        );
        if is_running(&app, id).await {
            tokio::spawn(async move { run_timer(&app, id, UNKNOWN_GENERATION, cancelled).await });
        } else {
            app.detach_timers.finish(id, UNKNOWN_GENERATION);
        }
    }
}

/// Handles a lost connection to the shim, which may be slow or may have dropped this client: if the
/// session runs, it waits for the web terminal as after a detach. Must be called before the web
/// terminal is notified, since it reconnects at once.
pub(super) fn detach_unreachable(
    app: &Arc<AppState>,
    id: SessionId,
    generation: u64,
) -> impl Future<Output = ()> + use<> {
    let (app, cancelled) = (Arc::clone(app), app.detach_timers.start(id, generation));
    async move {
        if is_running(&app, id).await {
            run_timer(&app, id, generation, cancelled).await;
        } else {
            app.detach_timers.finish(id, generation);
        }
    }
}

async fn is_running(app: &AppState, id: SessionId) -> bool {
    let record = app.sessions.record(id).await;
    matches!(record, Ok(Some(record)) if record.shim == ShimStatus::Running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_is_created_once() {
        let scratch = tempfile::tempdir_in("/tmp").unwrap();
        let state = crate::shim::StateDir::at(scratch.path().join("s")).unwrap();
        let session = state.session(SessionId::random());
        fs::create_dir(session.path()).unwrap();
        assert!(!mark(&session));
        assert!(mark(&session));
    }
}
