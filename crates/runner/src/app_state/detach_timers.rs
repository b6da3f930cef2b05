//! Sessions that wait for their web terminal to reconnect.

use std::collections::HashMap;

use bowline_transport::SessionId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The running detach timer of each session, if there is one.
#[derive(Debug, Default)]
pub(crate) struct DetachTimers(Mutex<HashMap<SessionId, DetachTimer>>);

#[derive(Debug)]
struct DetachTimer {
    /// Generation of the write lease that the web terminal had.
    generation: u64,
    /// Dropping it cancels the timer.
    _cancel: oneshot::Sender<()>,
}

impl DetachTimers {
    /// Cancels a session's timer, since a client has attached to it.
    pub(crate) fn cancel(&self, id: SessionId) {
        self.0.lock().remove(&id);
    }

    /// Registers a timer in place of the session's previous one. The returned channel closes when
    /// the timer is cancelled or replaced.
    pub(crate) fn start(&self, id: SessionId, generation: u64) -> oneshot::Receiver<()> {
        let (cancel, cancelled) = oneshot::channel();
        let timer = DetachTimer {
            generation,
            _cancel: cancel,
        };
        self.0.lock().insert(id, timer);
        cancelled
    }

    /// Removes a timer that has fired. Returns `false` if it was cancelled or replaced before.
    pub(crate) fn finish(&self, id: SessionId, generation: u64) -> bool {
        let mut timers = self.0.lock();
        let is_current = timers
            .get(&id)
            .is_some_and(|it| it.generation == generation);
        if is_current {
            timers.remove(&id);
        }
        is_current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_cancelled(timer: &mut oneshot::Receiver<()>) -> bool {
        timer.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn attach_cancels_timer() {
        let (timers, id) = (DetachTimers::default(), SessionId::random());
        let mut timer = timers.start(id, 1);
        assert!(!is_cancelled(&mut timer));
        timers.cancel(id);
        assert!(is_cancelled(&mut timer));
        assert!(!timers.finish(id, 1), "a cancelled timer has no effect");
    }

    #[test]
    fn newer_timer_replaces_older() {
        let (timers, id) = (DetachTimers::default(), SessionId::random());
        let mut first = timers.start(id, 1);
        let _second = timers.start(id, 2);
        assert!(is_cancelled(&mut first));
        assert!(!timers.finish(id, 1));
        assert!(timers.finish(id, 2));
    }
}
