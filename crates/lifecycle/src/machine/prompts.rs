//! Prompts: accepted, queued during a pause, and written one whole line at a time.

use bowline_jsonl::{Priority, Prompt};
use bowline_reducer::HostEvent;

use super::own_lines::LineEvent;
use super::{EndStage, LinePurpose, Machine, ReceiptState, Reply, Ticket};
use crate::error::DialogueError;
use crate::intent::Intent;
use crate::queue::text_of;
use crate::watchdog::ActivitySource;

impl Machine {
    pub(super) fn send(&mut self, prompt: Prompt) -> Result<(), DialogueError> {
        self.accept(&prompt)?;
        if prompt.priority == Some(Priority::Later) && self.follower.is_none() {
            self.enqueue(prompt);
        } else {
            self.prompts.prompts.push_back(prompt);
            self.send_queued();
        }
        Ok(())
    }

    /// Sends a prompt before those that wait.
    pub(super) fn send_first(&mut self, prompt: Prompt) -> Result<(), DialogueError> {
        self.accept(&prompt)?;
        self.prompts.prompts.push_front(prompt);
        Ok(())
    }

    fn accept(&mut self, prompt: &Prompt) -> Result<(), DialogueError> {
        if self.end_stage.is_some_and(EndStage::refuses_prompts) {
            return Err(DialogueError::Ended);
        }
        if prompt.parts.is_empty() {
            return Err(DialogueError::EmptyPrompt);
        }
        self.protocol.check_prompt(prompt)?;
        let uuid = prompt.uuid.clone().unwrap_or_default();
        let follower = self.follower.as_ref();
        if self.receipts.contains(&uuid) || follower.is_some_and(|it| it.knows_prompt(&uuid)) {
            return Err(DialogueError::DuplicateUuid { uuid });
        }
        self.receipts.accept(&uuid);
        self.receipt_updates([(uuid, ReceiptState::Accepted)]);
        Ok(())
    }

    fn write_prompt(&mut self, prompt: &Prompt) {
        if self.follower.is_some() {
            return self.submit(prompt.uuid.clone(), Intent::Prompt(prompt.clone()), None);
        }
        if !self.protocol.folds_input() {
            let text = text_of(&prompt.parts);
            let purpose = LinePurpose::Prompt(prompt.uuid.clone().unwrap_or_default());
            self.effects.expect(purpose, LineEvent::Prompt { text });
        }
        self.watchdog.activity(ActivitySource::Host, self.now);
        self.speak(|protocol, link| protocol.prompt(prompt, link));
    }

    /// Queues prompts from now on. Prompts that were written before stay with the agent.
    pub(super) fn pause(&mut self, ticket: Ticket) {
        self.prompts.is_paused = true;
        self.prompts.pausing.push(ticket);
        self.settle_pause();
    }

    /// Completes pauses once the agent has nothing left to answer.
    pub(super) fn settle_pause(&mut self) {
        if self.ended || !self.has_unanswered() {
            for ticket in std::mem::take(&mut self.prompts.pausing) {
                let reply = if self.ended {
                    Err(DialogueError::Ended)
                } else {
                    Ok(Reply::Done)
                };
                self.reply(ticket, reply);
            }
        }
    }

    pub(super) fn unpause(&mut self) {
        self.prompts.is_paused = false;
        self.send_queued();
    }

    /// Writes the waiting prompts, as far as a pause and the agent permit.
    pub(super) fn send_queued(&mut self) {
        while !self.ended
            && !self.prompts.is_paused
            && !self.is_holding()
            && (self.follower.is_some() || self.protocol.accepts_prompt(&self.transcript))
            && let Some(prompt) = self.prompts.prompts.pop_front()
        {
            self.write_prompt(&prompt);
        }
    }

    /// Handles a failed write of a prompt. If the prompt did arrive, the agent's own lines open its
    /// turn again.
    pub(super) fn prompt_undelivered(&mut self, uuid: &str) {
        self.protocol.prompt_lost(uuid);
        if let Some(update) = self.receipts.advance(uuid, ReceiptState::Unknown) {
            self.host(HostEvent::PromptDropped { uuid });
            self.receipt_updates([update]);
        }
    }

    pub(super) fn prompt_echoed(&mut self, uuid: &str) {
        let update = self.receipts.echo(uuid);
        if matches!(&update, Some((_, ReceiptState::Duplicate))) {
            self.host(HostEvent::PromptDropped { uuid });
        }
        self.receipt_updates(update);
    }
}
