//! The queue of one subscriber.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use parking_lot::Mutex;

use super::{DialogueEvent, DialogueEventKind};

/// Bounds of a subscriber's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLimits {
    /// Maximum number of events.
    pub events: usize,
    /// Maximum length of their texts, in bytes. One event is kept whatever its length.
    pub bytes: usize,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self {
            events: 1024,
            bytes: 4 << 20,
        }
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    limits: EventLimits,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    events: VecDeque<Arc<DialogueEvent>>,
    bytes: usize,
    /// Number of events that were dropped and not yet reported.
    missed: u64,
    is_closed: bool,
    waker: Option<Waker>,
}

/// A subscription to the events of a dialogue session, from [`DialogueSession::events`]. Dropping it
/// cancels the subscription.
///
/// It is a [`Stream`] that ends with the session, after [`DialogueEventKind::SessionEnd`]. It does
/// not keep the session alive.
///
/// [`DialogueSession::events`]: crate::DialogueSession::events
#[derive(Debug)]
pub struct DialogueEvents {
    queue: Arc<Queue>,
}

impl Queue {
    pub(super) fn new(limits: EventLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            state: Mutex::default(),
        })
    }

    /// Appends an event, and drops the oldest ones to make room. Returns the number of those.
    pub(super) fn push(&self, event: &Arc<DialogueEvent>) -> u64 {
        let mut state = self.state.lock();
        let size = event.kind.bytes();
        let mut dropped = 0;
        while state.events.len() >= self.limits.events.max(1)
            || (!state.events.is_empty() && state.bytes + size > self.limits.bytes)
        {
            let oldest = state.events.pop_front();
            state.bytes -= oldest.map_or(0, |oldest| oldest.kind.bytes());
            dropped += 1;
        }
        state.missed += dropped;
        state.bytes += size;
        state.events.push_back(Arc::clone(event));
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        dropped
    }

    /// Ends the stream after the queued events.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl QueueState {
    fn take(&mut self) -> Option<Arc<DialogueEvent>> {
        let next = self.events.front()?;
        if self.missed > 0 {
            return Some(Arc::new(DialogueEvent {
                session: next.session,
                path: Vec::new(),
                offset: None,
                phase: next.phase,
                kind: DialogueEventKind::Lagged {
                    missed: std::mem::take(&mut self.missed),
                },
            }));
        }
        self.bytes -= next.kind.bytes();
        self.events.pop_front()
    }
}

impl DialogueEvents {
    pub(super) const fn new(queue: Arc<Queue>) -> Self {
        Self { queue }
    }

    /// Waits for the next event. Returns `None` when the session is over and all events were taken.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Arc<DialogueEvent>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the next event if there is one.
    pub fn try_next(&mut self) -> Option<Arc<DialogueEvent>> {
        self.queue.state.lock().take()
    }
}

impl Stream for DialogueEvents {
    type Item = Arc<DialogueEvent>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.queue.state.lock();
        match state.take() {
            Some(event) => Poll::Ready(Some(event)),
            None if state.is_closed => Poll::Ready(None),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
