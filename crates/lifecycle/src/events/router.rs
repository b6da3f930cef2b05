//! Delivers each event to every subscriber.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use bowline_transport::SessionId;
use parking_lot::Mutex;

use super::queue::Queue;
use super::{DialogueEvents, EventLimits, PendingEvent};

/// The subscribers of one session. A cheap handle.
#[derive(Clone, Debug)]
pub(crate) struct Router {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    session: SessionId,
    /// A cancelled subscription is removed with the next event.
    queues: Mutex<Vec<Weak<Queue>>>,
    count: AtomicUsize,
    is_closed: AtomicBool,
}

impl Router {
    pub(crate) fn new(session: SessionId) -> Self {
        Self {
            inner: Arc::new(Inner {
                session,
                queues: Mutex::default(),
                count: AtomicUsize::new(0),
                is_closed: AtomicBool::new(false),
            }),
        }
    }

    pub(crate) fn subscribe(&self, limits: EventLimits) -> DialogueEvents {
        let queue = Queue::new(limits);
        let mut queues = self.inner.queues.lock();
        if self.inner.is_closed.load(Ordering::Acquire) {
            queue.close();
        } else {
            queues.push(Arc::downgrade(&queue));
            self.inner.count.store(queues.len(), Ordering::Release);
        }
        DialogueEvents::new(queue)
    }

    pub(crate) fn has_subscribers(&self) -> bool {
        self.inner.count.load(Ordering::Acquire) > 0
    }

    /// Delivers an event. Returns how many events the subscribers dropped for it.
    pub(crate) fn send(&self, event: PendingEvent) -> u64 {
        let event = Arc::new(event.of_session(self.inner.session));
        let mut queues = self.inner.queues.lock();
        let mut dropped = 0;
        queues.retain(|queue| {
            queue.upgrade().is_some_and(|queue| {
                dropped += queue.push(&event);
                true
            })
        });
        self.inner.count.store(queues.len(), Ordering::Release);
        dropped
    }

    /// Ends all subscriptions, also later ones.
    pub(crate) fn close(&self) {
        let mut queues = self.inner.queues.lock();
        self.inner.is_closed.store(true, Ordering::Release);
        self.inner.count.store(0, Ordering::Release);
        for queue in queues.drain(..).filter_map(|queue| queue.upgrade()) {
            queue.close();
        }
    }
}
