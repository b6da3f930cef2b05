//! Where events are taken in: told to readers, put to the host, forwarded, answered.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use super::forward::Outbox;
use super::seen::{Answer, Key, Seen};
use super::{HookEvent, HookGate, HookQuestion, HookReply, HookSubscription, ToolVerdict};

/// Events that a reader may be behind.
const BACKLOG: usize = 1024;

/// Questions that may wait for the host to take them up.
pub(super) const QUESTIONS: usize = 64;

/// Where events are taken in.
#[derive(Debug)]
pub(super) struct Desk {
    gate: Option<HookGate>,
    questions: mpsc::Sender<HookQuestion>,
    readers: broadcast::Sender<HookEvent>,
    outbox: Option<Outbox>,
    seen: Mutex<Seen>,
    counts: Counts,
}

/// What has been taken in so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) events: AtomicU64,
    pub(super) duplicates: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) defaults: AtomicU64,
}

impl Desk {
    pub(super) fn new(
        gate: Option<HookGate>,
        questions: mpsc::Sender<HookQuestion>,
        outbox: Option<Outbox>,
    ) -> Self {
        Self {
            gate,
            questions,
            readers: broadcast::channel(BACKLOG).0,
            outbox,
            seen: Mutex::default(),
            counts: Counts::default(),
        }
    }

    pub(super) fn subscribe(&self) -> HookSubscription {
        HookSubscription(self.readers.subscribe())
    }

    pub(super) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes in an event and gives the answer. One that was brought before gets the same answer,
    /// and nobody is told or asked twice.
    pub(super) async fn take(&self, event: HookEvent, delivery: Option<String>) -> HookReply {
        let Some(key) = Key::of(&event, delivery) else {
            return self.first(event).await;
        };
        let (answer, known) = watch::channel(None);
        if let Some(earlier) = self.claim(&key, known) {
            self.counts.duplicates.fetch_add(1, Ordering::Relaxed);
            debug!(kind = event.kind.name(), "a hook was delivered again");
            return self.same(&event, earlier).await;
        }
        let reply = self.first(event).await;
        answer.send_replace(Some(reply.clone()));
        if matches!(
            reply,
            HookReply::Tool {
                verdict: ToolVerdict::Defer,
                ..
            }
        ) {
            self.seen().forget(&key);
        }
        reply
    }

    /// The answer to the first delivery, or none if this is it.
    fn claim(&self, key: &Key, answer: Answer) -> Option<Answer> {
        let mut seen = self.seen();
        let earlier = seen.answer(key);
        if earlier.is_none() {
            seen.remember(key.clone(), answer);
        }
        earlier
    }

    async fn same(&self, event: &HookEvent, mut earlier: Answer) -> HookReply {
        let known = earlier.wait_for(Option::is_some).await;
        let known = known.ok().and_then(|reply| reply.clone());
        // The first client hung up before it had its answer.
        known.unwrap_or_else(|| self.default_for(event))
    }

    async fn first(&self, mut event: HookEvent) -> HookReply {
        event.sequence = self.counts.events.fetch_add(1, Ordering::Relaxed);
        debug!(
            kind = event.kind.name(),
            interaction = &*event.interaction,
            bytes = event.raw().len(),
            "hook"
        );
        if let Some(outbox) = &self.outbox {
            outbox.offer(&event);
        }
        // Nobody may be reading.
        let _ = self.readers.send(event.clone());
        match &self.gate {
            Some(gate) if gate.kinds.contains(&event.kind) => self.decide(gate, event).await,
            _ => HookReply::Nothing,
        }
    }

