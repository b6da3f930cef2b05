//! Forwards events to a backend. What goes wrong here is logged, and harms nobody.

mod outgoing;
mod target;
mod time;
mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::{HookBackend, HookEvent, HookServerError};
use outgoing::Outgoing;
use target::{Failure, Post, Target};

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What became of the events that were to be forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForwardReport {
    /// The backend took them.
    pub delivered: u64,
    /// It did not, however often they were offered.
    pub failed: u64,
    /// They were never offered: too many waited, or the server was stopped.
    pub dropped: u64,
}

/// Where events wait for the backend.
#[derive(Debug)]
pub(super) struct Outbox {
    queue: mpsc::Sender<Outgoing>,
    session_id: String,
    ledger: Arc<Ledger>,
}

/// The task that sends them.
#[derive(Debug)]
pub(super) struct Forwarder {
    task: JoinHandle<()>,
    close: oneshot::Sender<()>,
    flush: Duration,
    ledger: Arc<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    offered: AtomicU64,
    delivered: AtomicU64,
    failed: AtomicU64,
}

/// How a backend is approached.
#[derive(Clone, Copy, Debug)]
struct Persistence {
    attempts: u32,
    backoff: Duration,
    timeout: Duration,
}

/// Starts to forward. Must be called inside a runtime.
pub(super) fn start(backend: &HookBackend) -> Result<(Outbox, Forwarder), HookServerError> {
    let target = Target::of(backend)?;
    Ok(start_to(target, backend))
}

fn start_to(target: impl Post, backend: &HookBackend) -> (Outbox, Forwarder) {
    let (queue, inbox) = mpsc::channel(backend.queue.max(1));
    let (close, closed) = oneshot::channel();
    let ledger = Arc::new(Ledger::default());
    let worker = Worker {
        target,
        persistence: Persistence {
            attempts: backend.attempts.max(1),
            backoff: backend.backoff,
            timeout: backend.timeout,
        },
        ledger: Arc::clone(&ledger),
    };
    let forwarder = Forwarder {
        task: tokio::spawn(worker.run(inbox, closed)),
        close,
        flush: backend.flush,
        ledger: Arc::clone(&ledger),
    };
    let outbox = Outbox {
        queue,
        session_id: backend.session_id.clone(),
        ledger,
    };
    (outbox, forwarder)
}

impl Outbox {
    /// Puts an event into the queue, if there is room.
    pub(super) fn offer(&self, event: &HookEvent) {
        self.ledger.offered.fetch_add(1, Ordering::Relaxed);
        let outgoing = Outgoing::new(&self.session_id, event, time::now());
        if self.queue.try_send(outgoing).is_err() {
            let kind = event.kind.name();
            warn!(
                kind,
                "a hook is not forwarded: too many wait for the backend"
            );
        }
    }
}

impl Forwarder {
    /// Sends what waits, for as long as that may take, and ends.
    pub(super) async fn stop(mut self) -> ForwardReport {
        // The task may have ended with the runtime.
        let _ = self.close.send(());
        if timeout(self.flush, &mut self.task).await.is_err() {
            self.task.abort();
            let _ = (&mut self.task).await;
        }
        let report = self.ledger.report();
        if report.failed + report.dropped > 0 {
            let ForwardReport {
                failed, dropped, ..
            } = report;
            warn!(failed, dropped, "not all hooks were forwarded");
        }
        report
    }

    pub(super) fn report(&self) -> ForwardReport {
        self.ledger.report()
    }

    pub(super) fn abort(&self) {
        self.task.abort();
    }
}

impl Ledger {
    fn report(&self) -> ForwardReport {
        let delivered = self.delivered.load(Ordering::Relaxed);
        let failed = self.failed.load(Ordering::Relaxed);
        let offered = self.offered.load(Ordering::Relaxed);
        ForwardReport {
            delivered,
            failed,
            // While the server runs these are the ones that wait, too.
            dropped: offered.saturating_sub(delivered + failed),
        }
    }
}

struct Worker<P> {
    target: P,
    persistence: Persistence,
    ledger: Arc<Ledger>,
}

