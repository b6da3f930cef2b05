//! What happens to a session whose web terminal has disconnected: it runs until the detach window
//! closes, unless a client attaches before.

use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

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
/// daemon, the next one starts the detach timers of marked sessions. The file contains the generation
/// of the web terminal's write lease, or [`RELEASED`].
const MARKER_FILE: &str = "panel";

/// Content of the marker once another host has taken over the session.
const RELEASED: &str = "released";

/// Generation in the marker of a session that no client has attached to yet. The write lease begins
/// with 1.
pub(super) const NOT_ATTACHED: u64 = 0;

/// Marks a session as that of the web terminal with a generation of the write lease. Returns whether
/// it had a marker already.
pub(super) fn mark(session: &SessionDir, generation: u64) -> io::Result<bool> {
    let was_marked = session.path().join(MARKER_FILE).exists();
    write_marker(session, &generation.to_string())?;
    Ok(was_marked)
}

/// Replaces a marker by rename(2), since the daemon may be killed at any moment.
fn write_marker(session: &SessionDir, content: &str) -> io::Result<()> {
    let path = session.path().join(MARKER_FILE);
    let new = path.with_extension("new");
    fs::write(&new, content)?;
    fs::rename(new, path)
}

/// Returns whether a session ends with its web terminal: it is attached, or the session waits for it.
pub(super) fn has_web_terminal(session: &SessionDir) -> bool {
    marked_generation(session).is_some()
}

/// Returns the generation under which a session is terminated unless its web terminal reconnects;
/// `None` if it does not wait for one.
fn marked_generation(session: &SessionDir) -> Option<u64> {
    let marker = fs::read_to_string(session.path().join(MARKER_FILE)).ok()?;
    marker.parse().ok()
}

/// Records that a host has taken over a session from its web terminal, so that neither this daemon
/// nor the next one waits for the web terminal.
pub(in crate::api) async fn release_to_host(app: &AppState, id: SessionId) {
    let Some(session) = app.sessions.find(id) else {
        return;
    };
    let release = move || {
        // Most sessions never had a web terminal.
        if marked_generation(&session).is_some() {
            let released = write_marker(&session, RELEASED);
            released.unwrap_or_else(|error| {
                warn!(session.id = %id, %error, "cannot mark a session that a host has taken over");
            });
        }
    };
    let _ = spawn_blocking(release).await;
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
    let terminated = if generation == NOT_ATTACHED {
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
    for id in app.sessions.matching(has_web_terminal).await {
        let session = app.sessions.find(id);
        let Some(generation) = session.as_ref().and_then(marked_generation) else {
            continue;
        };
        let (app, cancelled) = (Arc::clone(app), app.detach_timers.start(id, generation));
        if is_running(&app, id).await {
            tokio::spawn(async move { run_timer(&app, id, generation, cancelled).await });
        } else {
            app.detach_timers.finish(id, generation);
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
    fn marker_has_the_generation_of_the_lease() {
        let scratch = tempfile::tempdir_in("/tmp").unwrap();
        let state = crate::shim::StateDir::at(scratch.path().join("s")).unwrap();
        let session = state.session(SessionId::random());
        assert!(mark(&session, 1).is_err(), "the session was removed");
        fs::create_dir(session.path()).unwrap();
        assert!(!mark(&session, NOT_ATTACHED).unwrap());
        assert!(mark(&session, 7).unwrap());
        assert_eq!(marked_generation(&session), Some(7));
        write_marker(&session, RELEASED).unwrap();
        assert_eq!(marked_generation(&session), None);
    }
}
