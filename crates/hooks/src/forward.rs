//! Forwards events to a backend. A failure is logged and counted, and affects nothing else.

mod backend;
mod webhook;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::{Instrument as _, debug, debug_span, warn};

use crate::{HookBackend, HookEvent, HookServerError};
use backend::Deliver;
pub use backend::DeliveryError;
pub use webhook::{Webhook, WebhookError};

/// Upper limit of the pause between two attempts.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// What became of the events to forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForwardReport {
    /// Events that the backend accepted.
    pub delivered: u64,
    /// Events that it did not accept after all attempts.
    pub failed: u64,
    /// Events that were never sent: the queue was full, or the server was stopped.
    pub dropped: u64,
}

/// The sending half of the queue to the forwarder's task.
#[derive(Debug)]
pub(crate) struct ForwardQueue {
    queue: mpsc::Sender<BackendEvent>,
    session_id: String,
    counters: Arc<Counters>,
}

/// The task that sends queued events to the backend.
#[derive(Debug)]
pub(crate) struct Forwarder {
    task: JoinHandle<()>,
    close: oneshot::Sender<()>,
    flush: Duration,
    counters: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    queued: AtomicU64,
    delivered: AtomicU64,
    failed: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct RetryPolicy {
    attempts: u32,
    backoff: Duration,
    timeout: Duration,
}

/// An event in the backend's schema: `{session_id, interaction_id, event_type, event_data,
/// timestamp}`.
#[derive(Clone, Debug)]
struct BackendEvent {
    kind: String,
    body: Bytes,
}

impl BackendEvent {
    fn new(session_id: &str, event: &HookEvent, time: jiff::Timestamp) -> Self {
        let kind = event.kind.name().to_owned();
        let text = |text: &str| Value::from(text).to_string();
        // The event is copied byte for byte. The time is RFC 3339 in UTC, in milliseconds.
        let body = format!(
            r#"{{"session_id":{},"interaction_id":{},"event_type":{},"event_data":{},"timestamp":"{time:.3}"}}"#,
            text(session_id),
            text(&event.interaction),
            text(&kind),
            event.raw(),
        );
        let body = body.into();
        Self { kind, body }
    }
}

/// Starts the forwarder's task. Must be called inside a runtime.
pub(crate) fn start(backend: &HookBackend) -> Result<(ForwardQueue, Forwarder), HookServerError> {
    Ok(start_to(backend::target(backend)?, backend))
}

fn start_to(target: impl Deliver, backend: &HookBackend) -> (ForwardQueue, Forwarder) {
    let (queue, inbox) = mpsc::channel(backend.queue.clamp(1, Semaphore::MAX_PERMITS));
    let (close, closed) = oneshot::channel();
    let counters = Arc::new(Counters::default());
    let worker = Worker {
        target,
        policy: RetryPolicy {
            attempts: backend.attempts.max(1),
            backoff: backend.backoff,
            timeout: backend.timeout,
        },
        counters: Arc::clone(&counters),
    };
    let forwarder = Forwarder {
        task: tokio::spawn(worker.run(inbox, closed)),
        close,
        flush: backend.flush,
        counters: Arc::clone(&counters),
    };
    let queue = ForwardQueue {
        queue,
        session_id: backend.session_id.clone(),
        counters,
    };
    (queue, forwarder)
}

impl ForwardQueue {
    /// Queues an event; drops it if the queue is full.
    pub(crate) fn push(&self, event: &HookEvent) {
        self.counters.queued.fetch_add(1, Ordering::Relaxed);
        let event = BackendEvent::new(&self.session_id, event, jiff::Timestamp::now());
        if self.queue.try_send(event).is_err() {
            warn!("hook not forwarded: the queue to the backend is full");
        }
    }
}

impl Forwarder {
    /// Sends the queued events for at most the flush time, and ends the task.
    pub(crate) async fn stop(mut self) -> ForwardReport {
        // The task may have ended with its runtime.
        let _ = self.close.send(());
        if timeout(self.flush, &mut self.task).await.is_err() {
            self.task.abort();
            let _ = (&mut self.task).await;
        }
        let report = self.counters.report();
        if report.failed + report.dropped > 0 {
            let (failed, dropped) = (report.failed, report.dropped);
            warn!(failed, dropped, "some hooks were not forwarded");
        }
        report
    }

    pub(crate) fn report(&self) -> ForwardReport {
        self.counters.report()
    }

