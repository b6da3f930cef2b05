//! Dispatches events: to subscribers, to the host's gate, to the backend; and returns the reply.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, broadcast, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, debug, debug_span, warn};

use crate::dedup::{DeliveryCache, DeliveryKey, FirstReply};
use crate::forward::ForwardQueue;
use crate::{HookEvent, HookGate, HookQuestion, HookReply, HookSubscription, ToolVerdict};

/// Number of events that a subscriber may fall behind before it loses some.
const SUBSCRIBER_BACKLOG: usize = 1024;

/// Number of questions that may be open; more get the default at once.
pub(crate) const MAX_OPEN_QUESTIONS: usize = 1024;

/// Dispatches events and returns the replies.
#[derive(Debug)]
pub(crate) struct HookDispatcher {
    gate: Option<HookGate>,
    questions: mpsc::Sender<HookQuestion>,
    open_questions: Semaphore,
    subscribers: broadcast::Sender<HookEvent>,
    forward: Option<ForwardQueue>,
    deliveries: Mutex<DeliveryCache>,
    counts: DispatchCounts,
}

/// The counters of a [`HookReport`](crate::HookReport).
#[derive(Debug, Default)]
pub(crate) struct DispatchCounts {
    pub(crate) events: AtomicU64,
    pub(crate) duplicates: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) defaults: AtomicU64,
}

impl HookDispatcher {
    pub(crate) fn new(
        gate: Option<HookGate>,
        questions: mpsc::Sender<HookQuestion>,
        forward: Option<ForwardQueue>,
    ) -> Self {
        Self {
            gate,
            questions,
            open_questions: Semaphore::new(MAX_OPEN_QUESTIONS),
            subscribers: broadcast::channel(SUBSCRIBER_BACKLOG).0,
            forward,
            deliveries: Mutex::default(),
            counts: DispatchCounts::default(),
        }
    }

    pub(crate) fn subscribe(&self) -> HookSubscription {
        HookSubscription(self.subscribers.subscribe())
    }

    pub(crate) const fn counts(&self) -> &DispatchCounts {
        &self.counts
    }

    /// Dispatches an event and returns the reply. A repeated delivery returns the first reply
    /// without notifying subscribers or the host again.
    pub(crate) async fn dispatch(&self, event: HookEvent, delivery: Option<String>) -> HookReply {
        let span = debug_span!(
            "hook",
            bowline.hook.kind = event.kind.name(),
            bowline.interaction.id = &*event.interaction,
            bowline.hook.bytes = event.raw().len(),
        );
        self.dispatch_once(event, delivery).instrument(span).await
    }

    async fn dispatch_once(&self, event: HookEvent, delivery: Option<String>) -> HookReply {
        let Some(key) = DeliveryKey::of(&event, delivery) else {
            return self.dispatch_first(event).await;
        };
        let (sender, first) = watch::channel(None);
        if let Some(earlier) = self.register(&key, first) {
            self.counts.duplicates.fetch_add(1, Ordering::Relaxed);
            debug!("duplicate hook delivery");
            return self.repeat_reply(&event, earlier).await;
        }
        let reply = self.dispatch_first(event).await;
        sender.send_replace(Some(reply.clone()));
        // The agent asks about a deferred tool again under the same id.
        if matches!(
            reply,
            HookReply::Tool {
                verdict: ToolVerdict::Defer,
                ..
            }
        ) {
            self.deliveries.lock().remove(&key);
        }
        reply
    }

    /// Registers a first delivery, or returns the reply of an earlier one.
    fn register(&self, key: &DeliveryKey, reply: FirstReply) -> Option<FirstReply> {
        let mut deliveries = self.deliveries.lock();
        let earlier = deliveries.get(key);
        if earlier.is_none() {
            deliveries.insert(key.clone(), reply);
        }
        earlier
    }

    async fn repeat_reply(&self, event: &HookEvent, mut earlier: FirstReply) -> HookReply {
        let reply = earlier.wait_for(Option::is_some).await;
        let reply = reply.ok().and_then(|reply| reply.clone());
        // The first delivery was cancelled before its reply.
        reply.unwrap_or_else(|| match self.gate_of(event) {
            Some(gate) => gate.default.clone(),
            None => HookReply::Nothing,
        })
    }

    async fn dispatch_first(&self, mut event: HookEvent) -> HookReply {
        event.sequence = self.counts.events.fetch_add(1, Ordering::Relaxed);
        debug!(sequence = event.sequence, "hook received");
        if let Some(forward) = &self.forward {
            forward.push(&event);
        }
        // An error means that there is no subscriber.
        let _ = self.subscribers.send(event.clone());
        match self.gate_of(&event) {
            Some(gate) => self.ask_host(gate, event).await,
            None => HookReply::Nothing,
        }
    }