    /// Puts an event to the host, and takes the default when there is no answer in time.
    async fn decide(&self, gate: &HookGate, event: HookEvent) -> HookReply {
        let deadline = Instant::now() + gate.patience();
        let kind = event.kind.clone();
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
            self.counts.defaults.fetch_add(1, Ordering::Relaxed);
            warn!(
                kind = kind.name(),
                "nobody has decided in time, the default counts"
            );
            gate.default.clone()
        })
    }

    fn default_for(&self, event: &HookEvent) -> HookReply {
        match &self.gate {
            Some(gate) if gate.kinds.contains(&event.kind) => gate.default.clone(),
            _ => HookReply::Nothing,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::{HookKind, HookNews, HookQuestions, HookReplyError};

    const DEADLINE: Duration = Duration::from_secs(20);

    fn event(body: &str) -> HookEvent {
        HookEvent::parse("i".into(), body.as_bytes()).unwrap()
    }

    fn tool(id: &str) -> HookEvent {
        event(&format!(
            r#"{{"hook_event_name":"PreToolUse","tool_use_id":"{id}"}}"#
        ))
    }

    fn desk() -> (Arc<Desk>, HookQuestions) {
        desk_with(DEADLINE)
    }

    fn desk_with(deadline: Duration) -> (Arc<Desk>, HookQuestions) {
        let gate = HookGate {
            kinds: vec![HookKind::PreToolUse],
            deadline,
            default: HookReply::deny("nobody is there"),
        };
        let (questions, asked) = mpsc::channel(QUESTIONS);
        let desk = Desk::new(Some(gate), questions, None);
        (Arc::new(desk), HookQuestions(asked))
    }

    fn take(desk: &Arc<Desk>, event: HookEvent) -> tokio::task::JoinHandle<HookReply> {
        let desk = Arc::clone(desk);
        tokio::spawn(async move { desk.take(event, None).await })
    }

    #[tokio::test(start_paused = true)]
    async fn the_host_decides() {
        let (desk, mut questions) = desk();
        let taken = take(&desk, tool("t"));
        let question = questions.next().await.unwrap();
        assert_eq!(question.event().kind, HookKind::PreToolUse);
        assert_eq!(question.remaining(), DEADLINE);
        question.answer(HookReply::ask("really?")).unwrap();
        assert_eq!(taken.await.unwrap(), HookReply::ask("really?"));
        let other = event(r#"{"hook_event_name":"Stop"}"#);
        assert_eq!(
            desk.take(other, None).await,
            HookReply::Nothing,
            "not behind the gate"
        );
    }

    /// It is over before the agent's own timer, behind which the tool would run.
    #[tokio::test(start_paused = true)]
    async fn a_deadline_without_end_is_the_longest_that_the_agent_waits() {
        let (desk, mut questions) = desk_with(Duration::MAX);
        let taken = take(&desk, tool("t"));
        let question = questions.next().await.unwrap();
        assert_eq!(question.remaining(), Duration::from_secs(2_147_473));
        drop(question);
        assert_eq!(taken.await.unwrap(), HookReply::deny("nobody is there"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_default_counts_when_the_deadline_has_passed() {
        let (desk, mut questions) = desk();
        let start = Instant::now();
        let taken = take(&desk, tool("t"));
        let mut question = questions.next().await.unwrap();
        assert_eq!(taken.await.unwrap(), HookReply::deny("nobody is there"));
        assert_eq!(start.elapsed(), DEADLINE);
        question.withdrawn().await;
        let late = question.answer(HookReply::allow()).unwrap_err();
        assert!(matches!(late, HookReplyError::TooLate { .. }));
        assert_eq!(desk.counts().defaults.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_default_counts_at_once_when_nobody_is_there() {
        let (desk, mut questions) = desk();
        let start = Instant::now();
        let taken = take(&desk, tool("t"));
        let unfit = questions.next().await.unwrap();
        assert!(unfit.answer(HookReply::Raw(1.into())).is_err());
        assert_eq!(taken.await.unwrap(), HookReply::deny("nobody is there"));
        drop(questions);
        assert_eq!(
            desk.take(tool("u"), None).await,
            HookReply::deny("nobody is there")
        );
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_delivery_that_comes_again_is_told_once_and_answered_alike() {
        let (desk, mut questions) = desk();
        let mut news = desk.subscribe();
        let (first, second) = (take(&desk, tool("t")), take(&desk, tool("t")));
        let question = questions.next().await.unwrap();
        question.answer(HookReply::allow()).unwrap();
        assert_eq!(first.await.unwrap(), HookReply::allow());
        assert_eq!(second.await.unwrap(), HookReply::allow());
        assert_eq!(
            desk.take(tool("t"), None).await,
            HookReply::allow(),
            "later, too"
        );
        assert!(matches!(news.next().await, Some(HookNews::Event(event)) if event.sequence == 0));
        assert_eq!(desk.counts().duplicates.load(Ordering::Relaxed), 2);
        assert_eq!(desk.counts().events.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn events_without_an_id_may_come_twice_and_mean_it() {
        let (desk, _questions) = desk();
        let stop = || event(r#"{"hook_event_name":"Stop"}"#);
        for _ in 0..2 {
            desk.take(stop(), None).await;
        }
        assert_eq!(desk.counts().events.load(Ordering::Relaxed), 2);
        for _ in 0..2 {
            desk.take(stop(), Some("d".to_owned())).await;
        }
        assert_eq!(
            desk.counts().events.load(Ordering::Relaxed),
            3,
            "a helper names them"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_delivery_that_was_given_up_leaves_the_next_one_to_be_asked_about() {
        let (desk, mut questions) = desk();
        let first = take(&desk, tool("t"));
        let mut question = questions.next().await.unwrap();
        first.abort();
        question.withdrawn().await;
        let second = take(&desk, tool("t"));
        questions
            .next()
            .await
            .unwrap()
            .answer(HookReply::allow())
            .unwrap();
        assert_eq!(second.await.unwrap(), HookReply::allow());
    }

    #[tokio::test(start_paused = true)]
    async fn a_tool_that_was_put_off_is_asked_about_again() {
        let (desk, mut questions) = desk();
        let put_off = HookReply::Tool {
            verdict: ToolVerdict::Defer,
            reason: None,
            updated_input: None,
            context: None,
        };
        for reply in [put_off, HookReply::allow()] {
            let taken = take(&desk, tool("t"));
            questions
                .next()
                .await
                .unwrap()
                .answer(reply.clone())
                .unwrap();
            assert_eq!(taken.await.unwrap(), reply);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_told_what_it_missed() {
        let (desk, _questions) = desk();
        let mut news = desk.subscribe();
        for _ in 0..BACKLOG + 3 {
            desk.take(event("{}"), None).await;
        }
        assert!(matches!(news.next().await, Some(HookNews::Missed(3))));
        assert!(matches!(news.next().await, Some(HookNews::Event(event)) if event.sequence == 3));
    }
}