    pub(crate) fn abort(&self) {
        self.task.abort();
    }
}

impl Counters {
    fn report(&self) -> ForwardReport {
        let delivered = self.delivered.load(Ordering::Relaxed);
        let failed = self.failed.load(Ordering::Relaxed);
        let queued = self.queued.load(Ordering::Relaxed);
        ForwardReport {
            delivered,
            failed,
            // While the server runs, this counts the events in the queue as well.
            dropped: queued.saturating_sub(delivered + failed),
        }
    }
}

struct Worker<D> {
    target: D,
    policy: RetryPolicy,
    counters: Arc<Counters>,
}

impl<D: Deliver> Worker<D> {
    async fn run(self, mut inbox: mpsc::Receiver<BackendEvent>, mut closed: oneshot::Receiver<()>) {
        loop {
            let next = tokio::select! {
                next = inbox.recv() => next,
                _ = &mut closed, if !inbox.is_closed() => {
                    inbox.close();
                    continue;
                }
            };
            let Some(event) = next else {
                return;
            };
            let span = debug_span!("hook.forward", bowline.hook.kind = event.kind);
            let counter = match self.deliver(&event).instrument(span).await {
                Ok(()) => &self.counters.delivered,
                Err(error) => {
                    warn!(kind = event.kind, %error, "hook not forwarded");
                    &self.counters.failed
                }
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends one event until it is accepted, refused for good, or out of attempts.
    async fn deliver(&self, event: &BackendEvent) -> Result<(), DeliveryError> {
        let RetryPolicy {
            attempts,
            mut backoff,
            timeout: limit,
        } = self.policy;
        let mut attempt = 1;
        loop {
            let delivered = timeout(limit, self.target.deliver(event.body.clone())).await;
            let error = match delivered.unwrap_or(Err(DeliveryError::Timeout)) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if attempt >= attempts || !error.is_transient() {
                return Err(error);
            }
            debug!(attempt, %error, "retrying");
            sleep(backoff).await;
            backoff = backoff.saturating_mul(2).min(MAX_BACKOFF);
            attempt += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use tokio::time::Instant;

    use super::*;

    /// A backend with scripted answers, which records the time of each attempt.
    #[derive(Clone)]
    struct Scripted {
        start: Instant,
        script: Arc<Mutex<Script>>,
    }

    struct Script {
        answers: std::vec::IntoIter<Result<(), DeliveryError>>,
        attempts: Vec<Duration>,
    }

    impl Scripted {
        fn new(answers: Vec<Result<(), DeliveryError>>) -> Self {
            let script = Script {
                answers: answers.into_iter(),
                attempts: Vec::new(),
            };
            Self {
                start: Instant::now(),
                script: Arc::new(Mutex::new(script)),
            }
        }

        fn attempts(&self) -> Vec<u64> {
            let millis = |it: &Duration| u64::try_from(it.as_millis()).unwrap();
            self.script.lock().attempts.iter().map(millis).collect()
        }
    }

    impl Deliver for Scripted {
        async fn deliver(&self, _: Bytes) -> Result<(), DeliveryError> {
            let mut script = self.script.lock();
            script.attempts.push(self.start.elapsed());
            script.answers.next().unwrap_or(Ok(()))
        }
    }

    fn event() -> HookEvent {
        let body = br#"{"hook_event_name":"Stop"}"#;
        HookEvent::parse("i".into(), body).unwrap()
    }

    async fn forwarded(
        answers: Vec<Result<(), DeliveryError>>,
        events: usize,
    ) -> (ForwardReport, Vec<u64>) {
        let scripted = Scripted::new(answers);
        let backend = HookBackend {
            flush: Duration::from_secs(600),
            queue: 8,
            ..HookBackend::new("", "s")
        };
        let (queue, forwarder) = start_to(scripted.clone(), &backend);
        for _ in 0..events {
            queue.push(&event());
        }
        (forwarder.stop().await, scripted.attempts())
    }

    fn report(delivered: u64, failed: u64, dropped: u64) -> ForwardReport {
        ForwardReport {
            delivered,
            failed,
            dropped,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failed_delivery_is_retried_with_backoff() {
        let busy = || Err(DeliveryError::Status(503));
        let (sum, attempts) = forwarded(vec![busy(), busy(), busy(), Ok(())], 1).await;
        assert_eq!(sum, report(1, 0, 0));
        assert_eq!(attempts, [0, 500, 1500, 3500], "milliseconds");
    }

    #[tokio::test(start_paused = true)]
    async fn failed_forward_ends_after_all_attempts() {
        let gone = (0..5).map(|_| Err(DeliveryError::Timeout)).collect();
        let (sum, attempts) = forwarded(gone, 2).await;
        assert_eq!(sum, report(1, 1, 0), "the next event is sent");
        assert_eq!(attempts.len(), 6);
    }

    #[tokio::test(start_paused = true)]
    async fn permanent_error_is_not_retried() {
        let (sum, attempts) = forwarded(vec![Err(DeliveryError::Status(403))], 1).await;
        assert_eq!((sum, attempts.len()), (report(0, 1, 0), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn event_over_queue_limit_is_dropped_and_counted() {
        let (sum, _) = forwarded(Vec::new(), 12).await;
        assert_eq!(sum, report(8, 0, 4));
    }

    /// A backend that never answers.
    struct Silent;

    impl Deliver for Silent {
        async fn deliver(&self, _: Bytes) -> Result<(), DeliveryError> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stop_ends_after_flush_time() {
        let backend = HookBackend::new("", "s");
        let (queue, forwarder) = start_to(Silent, &backend);
        queue.push(&event());
        let start = Instant::now();
        assert_eq!(forwarder.stop().await, report(0, 0, 1));
        assert_eq!(start.elapsed(), backend.flush);
    }
}
