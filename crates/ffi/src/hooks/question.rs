//! Hook events that wait for the host's decision.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::sync::watch;

use super::{HookEvent, HookReply};
use crate::cancellation::{Cancellation, cancellable};
use crate::core;
use crate::error::{BowlineError, Result};
use crate::event_stream::{EventSource, event_stream};
use crate::outcome::millis;
use crate::runtime::abortable;

/// A hook event that waits for the host's decision.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct HookQuestion {
    /// The number to answer the question with.
    pub id: u64,
    /// The event.
    pub event: HookEvent,
    /// The time to answer when the question arrived, in milliseconds.
    pub remaining_ms: u64,
}

event_stream! {
    /// A stream of the hook events that wait for the host's decision.
    HookQuestionStream;
    /// Consecutive questions.
    HookQuestionBatch { /// The questions in order.
        HookQuestion };
    QuestionSource
}

/// Registers questions as open while the host reads them.
pub(crate) struct QuestionSource {
    questions: core::HookQuestions,
    open: OpenQuestions,
}

impl EventSource for QuestionSource {
    type Event = HookQuestion;

    async fn next(&mut self) -> Option<HookQuestion> {
        let question = self.questions.next().await?;
        let event = HookQuestion {
            id: question.event().sequence,
            event: question.event().into(),
            remaining_ms: millis(question.remaining()),
        };
        self.open.add(event.id, question);
        Some(event)
    }
}

/// The open questions by number.
#[derive(Clone, Default)]
pub(crate) struct OpenQuestions {
    open: Arc<Mutex<HashMap<u64, core::HookQuestion>>>,
    /// Notified when `open` or its waiters change.
    changed: watch::Sender<()>,
}

/// Notifies the other waiters when one of them leaves. A question stores one waker only: without
/// this, the others would not be polled again.
struct NotifyOnDrop<'a>(&'a watch::Sender<()>);

impl Drop for NotifyOnDrop<'_> {
    fn drop(&mut self) {
        self.0.send_replace(());
    }
}

impl OpenQuestions {
    /// Returns the stream of `questions`. Fails with `Busy` if they are `None`: taken before.
    pub(crate) fn stream(
        &self,
        questions: Option<core::HookQuestions>,
    ) -> Result<Arc<HookQuestionStream>> {
        let questions = questions.ok_or_else(|| BowlineError::Busy {
            reason: "open the question stream: it was taken before; read from that one".to_owned(),
        })?;
        let open = self.clone();
        Ok(HookQuestionStream::new(QuestionSource { questions, open }))
    }

    pub(crate) fn answer(&self, id: u64, reply: HookReply) -> Result<()> {
        let reply = reply.try_into()?;
        let question = self.open.lock().remove(&id);
        let question = question.ok_or_else(|| BowlineError::NotFound {
            reason: format!("answer question {id}: it is not open; read the question stream"),
        })?;
        self.changed.send_replace(());
        Ok(question.answer(reply)?)
    }

    /// Waits until a question is closed.
    pub(crate) async fn wait(
        &self,
        id: u64,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Result<()> {
        let open = self.clone();
        abortable(cancellable(cancellation, async move {
            open.closed(id).await;
            Ok(())
        }))
        .await
    }

    async fn closed(&self, id: u64) {
        let mut changed = self.changed.subscribe();
        let _notify = NotifyOnDrop(&self.changed);
        loop {
            tokio::select! {
                () = poll_fn(|cx| self.poll_closed(id, cx)) => return,
                _ = changed.changed() => {}
            }
        }
    }

    pub(crate) fn clear(&self) {
        self.open.lock().clear();
        self.changed.send_replace(());
    }

    fn add(&self, id: u64, question: core::HookQuestion) {
        let mut open = self.open.lock();
        open.retain(|_, it| !it.remaining().is_zero());
        open.insert(id, question);
        drop(open);
        self.changed.send_replace(());
    }

    fn poll_closed(&self, id: u64, cx: &mut Context<'_>) -> Poll<()> {
        let mut open = self.open.lock();
        let Some(question) = open.get_mut(&id) else {
            return Poll::Ready(());
        };
        // The waker is stored in the question, so the future need not outlive this poll.
        pin!(question.withdrawn()).poll(cx)
    }
}
