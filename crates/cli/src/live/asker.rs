//! Answers permission requests: somebody at the terminal does, or a rule.

use std::collections::HashSet;
use std::io::BufRead as _;
use std::time::Duration;

use bowline_lifecycle::{Decision, DialogueError, DialogueSession};
use bowline_reducer::Transcript;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

use crate::failure::Failure;
use crate::live::question::{Open, Request};
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
    answered: HashSet<String>,
}

impl Asker {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            typed: None,
            open: None,
            answered: HashSet::new(),
        }
    }

    /// Whether no question is open or about to be.
    pub(crate) fn is_idle_for(&self, pending: &[String]) -> bool {
        self.open.is_none() && pending.iter().all(|id| self.answered.contains(id))
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

    /// Drops the open question when it is not asked any more.
    pub(crate) fn drop_gone(
        &mut self,
        pending: &[String],
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let is_gone = |open: &mut Open| !pending.contains(&open.request.id);
        if self.open.take_if(is_gone).is_some() {
            screen.close_question(false)?;
            screen.tell_apart("  the agent took the question back\n");
        }
        Ok(())
    }

    /// Takes up the next question.
    pub(crate) async fn look(
        &mut self,
        session: &DialogueSession,
        pending: &[String],
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        while self.open.is_none() {
            let next = pending
                .iter()
                .find(|id| !self.answered.contains(*id))
                .cloned();
            let Some(id) = next else { break };
            let read =
                move |transcript: &mut Transcript| transcript.permission(&id).map(Request::of);
            let Some(request) = session.inspect(read).await else {
                break;
            };
            self.take_up(session, request, screen).await?;
        }
        Ok(())
    }

    async fn take_up(
        &mut self,
        session: &DialogueSession,
        request: Request,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        match self.policy {
            Policy::Ask(patience) => self.ask(request, patience, screen),
            Policy::Allow => {
                screen.say("  nobody to ask here, so the answer is yes\n")?;
                self.decide_unasked(session, &request.id, Decision::allow(), screen)
                    .await
            }
            Policy::Deny => {
                screen.warn(&format!(
                    "bowline: {} was denied, there is no terminal to ask on: allow it with \
                     --allowed-tools or --permission-mode\n",
                    request.tool()
                ))?;
                let message = "denied: this session has no terminal to ask the user on";
                self.decide_unasked(session, &request.id, Decision::deny(message), screen)
                    .await
            }
        }
    }

    fn ask(
        &mut self,
        request: Request,
        patience: Option<Duration>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let lines = self.typed.get_or_insert_with(typed_lines);
        while lines.try_recv().is_ok() {}
        forget_typed();
        let open = Open::new(request, patience);
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
                .decide_unasked(session, &open.request.id, decision, screen)
                .await;
        };
        if let Some(decision) = open.read(&line) {
            return self
                .decide(session, &open.request.id, decision, screen)
                .await;
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
            self.decide_unasked(session, &open.request.id, Decision::allow(), screen)
                .await?;
        }
        Ok(())
    }

    /// Answers. When the answer cannot be given, the question stays to be asked.
    async fn decide(
        &mut self,
        session: &DialogueSession,
        id: &str,
        decision: Decision,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        match session.answer_permission(id, decision).await {
            // An answer that comes too late is for a question that is no more asked.
            Ok(()) | Err(DialogueError::TooLate { .. } | DialogueError::Ended) => {
                self.answered.insert(id.to_owned());
                Ok(())
            }
            Err(error) => screen.warn(&format!("bowline: failed to {error}\n")),
        }
    }

    /// Answers for somebody who is not there, once: asking again would give the same answer.
    async fn decide_unasked(
        &mut self,
        session: &DialogueSession,
        id: &str,
        decision: Decision,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let done = self.decide(session, id, decision, screen).await;
        self.answered.insert(id.to_owned());
        done
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
