//! Streams of events whose sources cannot be read twice. Events are buffered until the reader
//! acknowledges them with the cursor of its next call.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout_at};

use crate::counters::{CountGuard, ObjectKind};
use crate::cursor::CursorSpace;
use crate::error::{BowlineError, Result};

/// A source of events. `next` must be cancel safe.
pub(crate) trait EventSource: Send + 'static {
    type Event: Clone + Send + 'static;

    fn next(&mut self) -> impl Future<Output = Option<Self::Event>> + Send;
}

/// An event source with a buffer of the events that are not acknowledged.
pub(crate) struct EventBuffer<S: EventSource> {
    state: Mutex<BufferState<S>>,
    cursors: CursorSpace,
    _guard: CountGuard,
}

struct BufferState<S: EventSource> {
    source: S,
    unacknowledged: VecDeque<S::Event>,
    /// Position of the first unacknowledged event.
    first: u64,
}

impl<S: EventSource> EventBuffer<S> {
    pub(crate) fn new(source: S) -> Self {
        let state = BufferState {
            source,
            unacknowledged: VecDeque::new(),
            first: 0,
        };
        Self {
            state: Mutex::new(state),
            cursors: CursorSpace::unique(),
            _guard: CountGuard::new(ObjectKind::Stream),
        }
    }

    /// Returns the events from `cursor` on and the cursor after them, or `None` at the end or once
    /// the stream was stopped or dropped.
    ///
    /// # Errors
    ///
    /// `Invalid` if `max_count` is 0 or the cursor is of another stream.
    pub(crate) async fn next(
        &self,
        cursor: u64,
        max_count: u32,
        coalesce_for_ms: u32,
        mut stopped: watch::Receiver<bool>,
    ) -> Result<Option<(u64, Vec<S::Event>)>> {
        if max_count == 0 {
            return Err(BowlineError::invalid(
                "read 0 events: pass a maxCount of at least 1",
            ));
        }
        let position = self.cursors.position(cursor).ok_or_else(|| {
            BowlineError::invalid(
                "read events: the cursor is of another stream; pass 0 or the cursor of this \
                 stream's last batch",
            )
        })?;
        let coalesce_for = Duration::from_millis(coalesce_for_ms.into());
        let events = tokio::select! {
            biased;
            // An error means that the stream was dropped, which stops it as well.
            _ = stopped.wait_for(|it| *it) => None,
            events = self.read(position, max_count as usize, coalesce_for) => events,
        };
        Ok(events.map(|(position, events)| (self.cursors.cursor(position), events)))
    }

    async fn read(
        &self,
        position: u64,
        max_count: usize,
        coalesce_for: Duration,
    ) -> Option<(u64, Vec<S::Event>)> {
        let mut state = self.state.lock().await;
        state.acknowledge(position);
        if state.unacknowledged.is_empty() {
            state.buffer_next().await?;
        }
        if !coalesce_for.is_zero() && state.unacknowledged.len() < max_count {
            sleep(coalesce_for).await;
        }
        // A deadline in the past: take what is ready without waiting.
        let now = tokio::time::Instant::now();
        while state.unacknowledged.len() < max_count {
            let ready = timeout_at(now, state.buffer_next()).await;
            if ready.ok().flatten().is_none() {
                break;
            }
        }
        let events: Vec<_> = state
            .unacknowledged
            .iter()
            .take(max_count)
            .cloned()
            .collect();
        Some((state.first + events.len() as u64, events))
    }
}

impl<S: EventSource> BufferState<S> {
    fn acknowledge(&mut self, position: u64) {
        while self.first < position && self.unacknowledged.pop_front().is_some() {
            self.first += 1;
        }
    }

    async fn buffer_next(&mut self) -> Option<()> {
        let event = self.source.next().await?;
        self.unacknowledged.push_back(event);
        Some(())
    }
}

/// Declares an exported stream object and its batch record.
macro_rules! event_stream {
    (
        $(#[$doc:meta])* $stream:ident;
        $(#[$batch_doc:meta])* $batch:ident { $(#[$events_doc:meta])* $event:ty };
        $source:ty
    ) => {
        $(#[$doc])*
        #[derive(uniffi::Object)]
        pub struct $stream {
            buffer: std::sync::Arc<$crate::event_stream::EventBuffer<$source>>,
            stopped: tokio::sync::watch::Sender<bool>,
        }

        $(#[$batch_doc])*
        #[derive(Clone, Debug, uniffi::Record)]
        pub struct $batch {
            /// The cursor for the next call of `next`, which acknowledges this batch.
            pub cursor: u64,
            $(#[$events_doc])*
            pub events: Vec<$event>,
        }

        impl std::fmt::Debug for $stream {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($stream)).finish_non_exhaustive()
            }
        }

        impl $stream {
            pub(crate) fn new(source: impl Into<$source>) -> std::sync::Arc<Self> {
                let buffer = $crate::event_stream::EventBuffer::new(source.into());
                std::sync::Arc::new(Self {
                    buffer: std::sync::Arc::new(buffer),
                    stopped: tokio::sync::watch::Sender::new(false),
                })
            }
        }

        #[uniffi::export]
        impl $stream {
            /// Waits for events after `cursor` and returns them as one batch.
            ///
            /// Pass 0 first, and the cursor of the last batch from then on; this acknowledges the
            /// batch. Until then the same cursor returns the same events again. After the first
            /// event the call waits `coalesceForMs` milliseconds for more. A batch has at most
            /// `maxCount` events. Returns nothing once the stream was stopped or released, or has
            /// ended and every event was acknowledged.
            ///
            /// Cancel safe: no event is lost.
            ///
            /// # Errors
            ///
            /// `Invalid` if `maxCount` is 0 or the cursor is of another stream.
            pub async fn next(
                self: std::sync::Arc<Self>,
                cursor: u64,
                max_count: u32,
                coalesce_for_ms: u32,
            ) -> $crate::error::Result<Option<$batch>> {
                let buffer = std::sync::Arc::clone(&self.buffer);
                let stopped = self.stopped.subscribe();
                // Releasing the last handle ends the read.
                drop(self);
                $crate::runtime::abortable(async move {
                    let read = buffer.next(cursor, max_count, coalesce_for_ms, stopped).await?;
                    Ok(read.map(|(cursor, events)| $batch { cursor, events }))
                })
                .await
            }

            /// Stops the stream: pending and later calls of `next` return nothing.
            ///
            /// May be called more than once and from any thread. The source is not affected.
            pub fn stop(&self) {
                self.stopped.send_replace(true);
            }
        }
    };
}

pub(crate) use event_stream;
