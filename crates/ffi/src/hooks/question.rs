//! Events that wait for the host's decision.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use crate::core;
use tokio::sync::watch;

use super::{HookEvent, HookReply};
use crate::cancellation::{Cancellation, unless};
use crate::error::{BowlineError, Outcome};
use crate::feed::{Events, event_stream};
use crate::outcome::millis;
use crate::runtime::wait;

/// An event that waits for the host's decision.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct HookQuestion {
    /// Names the question in the answer.
    pub question: u64,
    /// What is about to happen.
    pub event: HookEvent,
    /// How long there was to answer when it was asked, in milliseconds.
    pub remaining_ms: u64,
}

event_stream! {
    /// The questions of a gate, in the order in which they were asked.
    HookQuestionStream;
    /// Questions in their order.
    HookQuestionBatch { /// The questions.
        HookQuestion };
    Questions
}

/// Questions as they are asked.
pub(crate) struct Questions {
    questions: core::HookQuestions,
    open: OpenQuestions,
}

impl Events for Questions {
    type Event = HookQuestion;

    async fn next(&mut self) -> Option<HookQuestion> {
        let question = self.questions.next().await?;
        let told = HookQuestion {
            question: question.event().sequence,
            event: question.event().into(),
            remaining_ms: millis(question.remaining()),
        };
        self.open.add(told.question, question);
        Some(told)
    }
}

/// Questions without an answer, by their number.
#[derive(Clone, Default)]
pub(crate) struct OpenQuestions {
    open: Arc<Mutex<HashMap<u64, core::HookQuestion>>>,
    answers: watch::Sender<()>,
}

/// A question wakes the last of those who wait for it. Whoever goes, woken or given up, lets the
/// others look.
struct WakeOthers<'a>(&'a watch::Sender<()>);

impl Drop for WakeOthers<'_> {
    fn drop(&mut self) {
        self.0.send_replace(());
    }
}

impl OpenQuestions {
    /// The questions of a gate as a stream, if nobody has them yet.
    pub(crate) fn stream(
        &self,
        questions: Option<core::HookQuestions>,
    ) -> Outcome<Arc<HookQuestionStream>> {
        let questions = questions.ok_or_else(|| BowlineError::Busy {
            reason: "take the questions: somebody has them, read from his stream".to_owned(),
        })?;
        let open = self.clone();
        Ok(HookQuestionStream::of(Questions { questions, open }))
    }

    pub(crate) fn answer(&self, question: u64, reply: HookReply) -> Outcome<()> {
        let reply = reply.try_into()?;
        let asked = self.lock().remove(&question);
        let asked = asked.ok_or_else(|| BowlineError::NotFound {
            reason: format!("answer {question}: no such question waits, look for the newest"),
        })?;
        self.answers.send_replace(());
        Ok(asked.answer(reply)?)
    }

    /// Waits until a question does not wait any more.
    pub(crate) async fn wait(
        &self,
        question: u64,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Outcome<()> {
        let open = self.clone();
        wait(unless(cancellation, async move {
            open.withdrawn(question).await;
            Ok(())
        }))
        .await
    }

    async fn withdrawn(&self, question: u64) {
        let mut answers = self.answers.subscribe();
        let _others = WakeOthers(&self.answers);
        loop {
            tokio::select! {
                () = poll_fn(|cx| self.poll_withdrawn(question, cx)) => return,
                _ = answers.changed() => {}
            }
        }
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
        self.answers.send_replace(());
    }

    fn add(&self, number: u64, question: core::HookQuestion) {
        // Nobody can answer these any more.
        self.lock().retain(|_, it| !it.remaining().is_zero());
        self.lock().insert(number, question);
        self.answers.send_replace(());
    }

    fn poll_withdrawn(&self, question: u64, cx: &mut Context<'_>) -> Poll<()> {
        let mut open = self.lock();
        let Some(asked) = open.get_mut(&question) else {
            return Poll::Ready(());
        };
        // Who is to be woken is kept with the question.
        pin!(asked.withdrawn()).poll(cx)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, core::HookQuestion>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