impl<P: Post> Worker<P> {
    async fn run(self, mut inbox: mpsc::Receiver<Outgoing>, mut closed: oneshot::Receiver<()>) {
        loop {
            let next = tokio::select! {
                next = inbox.recv() => next,
                _ = &mut closed, if !inbox.is_closed() => {
                    inbox.close();
                    continue;
                }
            };
            let Some(outgoing) = next else {
                return;
            };
            let sum = match self.deliver(&outgoing).await {
                Ok(()) => &self.ledger.delivered,
                Err(failure) => {
                    let kind = &outgoing.kind;
                    warn!(%kind, %failure, "a hook was not forwarded");
                    &self.ledger.failed
                }
            };
            sum.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Offers one event until it is taken, refused for good, or was offered often enough.
    async fn deliver(&self, outgoing: &Outgoing) -> Result<(), Failure> {
        let Persistence {
            attempts,
            mut backoff,
            timeout: patience,
        } = self.persistence;
        let mut attempt = 1;
        loop {
            let posted = timeout(patience, self.target.post(outgoing.body.clone())).await;
            let failure = match posted.unwrap_or(Err(Failure::NoAnswer)) {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            if attempt >= attempts || !failure.may_pass() {
                return Err(failure);
            }
            debug!(attempt, %failure, "the backend did not take a hook, it is tried again");
            sleep(backoff).await;
            backoff = (backoff * 2).min(LONGEST_PAUSE);
            attempt += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bytes::Bytes;
    use tokio::time::Instant;

    use super::*;

    /// A backend that answers by a list, and notes when it was asked.
    #[derive(Clone)]
    struct Scripted {
        start: Instant,
        script: Arc<Mutex<Script>>,
    }

    struct Script {
        answers: std::vec::IntoIter<Result<(), Failure>>,
        asked: Vec<Duration>,
    }

    impl Scripted {
        fn new(answers: Vec<Result<(), Failure>>) -> Self {
            let script = Script {
                answers: answers.into_iter(),
                asked: Vec::new(),
            };
            Self {
                start: Instant::now(),
                script: Arc::new(Mutex::new(script)),
            }
        }

        fn asked(&self) -> Vec<u64> {
            let millis = |it: &Duration| u64::try_from(it.as_millis()).unwrap();
            self.script
                .lock()
                .unwrap()
                .asked
                .iter()
                .map(millis)
                .collect()
        }
    }

    impl Post for Scripted {
        async fn post(&self, _: Bytes) -> Result<(), Failure> {
            let mut script = self.script.lock().unwrap();
            script.asked.push(self.start.elapsed());
            script.answers.next().unwrap_or(Ok(()))
        }
    }

    fn event() -> HookEvent {
        let body = br#"{"hook_event_name":"Stop"}"#;
        HookEvent::parse("i".into(), body).unwrap()
    }

    async fn forwarded(
        answers: Vec<Result<(), Failure>>,
        events: usize,
    ) -> (ForwardReport, Vec<u64>) {
        let scripted = Scripted::new(answers);
        let backend = HookBackend {
            flush: Duration::from_secs(600),
            queue: 8,
            ..HookBackend::new("", "s")
        };
        let (outbox, forwarder) = start_to(scripted.clone(), &backend);
        for _ in 0..events {
            outbox.offer(&event());
        }
        (forwarder.stop().await, scripted.asked())
    }

    fn report(delivered: u64, failed: u64, dropped: u64) -> ForwardReport {
        ForwardReport {
            delivered,
            failed,
            dropped,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_backend_that_comes_back_is_offered_the_event_again_later_and_later() {
        let busy = || Err(Failure::Status(503));
        let (sum, asked) = forwarded(vec![busy(), busy(), busy(), Ok(())], 1).await;
        assert_eq!(sum, report(1, 0, 0));
        assert_eq!(asked, [0, 500, 1500, 3500], "milliseconds");
    }

    #[tokio::test(start_paused = true)]
    async fn seed_003_a_forward_that_fails_is_logged_and_ends() {
        let gone = (0..5).map(|_| Err(Failure::NoAnswer)).collect();
        let (sum, asked) = forwarded(gone, 2).await;
        assert_eq!(sum, report(1, 1, 0), "the next one is offered all the same");
        assert_eq!(asked.len(), 6);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_final() {
        let (sum, asked) = forwarded(vec![Err(Failure::Status(403))], 1).await;
        assert_eq!((sum, asked.len()), (report(0, 1, 0), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_no_room_is_dropped_and_counted() {
        let (sum, _) = forwarded(Vec::new(), 12).await;
        assert_eq!(sum, report(8, 0, 4));
    }

    /// A backend that never answers.
    struct Silent;

    impl Post for Silent {
        async fn post(&self, _: Bytes) -> Result<(), Failure> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_waits_for_the_backend_but_not_for_ever() {
        let backend = HookBackend::new("", "s");
        let (outbox, forwarder) = start_to(Silent, &backend);
        outbox.offer(&event());
        let start = Instant::now();
        assert_eq!(forwarder.stop().await, report(0, 0, 1));
        assert_eq!(start.elapsed(), backend.flush);
    }
}
