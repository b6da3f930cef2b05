//! Sessions that wait for their panel to come back, for a while.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_transport::wire::Message;
use bowline_transport::{Ladder, SessionId};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::drive::LAST_WORD;
use crate::serve::{Hall, Link, Standing};
use crate::shim::SessionDir;

/// The file in a session's folder that says that a panel was there: when the daemon is killed, the
/// next one gives the panel the whole window again, and ends the session if it does not come. It is
/// empty unless another host has taken the session over since.
const MARK: &str = "panel";

/// The turn of a wait that began without a link to the session.
const STRANDED: u64 = u64::MAX;

/// Sessions that wait for their panel to come back.
#[derive(Debug, Default)]
pub(crate) struct Parked(Mutex<HashMap<SessionId, Waiting>>);

#[derive(Debug)]
struct Waiting {
    /// Which of several waits it is.
    turn: u64,
    /// Dropped when somebody has attached.
    _cancel: oneshot::Sender<()>,
}

impl Parked {
    /// Somebody has attached to a session: it waits no longer.
    pub(crate) fn cancel(&self, id: SessionId) {
        self.lock().remove(&id);
    }

    /// A session begins to wait; what comes back is closed when somebody has attached.
    fn enter(&self, id: SessionId, turn: u64) -> oneshot::Receiver<()> {
        let (cancel, cancelled) = oneshot::channel();
        let waiting = Waiting {
            turn,
            _cancel: cancel,
        };
        self.lock().insert(id, waiting);
        cancelled
    }

    /// A wait is over. Whether it was still the one that counted.
    fn leave(&self, id: SessionId, turn: u64) -> bool {
        let mut waiting = self.lock();
        let counts = waiting.get(&id).is_some_and(|it| it.turn == turn);
        if counts {
            waiting.remove(&id);
        }
        counts
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes that a session is its panel's. Whether one was there before.
pub(super) fn mark(session: &SessionDir) -> bool {
    let mut create = OpenOptions::new();
    create.write(true).create_new(true).mode(0o600);
    let path = session.path().join(MARK);
    if create.open(&path).is_ok() {
        return false;
    }
    // It may have been passed on, and comes back.
    let _ = OpenOptions::new().write(true).truncate(true).open(path);
    true
}

/// Whether a session is to end when its panel does not come back.
fn is_marked(session: &SessionDir) -> bool {
    let mark = fs::metadata(session.path().join(MARK));
    mark.is_ok_and(|it| it.len() == 0)
}

/// A host that drives a session makes it its own: no panel is waited for any more, not by the next
/// daemon either.
pub(crate) async fn pass_on(hall: &Hall, id: SessionId) {
    let Some(session) = hall.directory.find(id) else {
        return;
    };
    let note = move || {
        let mark = OpenOptions::new()
            .write(true)
            .open(session.path().join(MARK));
        mark.and_then(|mut mark| mark.write_all(b"passed on\n"))
    };
    // Most sessions have never had a panel.
    let _ = spawn_blocking(note).await;
}

/// A panel has lost its connection: the session waits for it, and ends when it does not come.
pub(super) async fn detach(mut link: Link, hall: Arc<Hall>, id: SessionId) {
    let turn = link.generation();
    let cancelled = hall.parked.enter(id, turn);
    // From here on whoever attaches ends the wait. Who has attached before fences this link.
    link.queue(Message::Detach);
    let is_free = timeout(LAST_WORD, farewell(&mut link)).await;
    drop(link);
    match is_free {
        Ok(false) => {
            hall.parked.leave(id, turn);
        }
        Ok(true) | Err(_) => wait(&hall, id, turn, cancelled).await,
    }
}

/// Reads until the shim hangs up. Whether nobody else has the lease.
async fn farewell(link: &mut Link) -> bool {
    loop {
        match link.next().await {
            Ok(Message::Fenced { .. }) => return false,
            Ok(_) => {}
            Err(_) => return true,
        }
    }
}

async fn wait(hall: &Arc<Hall>, id: SessionId, turn: u64, cancelled: oneshot::Receiver<()>) {
    let mut life = hall.life.clone();
    debug!(session = %id, "waits for its panel");
    tokio::select! {
        _ = cancelled => return,
        // The session lives on, and so does its mark.
        () = life.ending() => return,
        () = sleep(hall.limits.detach_window) => {}
    }
    if !hall.parked.leave(id, turn) {
        return;
    }
    match hall.directory.end(id, Ladder::default()).await {
        Ok(_) => {
            debug!(session = %id, "its panel did not come back");
            hall.metrics.disposed.add(1);
        }
        Err(error) => warn!(session = %id, %error, "a session that was left is still there"),
    }
}

/// Gives the panels of a daemon that is gone the time to come back to this one. To be done before
/// anybody is let in: who comes back ends a wait that has begun.
pub(crate) async fn take_over(hall: &Arc<Hall>) {
    for id in hall.directory.those(is_marked).await {
        let (hall, cancelled) = (Arc::clone(hall), hall.parked.enter(id, 0));
        if runs(&hall, id).await {
            tokio::spawn(async move { wait(&hall, id, 0, cancelled).await });
        } else {
            hall.parked.leave(id, 0);
        }
    }
}

/// The process of a panel's session says nothing more: it may be slow, or have put the panel out. If
/// it lives, it waits for the panel as it would for one whose connection broke. To be called before
/// the panel is told, which comes back as soon as it is.
pub(super) fn stranded(hall: &Arc<Hall>, id: SessionId) -> impl Future<Output = ()> + use<> {
    let (hall, cancelled) = (Arc::clone(hall), hall.parked.enter(id, STRANDED));
    async move {
        if runs(&hall, id).await {
            wait(&hall, id, STRANDED, cancelled).await;
        } else {
            hall.parked.leave(id, STRANDED);
        }
    }
}

async fn runs(hall: &Hall, id: SessionId) -> bool {
    let record = hall.directory.record(id).await;
    matches!(record, Ok(Some(record)) if record.standing == Standing::Running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_attaches_ends_the_wait() {
        let (parked, id) = (Parked::default(), SessionId::random());
        let mut cancelled = parked.enter(id, 1);
        assert!(
            cancelled
                .try_recv()
                .is_err_and(|it| it == oneshot::error::TryRecvError::Empty)
        );
        parked.cancel(id);
        assert!(
            cancelled
                .try_recv()
                .is_err_and(|it| it == oneshot::error::TryRecvError::Closed)
        );
        assert!(
            !parked.leave(id, 1),
            "the timer that fires now does nothing"
        );
    }

    #[test]
    fn only_the_last_wait_counts() {
        let (parked, id) = (Parked::default(), SessionId::random());
        let mut first = parked.enter(id, 1);
        let _second = parked.enter(id, 2);
        assert!(
            first
                .try_recv()
                .is_err_and(|it| it == oneshot::error::TryRecvError::Closed)
        );
        assert!(!parked.leave(id, 1));
        assert!(parked.leave(id, 2));
    }

    #[test]
    fn a_mark_is_made_once() {
        let scratch = tempfile::tempdir_in("/tmp").unwrap();
        let state = crate::shim::StateDir::at(scratch.path().join("s")).unwrap();
        let session = state.session(SessionId::random());
        fs::create_dir(session.path()).unwrap();
        assert!(!mark(&session));
        assert!(mark(&session));
    }
}
