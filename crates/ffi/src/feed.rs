//! Events that are gone from their source once they were taken, made to wait for an
//! acknowledgement: the cursor of the next call.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout_at};

use crate::counters::{Kind, Live};

/// Where events come from. Waiting may be given up and loses nothing.
pub(crate) trait Events: Send + 'static {
    type Event: Clone + Send + 'static;

    fn next(&mut self) -> impl Future<Output = Option<Self::Event>> + Send;
}

/// Events, and those of them that the reader has not acknowledged.
pub(crate) struct Feed<S: Events> {
    state: Mutex<State<S>>,
    stopped: watch::Sender<bool>,
    _live: Live,
}

struct State<S: Events> {
    source: S,
    kept: VecDeque<S::Event>,
    /// Number of the first event that is kept.
    first: u64,
}

impl<S: Events> Feed<S> {
    pub(crate) fn new(source: S) -> Self {
        let state = State {
            source,
            kept: VecDeque::new(),
            first: 0,
        };
        Self {
            state: Mutex::new(state),
            stopped: watch::Sender::new(false),
            _live: Live::new(Kind::Stream),
        }
    }

    pub(crate) fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// The events behind `cursor`, and the cursor behind them; none when there will be none.
    pub(crate) async fn next(
        &self,
        cursor: u64,
        most: usize,
        linger: Duration,
    ) -> Option<(u64, Vec<S::Event>)> {
        let mut stopped = self.stopped.subscribe();
        tokio::select! {
            biased;
            _ = stopped.wait_for(|it| *it) => None,
            events = self.take(cursor, most, linger) => events,
        }
    }

    async fn take(
        &self,
        cursor: u64,
        most: usize,
        linger: Duration,
    ) -> Option<(u64, Vec<S::Event>)> {
        let mut state = self.state.lock().await;
        state.acknowledge(cursor);
        if state.kept.is_empty() {
            state.wait().await?;
        }
        if !linger.is_zero() && state.kept.len() < most {
            sleep(linger).await;
        }
        // What is at hand is taken without waiting.
        let now = tokio::time::Instant::now();
        while state.kept.len() < most {
            if timeout_at(now, state.wait()).await.ok().flatten().is_none() {
                break;
            }
        }
        let events: Vec<_> = state.kept.iter().take(most).cloned().collect();
        Some((state.first + events.len() as u64, events))
    }
}

impl<S: Events> State<S> {
    fn acknowledge(&mut self, cursor: u64) {
        while self.first < cursor && self.kept.pop_front().is_some() {
            self.first += 1;
        }
    }

    async fn wait(&mut self) -> Option<()> {
        let event = self.source.next().await?;
        self.kept.push_back(event);
        Some(())
    }
}

/// Declares a stream of events for the hosts, and the batches that it gives.
macro_rules! event_stream {
    (
        $(#[$doc:meta])* $stream:ident;
        $(#[$batch_doc:meta])* $batch:ident { $(#[$events_doc:meta])* $event:ty };
        $source:ty
    ) => {
        $(#[$doc])*
        #[derive(uniffi::Object)]
        pub struct $stream {
            feed: std::sync::Arc<$crate::feed::Feed<$source>>,
        }

        $(#[$batch_doc])*
        #[derive(Clone, Debug, uniffi::Record)]
        pub struct $batch {
            /// The cursor to ask with the next time; it acknowledges these.
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
            pub(crate) fn of(source: impl Into<$source>) -> std::sync::Arc<Self> {
                let feed = std::sync::Arc::new($crate::feed::Feed::new(source.into()));
                std::sync::Arc::new(Self { feed })
            }
        }

        #[uniffi::export]
        impl $stream {
            /// Waits for what comes behind `cursor`, 0 at first, then for `linger_ms` more; gives at
            /// most `most`. The same cursor gives the same again. `None` when the stream was
            /// stopped, or is over and everything was acknowledged.
            ///
            /// # Errors
            ///
            /// [`BowlineError::Invalid`](crate::BowlineError::Invalid) for a `most` of 0.
            pub async fn next(
                &self,
                cursor: u64,
                most: u32,
                linger_ms: u32,
            ) -> $crate::error::Outcome<Option<$batch>> {
                let feed = std::sync::Arc::clone(&self.feed);
                $crate::runtime::wait(async move {
                    if most == 0 {
                        let reason = "read 0 events: ask for one at least";
                        return Err($crate::BowlineError::invalid(reason));
                    }
                    let linger = std::time::Duration::from_millis(linger_ms.into());
                    let taken = feed.next(cursor, most as usize, linger).await;
                    Ok(taken.map(|(cursor, events)| $batch { cursor, events }))
                })
                .await
            }

            /// Ends the stream: whoever waits gets `None` at once, and so does whoever asks again.
            pub fn stop(&self) {
                self.feed.stop();
            }
        }
    };
}

pub(crate) use event_stream;
