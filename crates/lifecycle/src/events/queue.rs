//! One subscriber's queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::DialogueEvent;

/// How much of what a subscriber has not taken yet is kept for him.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLimits {
    /// Events.
    pub events: usize,
    /// Bytes of their texts. One event is kept whatever its size.
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

/// What a subscriber hears next.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// An event; subscribers share it.
    Event(Arc<DialogueEvent>),
    /// So many events were dropped here, the oldest ones, because they were not taken in time.
    Lagged(u64),
}

#[derive(Debug)]
pub(super) struct Queue {
    limits: EventLimits,
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Arc<DialogueEvent>>,
    bytes: usize,
    missed: u64,
    is_over: bool,
}

/// A subscription to a dialogue's events. Dropping it ends it.
#[derive(Debug)]
pub struct DialogueEvents {
    queue: Arc<Queue>,
}

impl Queue {
    pub(super) fn new(limits: EventLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            state: Mutex::default(),
            bell: Notify::new(),
        })
    }

    /// Gives how many events had to go for this one.
    pub(super) fn push(&self, event: &Arc<DialogueEvent>) -> u64 {
        let mut state = self.lock();
        let size = event.kind.bytes();
        let before = state.missed;
        while state.events.len() >= self.limits.events.max(1)
            || (!state.events.is_empty() && state.bytes + size > self.limits.bytes)
        {
            let gone = state.events.pop_front();
            state.bytes -= gone.map_or(0, |gone| gone.kind.bytes());
            state.missed += 1;
        }
        state.bytes += size;
        state.events.push_back(Arc::clone(event));
        let lost = state.missed - before;
        drop(state);
        self.bell.notify_one();
        lost
    }

    pub(super) fn finish(&self) {
        self.lock().is_over = true;
        self.bell.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The inner `None` is the end.
    fn take(&mut self) -> Option<Option<Heard>> {
        if self.missed > 0 {
            return Some(Some(Heard::Lagged(std::mem::take(&mut self.missed))));
        }
        match self.events.pop_front() {
            Some(event) => {
                self.bytes -= event.kind.bytes();
                Some(Some(Heard::Event(event)))
            }
            None => self.is_over.then_some(None),
        }
    }
}

impl DialogueEvents {
    pub(super) const fn new(queue: Arc<Queue>) -> Self {
        Self { queue }
    }

    /// What happens next; `None` when the session is over and everything was taken. Dropping the
    /// future loses nothing.
    pub async fn next(&mut self) -> Option<Heard> {
        loop {
            let rung = self.queue.bell.notified();
            if let Some(heard) = self.queue.lock().take() {
                return heard;
            }
            rung.await;
        }
    }

    /// What has happened already, if there is any.
    pub fn try_next(&mut self) -> Option<Heard> {
        self.queue.lock().take().flatten()
    }
}
