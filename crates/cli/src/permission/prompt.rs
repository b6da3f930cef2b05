//! Answers permission requests: the user does on the terminal, or a fixed policy.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use bowline_lifecycle::{
    Decision, DialogueError, DialogueSession, PermissionAnswer, PermissionRecord, Permissions,
    RequestState, error_chain,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

use super::request::{OpenRequest, tool_name};
use crate::args::Output;
use crate::failure::Failure;
use crate::screen::{Screen, discard_typed_input};
use crate::text::one_line;

/// How permission requests are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PermissionPolicy {
    /// The user is asked. With a time, a request without an answer is allowed after it.
    Ask(Option<Duration>),
    /// Every request is denied.
    Deny,
    /// Every request is allowed.
    Allow,
}

/// Whether a user can see a question and type the answer.
pub(crate) fn has_user(output: Output) -> bool {
    let is_visible = match output {
        Output::Text => io::stdout().is_terminal(),
        Output::Changes | Output::Transcript | Output::TranscriptSchema1 => {
            io::stderr().is_terminal()
        }
    };
    is_visible && io::stdin().is_terminal()
}

/// Answers permission requests, one after the other.
#[derive(Debug)]
pub(crate) struct PermissionPrompt {
    policy: PermissionPolicy,
    /// Lines from standard input, once a question has been asked.
    typed: Option<UnboundedReceiver<String>>,
    open: Option<OpenRequest>,
    /// Requests that are not shown yet, the oldest first.
    waiting: VecDeque<Arc<PermissionRecord>>,
}

impl PermissionPrompt {
    pub(crate) const fn new(policy: PermissionPolicy) -> Self {
        Self {
            policy,
            typed: None,
            open: None,
            waiting: VecDeque::new(),
        }
    }

    /// Whether no request is open and none can be opened. `shown` are the ids of the open requests
    /// that the dialogue has printed.
    pub(crate) fn is_idle(&self, shown: &[String]) -> bool {
        self.open.is_none() && !self.has_next(shown)
    }

    /// Whether the oldest waiting request can be opened: its line in the dialogue comes first.
    fn has_next(&self, shown: &[String]) -> bool {
        let next = self.waiting.front();
        next.is_some_and(|next| shown.contains(&next.request_id))
    }

