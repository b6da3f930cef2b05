//! Keys of the chat: they edit the prompt, or answer an open permission request.

use std::time::Duration;

use bowline_lifecycle::{Capability, InterruptScope, Priority, SessionId, error_chain};
use crossterm::event::Event;

use super::super::answer::AnswerKey;
use super::super::attachment;
use super::super::command::{ChatCommand, Entered, read_entered};
use super::super::complete::complete;
use super::super::editor::Edit;
use super::super::outbox::Outgoing;
use super::{ChatView, Leaving};
use crate::failure::Failure;

/// Keys within this time after a request has opened belong to what the user was typing.
const TYPING_GRACE: Duration = Duration::from_millis(700);

impl ChatView<'_> {
    pub(super) async fn on_key(&mut self, event: Event) -> Result<(), Failure> {
        self.candidates.clear();
        if matches!(event, Event::Resize(..)) {
            self.screen.resize();
            return Ok(());
        }
        let event = if self.answer.is_some() {
            match self.on_answer_key(event) {
                Some(event) => event,
                None => return Ok(()),
            }
        } else {
            event
        };
        let is_interrupt_next = std::mem::take(&mut self.may_end);
        match self.editor.handle(event) {
            Some(Edit::Submitted(text)) => self.enter(&text).await,
            Some(Edit::Interrupt) => {
                self.may_end = is_interrupt_next;
                self.on_interrupt();
            }
            Some(Edit::EndOfInput) => self.on_end_of_input(),
            Some(Edit::Complete) => self.on_complete(),
            Some(Edit::ClearScreen) => self.screen.clear()?,
            Some(Edit::Changed) | None => {}
        }
        Ok(())
    }

    /// Handles a key for the open request. Returns one that is not for it.
    fn on_answer_key(&mut self, event: Event) -> Option<Event> {
        if self
            .answer_opened
            .is_some_and(|it| it.elapsed() < TYPING_GRACE)
        {
            self.editor.handle(event);
            return None;
        }
        let answer = self.answer.as_mut()?;
        match answer.handle(event.clone()) {
            AnswerKey::Other => return Some(event),
            AnswerKey::Changed => {}
            AnswerKey::NextQuestion => {
                let question = answer.next_question();
                self.print_block(&question);
            }
            AnswerKey::Answered(answer) => {
                if let Some(open) = self.answer.take() {
                    let id = open.request_id().to_owned();
                    self.send(Outgoing::Answer(id, answer));
                }
            }
        }
        None
    }

    pub(super) fn send(&self, outgoing: Outgoing) {
        // The outbox lasts as long as this view.
        let _ = self.outbox.send(outgoing);
    }

    /// Interrupts the running work; the second time ends the session, or leaves one that others started.
    pub(super) fn on_interrupt(&mut self) {
        if self.state.is_working() && !self.has_interrupted {
            self.has_interrupted = true;
            self.note("interrupting; press ^C again to end the session");
            return self.interrupt();
        }
        if !self.state.is_working() && !self.is_ending {
            if !self.editor.is_empty() {
                return self.editor.clear();
            }
            if !std::mem::replace(&mut self.may_end, true) {
                return self.note("press ^C again to end the session, or type /help");
            }
        }
        self.was_interrupted = true;
        if !self.chat.is_owned {
            self.leaving = Some(Leaving::Detach);
        } else if self.leaving != Some(Leaving::Terminate) {
            self.leaving = Some(Leaving::Terminate);
            self.is_ending = false;
        }
    }

    fn interrupt(&mut self) {
        let session = self.chat.session.clone();
        self.work.spawn(async move {
            let stopped = session.interrupt_scope(InterruptScope::TurnAndTasks).await;
            stopped
                .err()
                .map(|error| format!("failed to {}", error_chain(&error)))
        });
    }

    fn on_end_of_input(&mut self) {
        self.leaving = Some(if self.chat.is_owned {
            Leaving::End
        } else {
            Leaving::Detach
        });
    }

    fn on_complete(&mut self) {
        let (line, at) = self.editor.line();
        let own = ChatCommand::ALL.iter().map(|it| it.name().to_owned());
        let names: Vec<_> = own.chain(self.state.commands.iter().cloned()).collect();
        let Some(found) = complete(line, at, &names, &self.cwd) else {
            return;
        };
        self.editor.complete(found.from, &found.text);
        self.candidates = found.candidates;
    }

    async fn enter(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.editor.keep(text.trim_end());
        match read_entered(text, &self.state.commands) {
            Entered::Command(command, arguments) => self.on_command(command, arguments).await,
            Entered::Unknown(name) => self.note(&format!(
                "no command /{name}; /help lists them, a space before the slash makes it text"
            )),
            Entered::Prompt(text) => self.enter_prompt(text, None).await,
        }
    }

    /// Sends a prompt. With the priority `Later` it waits until the agent is idle.
    pub(super) async fn enter_prompt(&mut self, text: &str, priority: Option<Priority>) {
        self.chat.update_capabilities().await;
        let takes_images = self.chat.supported.has(Capability::Images);
        let (mut prompt, notes) = attachment::prompt(text, &self.cwd, takes_images);
        for note in notes {
            self.note(&note);
        }
        let id = SessionId::random().to_string();
        prompt.uuid = Some(id.clone());
        prompt.priority = priority;
        self.prompts.push((id.clone(), text.to_owned()));
        self.send(Outgoing::Prompt(id, prompt));
    }
}