    /// Counts a reply that is the gate's default.
    pub(crate) fn count_default(&self) {
        self.counts.defaults.fetch_add(1, Ordering::Relaxed);
        warn!("no reply from the host; using the gate's default");
    }

    /// Returns a permit for one more open question, or `None` and counts a default if there are too
    /// many.
    pub(crate) fn open_question(&self) -> Option<SemaphorePermit<'_>> {
        let permit = self.open_questions.try_acquire().ok();
        if permit.is_none() {
            self.count_default();
        }
        permit
    }

    /// Returns the gate, if the event waits for the host's reply.
    pub(crate) fn gate_of(&self, event: &HookEvent) -> Option<&HookGate> {
        let gate = self.gate.as_ref();
        gate.filter(|gate| gate.kinds.contains(&event.kind))
    }

    /// Asks the host, and falls back to the default when no reply comes in time.
    async fn ask_host(&self, gate: &HookGate, event: HookEvent) -> HookReply {
        let deadline = Instant::now() + gate.capped_deadline();
        let (reply, answer) = oneshot::channel();
        let question = HookQuestion {
            event,
            deadline,
            reply,
        };
        let answered = match self.questions.try_send(question) {
            Ok(()) => timeout_at(deadline, answer).await.ok().and_then(Result::ok),
            Err(_) => None,
        };
        answered.unwrap_or_else(|| {
            self.count_default();
            gate.default.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread::{scope, yield_now};
    use std::time::Duration;

    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;
    use crate::{HookEventItem, HookKind, HookQuestions, HookReplyError};

    const DEADLINE: Duration = Duration::from_secs(20);

    fn event(body: &str) -> HookEvent {
        HookEvent::parse("i".into(), body.as_bytes()).unwrap()
    }

    fn tool(id: &str) -> HookEvent {
        event(&format!(
            r#"{{"hook_event_name":"PreToolUse","tool_use_id":"{id}"}}"#
        ))
    }

    fn dispatcher() -> (Arc<HookDispatcher>, HookQuestions) {
        dispatcher_with(DEADLINE)
    }

    fn dispatcher_with(deadline: Duration) -> (Arc<HookDispatcher>, HookQuestions) {
        let gate = HookGate {
            kinds: vec![HookKind::PreToolUse],
            deadline,
            default: HookReply::deny("no host"),
        };
        let (questions, inbox) = mpsc::channel(MAX_OPEN_QUESTIONS);
        let dispatcher = HookDispatcher::new(Some(gate), questions, None);
        (Arc::new(dispatcher), HookQuestions(inbox))
    }

    fn dispatch(
        dispatcher: &Arc<HookDispatcher>,
        event: HookEvent,
    ) -> tokio::task::JoinHandle<HookReply> {
        let dispatcher = Arc::clone(dispatcher);
        tokio::spawn(async move { dispatcher.dispatch(event, None).await })
    }

    #[tokio::test(start_paused = true)]
    async fn host_reply_is_returned() {
        let (dispatcher, mut questions) = dispatcher();
        let reply = dispatch(&dispatcher, tool("t"));
        let question = questions.next().await.unwrap();
        assert_eq!(question.event().kind, HookKind::PreToolUse);
        assert_eq!(question.remaining(), DEADLINE);
        question.answer(HookReply::ask("really?")).unwrap();
        assert_eq!(reply.await.unwrap(), HookReply::ask("really?"));
        let other = event(r#"{"hook_event_name":"Stop"}"#);
        assert_eq!(
            dispatcher.dispatch(other, None).await,
            HookReply::Nothing,
            "outside the gate"
        );
    }

    /// The deadline must pass before the agent's own timer, after which the tool would run.
    #[tokio::test(start_paused = true)]
    async fn unbounded_deadline_is_capped_at_agents_timer() {
        let (dispatcher, mut questions) = dispatcher_with(Duration::MAX);
        let reply = dispatch(&dispatcher, tool("t"));
        let question = questions.next().await.unwrap();
        assert_eq!(question.remaining(), Duration::from_secs(2_147_473));
        drop(question);
        assert_eq!(reply.await.unwrap(), HookReply::deny("no host"));
    }

    #[tokio::test(start_paused = true)]
    async fn default_is_returned_after_deadline() {
        let (dispatcher, mut questions) = dispatcher();
        let start = Instant::now();
        let reply = dispatch(&dispatcher, tool("t"));
        let mut question = questions.next().await.unwrap();
        assert_eq!(reply.await.unwrap(), HookReply::deny("no host"));
        assert_eq!(start.elapsed(), DEADLINE);
        question.withdrawn().await;
        let late = question.answer(HookReply::allow()).unwrap_err();
        assert!(matches!(late, HookReplyError::TooLate { .. }));
        assert_eq!(dispatcher.counts().defaults.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn default_is_returned_at_once_without_host() {
        let (dispatcher, mut questions) = dispatcher();
        let start = Instant::now();
        let reply = dispatch(&dispatcher, tool("t"));
        let unfit = questions.next().await.unwrap();
        assert!(unfit.answer(HookReply::Raw(1.into())).is_err());
        assert_eq!(reply.await.unwrap(), HookReply::deny("no host"));
        drop(questions);
        assert_eq!(
            dispatcher.dispatch(tool("u"), None).await,
            HookReply::deny("no host")
        );
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    /// The question has its place in the queue when the questions are dropped, and arrives there later.
    #[test]
    fn question_sent_while_questions_are_dropped_is_dropped() {
        let (dispatcher, questions) = dispatcher();
        let place = dispatcher.questions.try_reserve().unwrap();
        let (reply, mut answer) = oneshot::channel();
        let question = HookQuestion {
            event: tool("t"),
            deadline: Instant::now() + DEADLINE,
            reply,
        };
        scope(|scope| {
            let dropping = scope.spawn(|| drop(questions));
            while !dispatcher.questions.is_closed() {
                yield_now();
            }
            // They wait for the question, or are gone without it.
            (0..100)
                .take_while(|_| !dropping.is_finished())
                .for_each(|_| yield_now());
            place.send(question);
        });
        assert_eq!(answer.try_recv(), Err(TryRecvError::Closed));
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_delivery_gets_first_reply_and_one_event() {
        let (dispatcher, mut questions) = dispatcher();
        let mut events = dispatcher.subscribe();
        let (first, second) = (
            dispatch(&dispatcher, tool("t")),
            dispatch(&dispatcher, tool("t")),
        );
        let question = questions.next().await.unwrap();
        question.answer(HookReply::allow()).unwrap();
        assert_eq!(first.await.unwrap(), HookReply::allow());
        assert_eq!(second.await.unwrap(), HookReply::allow());
        assert_eq!(
            dispatcher.dispatch(tool("t"), None).await,
            HookReply::allow(),
            "also later"
        );
        assert!(
            matches!(events.next().await, Some(HookEventItem::Event(event)) if event.sequence == 0)
        );
        assert_eq!(dispatcher.counts().duplicates.load(Ordering::Relaxed), 2);
        assert_eq!(dispatcher.counts().events.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn equal_events_without_id_are_distinct() {
        let (dispatcher, _questions) = dispatcher();
        let stop = || event(r#"{"hook_event_name":"Stop"}"#);
        for _ in 0..2 {
            dispatcher.dispatch(stop(), None).await;
        }
        assert_eq!(dispatcher.counts().events.load(Ordering::Relaxed), 2);
        for _ in 0..2 {
            dispatcher.dispatch(stop(), Some("d".to_owned())).await;
        }
        assert_eq!(
            dispatcher.counts().events.load(Ordering::Relaxed),
            3,
            "a delivery id identifies them"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_first_delivery_is_asked_again() {
        let (dispatcher, mut questions) = dispatcher();
        let first = dispatch(&dispatcher, tool("t"));
        let mut question = questions.next().await.unwrap();
        first.abort();
        question.withdrawn().await;
        let second = dispatch(&dispatcher, tool("t"));
        questions
            .next()
            .await
            .unwrap()
            .answer(HookReply::allow())
            .unwrap();
        assert_eq!(second.await.unwrap(), HookReply::allow());
    }

    #[tokio::test(start_paused = true)]
    async fn deferred_tool_is_asked_again() {
        let (dispatcher, mut questions) = dispatcher();
        let deferred = HookReply::Tool {
            verdict: ToolVerdict::Defer,
            reason: None,
            updated_input: None,
            context: None,
        };
        for wanted in [deferred, HookReply::allow()] {
            let reply = dispatch(&dispatcher, tool("t"));
            questions
                .next()
                .await
                .unwrap()
                .answer(wanted.clone())
                .unwrap();
            assert_eq!(reply.await.unwrap(), wanted);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slow_subscriber_learns_how_many_events_it_lost() {
        let (dispatcher, _questions) = dispatcher();
        let mut events = dispatcher.subscribe();
        for _ in 0..SUBSCRIBER_BACKLOG + 3 {
            dispatcher.dispatch(event("{}"), None).await;
        }
        assert!(matches!(
            events.next().await,
            Some(HookEventItem::Lagged(3))
        ));
        assert!(
            matches!(events.next().await, Some(HookEventItem::Event(event)) if event.sequence == 3)
        );
    }
}