    /// When the open request is allowed without an answer.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.open.as_ref()?.deadline
    }

    /// Waits for a line while a request is open. `None` if standard input has ended. Cancel safe.
    pub(crate) async fn next_line(&mut self) -> Option<String> {
        match &mut self.typed {
            Some(typed) if self.open.is_some() => typed.recv().await,
            _ => std::future::pending().await,
        }
    }

    /// Applies an update: queues an open request, and drops one that has ended.
    pub(crate) fn on_update(
        &mut self,
        record: &Arc<PermissionRecord>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        if record.state.is_open() {
            self.waiting.push_back(Arc::clone(record));
            return Ok(());
        }
        self.waiting.retain(|it| it.request_id != record.request_id);
        let is_open = |open: &mut OpenRequest| open.record.request_id == record.request_id;
        if self.open.take_if(is_open).is_some() {
            screen.close_question(false)?;
            screen.note_if_machine_readable(match record.state {
                RequestState::Withdrawn => "  permission request was withdrawn by the agent\n",
                _ => "  permission request was cancelled\n",
            });
        }
        Ok(())
    }

    /// Replaces the queue by the open requests, after updates were lost.
    pub(crate) fn reset(
        &mut self,
        permissions: &Permissions,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        self.waiting.clear();
        let open = self.open.as_ref().map(|it| it.record.request_id.clone());
        for record in permissions.iter() {
            if open.as_ref() != Some(&record.request_id) || !record.state.is_open() {
                self.on_update(record, screen)?;
            }
        }
        Ok(())
    }

    /// Opens the next request of those in `shown`, or answers them by the policy.
    pub(crate) async fn open_next(
        &mut self,
        session: &DialogueSession,
        shown: &[String],
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        while self.open.is_none()
            && self.has_next(shown)
            && let Some(record) = self.waiting.pop_front()
        {
            self.handle(session, record, screen).await?;
        }
        Ok(())
    }

    async fn handle(
        &mut self,
        session: &DialogueSession,
        record: Arc<PermissionRecord>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        match self.policy {
            PermissionPolicy::Ask(allow_after) => self.ask(record, allow_after, screen),
            PermissionPolicy::Allow => {
                screen.note("  no terminal to ask on; approved by --permission-mode\n")?;
                decide_once(session, &record, Decision::allow(), screen).await
            }
            PermissionPolicy::Deny => {
                screen.warn(&denial_note(&record))?;
                let message = "denied: this session has no terminal to ask the user on";
                decide_once(session, &record, Decision::deny(message), screen).await
            }
        }
    }

    fn ask(
        &mut self,
        record: Arc<PermissionRecord>,
        allow_after: Option<Duration>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let lines = self.typed.get_or_insert_with(read_lines);
        while lines.try_recv().is_ok() {}
        discard_typed_input();
        let open = OpenRequest::new(record, allow_after);
        screen.note(&open.details())?;
        let shown = open.show(screen);
        self.open = Some(open);
        shown
    }

    /// Takes a typed line as the answer to the open request; `None` if standard input has ended.
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
            let decision = Decision::deny("denied: the terminal was closed");
            return decide_once(session, &open.record, decision, screen).await;
        };
        if let Some(answer) = open.read_line(&line) {
            if let Some(refused) = send_answer(session, &open.record, answer).await {
                screen.warn(&refused)?;
                // The user is asked again.
                self.waiting.push_front(open.record);
            }
            return Ok(());
        }
        let shown = open.show(screen);
        self.open = Some(open);
        shown
    }

    /// Allows the open request if its deadline has passed.
    pub(crate) async fn on_deadline(
        &mut self,
        session: &DialogueSession,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let is_due = |open: &mut OpenRequest| open.deadline.is_some_and(|it| it <= Instant::now());
        if let Some(open) = self.open.take_if(is_due) {
            screen.close_question(false)?;
            screen.note("  no answer in time; allowed\n")?;
            decide_once(session, &open.record, Decision::allow(), screen).await?;
        }
        Ok(())
    }
}

/// Answers without the user. A refused answer is not repeated: it would be the same one.
async fn decide_once(
    session: &DialogueSession,
    record: &PermissionRecord,
    decision: Decision,
    screen: &mut Screen,
) -> Result<(), Failure> {
    match send_answer(session, record, decision.into()).await {
        Some(refused) => screen.warn(&refused),
        None => Ok(()),
    }
}

/// Sends an answer. Returns a message if it was refused; an answer that is too late is dropped.
async fn send_answer(
    session: &DialogueSession,
    record: &PermissionRecord,
    answer: PermissionAnswer,
) -> Option<String> {
    let sent = session.answer_permission(&*record.request_id, answer).await;
    match sent {
        Ok(()) | Err(DialogueError::TooLate { .. } | DialogueError::Ended) => None,
        Err(error) => Some(format!("bowline: failed to {}\n", error_chain(&error))),
    }
}

/// Reads standard input line by line on a thread that ends with the program. Waiting for a terminal
/// without a thread would change its mode for all processes that share it.
fn read_lines() -> UnboundedReceiver<String> {
    let (sender, lines) = unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Describes a request that is denied since there is no user. That of a limit says itself what it is about.
fn denial_note(record: &PermissionRecord) -> String {
    match record.questions().first() {
        Some(question) if record.tool_name == "usage_limit" => format!(
            "bowline: {}; there is no terminal to ask on, so the session ends: attach on a terminal\n",
            one_line(&question.question, 200)
        ),
        Some(question) if record.tool_name == "budget" => format!(
            "bowline: {}; there is no terminal to ask on, so the session ends: raise the limit\n",
            one_line(&question.question, 200)
        ),
        _ => format!(
            "bowline: {} was denied: there is no terminal to ask on; allow it with \
             --allowed-tools or --permission-mode\n",
            tool_name(record)
        ),
    }
}
