//! Hands each event to every subscriber.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bowline_transport::SessionId;

use super::queue::Queue;
use super::{DialogueEvent, DialogueEvents, EventLimits, Told};

/// The subscribers of one session.
#[derive(Clone, Debug)]
pub(crate) struct Router {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    session: SessionId,
    /// A subscriber that is gone is found at the next event.
    queues: Mutex<Vec<Weak<Queue>>>,
    count: AtomicUsize,
    is_over: AtomicBool,
}

impl Router {
    pub(crate) fn new(session: SessionId) -> Self {
        Self {
            inner: Arc::new(Inner {
                session,
                queues: Mutex::default(),
                count: AtomicUsize::new(0),
                is_over: AtomicBool::new(false),
            }),
        }
    }

    pub(crate) fn subscribe(&self, limits: EventLimits) -> DialogueEvents {
        let queue = Queue::new(limits);
        let mut queues = self
            .inner
            .queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if self.inner.is_over.load(Ordering::Acquire) {
            queue.finish();
        } else {
            queues.push(Arc::downgrade(&queue));
            self.inner.count.store(queues.len(), Ordering::Release);
        }
        DialogueEvents::new(queue)
    }

    /// Whether anybody listens.
    pub(crate) fn has_subscribers(&self) -> bool {
        self.inner.count.load(Ordering::Acquire) > 0
    }

    /// Gives how many events subscribers have lost by it.
    pub(crate) fn send(&self, told: Told) -> u64 {
        let event = Arc::new(DialogueEvent {
            session: self.inner.session,
            path: told.path,
            offset: told.offset,
            phase: told.phase,
            kind: told.kind,
        });
        let mut queues = self
            .inner
            .queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut lost = 0;
        queues.retain(|queue| {
            queue.upgrade().is_some_and(|queue| {
                lost += queue.push(&event);
                true
            })
        });
        self.inner.count.store(queues.len(), Ordering::Release);
        lost
    }

    /// Nothing more will come.
    pub(crate) fn finish(&self) {
        let mut queues = self
            .inner
            .queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.inner.is_over.store(true, Ordering::Release);
        self.inner.count.store(0, Ordering::Release);
        for queue in queues.drain(..).filter_map(|queue| queue.upgrade()) {
            queue.finish();
        }
    }
}
