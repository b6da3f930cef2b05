//! Answers permission requests: somebody at the terminal does, or a rule.

use std::collections::VecDeque;
use std::io::BufRead as _;
use std::sync::Arc;
use std::time::Duration;

use bowline_lifecycle::{
    Decision, DialogueError, DialogueSession, PermissionAnswer, PermissionRecord, Permissions,
    RequestState,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

use crate::failure::Failure;
use crate::live::question::{Open, tool};
use crate::screen::{Screen, forget_typed};

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Somebody at the terminal; after a time without an answer it is yes, if a time is given.
    Ask(Option<Duration>),
    /// Nobody: everything is denied.
    Deny,
    /// Nobody: everything is allowed.
    Allow,
}

/// Answers permission requests, one after the other.
#[derive(Debug)]
pub(crate) struct Asker {
    policy: Policy,
    /// What is typed, line by line.
    typed: Option<UnboundedReceiver<String>>,
    open: Option<Open>,
    /// Those that wait, the oldest first.
    waiting: VecDeque<Arc<PermissionRecord>>,
}

impl Asker {
    pub(crate) const fn new(policy: Policy) -> Self {
        Self {
            policy,
            typed: None,
            open: None,
            waiting: VecDeque::new(),
        }
    }

    /// Whether no question is open or about to be.
    pub(crate) fn is_idle(&self, shown: &[String]) -> bool {
        self.open.is_none() && !self.has_next(shown)
    }

    /// Whether the oldest that waits can be asked: what asks for it stands above.
    fn has_next(&self, shown: &[String]) -> bool {
        let next = self.waiting.front();
        next.is_some_and(|next| shown.contains(&next.request_id))
    }

    /// When the open question answers itself.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.open.as_ref()?.due
    }

    /// The next line that is typed while a question is open; none when nobody can type any more.
    pub(crate) async fn line(&mut self) -> Option<String> {
        match &mut self.typed {
            Some(typed) if self.open.is_some() => typed.recv().await,
            _ => std::future::pending().await,
        }
    }

    /// Hears of a request, or of what became of one.
    pub(crate) fn hear(
        &mut self,
        record: &Arc<PermissionRecord>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        if record.state.is_open() {
            self.waiting.push_back(Arc::clone(record));
            return Ok(());
        }
        self.waiting.retain(|it| it.request_id != record.request_id);
        let is_it = |open: &mut Open| open.record.request_id == record.request_id;
        if self.open.take_if(is_it).is_some() {
            screen.close_question(false)?;
            screen.tell_apart(match record.state {
                RequestState::Withdrawn => "  the agent took the question back\n",
                _ => "  the question is not asked any more\n",
            });
        }
        Ok(())
    }

    /// Begins again with these requests, after news were missed.
    pub(crate) fn start_over(
        &mut self,
        permissions: &Permissions,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        self.waiting.clear();
        let open = self.open.as_ref().map(|it| it.record.request_id.clone());
        for record in permissions.iter() {
            if open.as_ref() != Some(&record.request_id) || !record.state.is_open() {
                self.hear(record, screen)?;
            }
        }
        Ok(())
    }

    /// Takes up the next question, of those that the dialogue shows as open.
    pub(crate) async fn look(
        &mut self,
        session: &DialogueSession,
        shown: &[String],
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        while self.open.is_none()
            && self.has_next(shown)
            && let Some(record) = self.waiting.pop_front()
        {
            self.take_up(session, record, screen).await?;
        }
        Ok(())
    }

    async fn take_up(
        &mut self,
        session: &DialogueSession,
        record: Arc<PermissionRecord>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        match self.policy {
            Policy::Ask(patience) => self.ask(record, patience, screen),
            Policy::Allow => {
                screen.say("  nobody to ask here, so the answer is yes\n")?;
                self.decide_unasked(session, record, Decision::allow(), screen)
                    .await
            }
            Policy::Deny => {
                screen.warn(&format!(
                    "bowline: {} was denied, there is no terminal to ask on: allow it with \
                     --allowed-tools or --permission-mode\n",
                    tool(&record)
                ))?;
                let message = "denied: this session has no terminal to ask the user on";
                self.decide_unasked(session, record, Decision::deny(message), screen)
                    .await
            }
        }
    }

    fn ask(
        &mut self,
        record: Arc<PermissionRecord>,
        patience: Option<Duration>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let lines = self.typed.get_or_insert_with(typed_lines);
        while lines.try_recv().is_ok() {}
        forget_typed();
        let open = Open::new(record, patience);
        screen.say(&open.details())?;
        let asked = open.put(screen);
        self.open = Some(open);
        asked
    }

    /// Takes a typed line as the answer.
    pub(crate) async fn answer(
        &mut self,
        session: &DialogueSession,
        line: Option<String>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        screen.close_question(line.is_some())?;
        let Some(line) = line else {
            let decision = Decision::deny("nobody is there to answer any more");
            return self
                .decide_unasked(session, open.record, decision, screen)
                .await;
        };
        if let Some(answer) = open.read(&line) {
            return self.decide(session, open.record, answer, screen).await;
        }
        let asked = open.put(screen);
        self.open = Some(open);
        asked
    }

    /// Answers yes when the time for an answer is over.
    pub(crate) async fn time_out(
        &mut self,
        session: &DialogueSession,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let is_due = |open: &mut Open| open.due.is_some_and(|due| due <= Instant::now());
        if let Some(open) = self.open.take_if(is_due) {
            screen.close_question(false)?;
            screen.say("  no answer, so it is yes\n")?;
            self.decide_unasked(session, open.record, Decision::allow(), screen)
                .await?;
        }
        Ok(())
    }

    /// Answers. When the answer cannot be given, the question is asked again.
    async fn decide(
        &mut self,
        session: &DialogueSession,
        record: Arc<PermissionRecord>,
        answer: PermissionAnswer,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        if let Some(refused) = answered(session, &record, answer).await {
            screen.warn(&refused)?;
            self.waiting.push_front(record);
        }
        Ok(())
    }

    /// Answers for somebody who is not there, once: asking again would give the same answer.
    async fn decide_unasked(
        &mut self,
        session: &DialogueSession,
        record: Arc<PermissionRecord>,
        decision: Decision,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        match answered(session, &record, decision.into()).await {
            Some(refused) => screen.warn(&refused),
            None => Ok(()),
        }
    }
}

/// Answers, and gives why the answer was not taken.
async fn answered(
    session: &DialogueSession,
    record: &PermissionRecord,
    answer: PermissionAnswer,
) -> Option<String> {
    let done = session.answer_permission(&*record.request_id, answer).await;
    match done {
        // An answer that comes too late is for a question that is no more asked.
        Ok(()) | Err(DialogueError::TooLate { .. } | DialogueError::Ended) => None,
        Err(error) => Some(format!("bowline: failed to {error}\n")),
    }
}

/// Standard input, line by line. A thread reads it: a terminal cannot be waited for otherwise
/// without changing its mode for everybody. It ends with the program.
fn typed_lines() -> UnboundedReceiver<String> {
    let (send, lines) = unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if send.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
