//! Prompts: taken, kept back while the host wants a pause, and written one whole line at a time.

use std::collections::VecDeque;

use bowline_jsonl::{Prompt, PromptPart};
use bowline_reducer::HostEvent;

use super::receipts::{Receipts, Step};
use super::{Carried, Ending, Machine, ReceiptState, Reply, Ticket};
use crate::error::DialogueError;
use crate::watchdog::ActivitySource;

/// Prompts that are kept back.
#[derive(Debug, Default)]
pub(crate) struct Held {
    is_paused: bool,
    prompts: VecDeque<Prompt>,
    /// Who waits for the pause to begin.
    waiting: Vec<Ticket>,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.prompts.len()
    }

    /// Gives up what was kept back.
    pub(super) fn cancel(&mut self, receipts: &mut Receipts) -> Vec<Step> {
        let prompts = self.prompts.drain(..);
        prompts
            .filter_map(|prompt| receipts.advance(&prompt.uuid?, ReceiptState::Cancelled))
            .collect()
    }
}

impl Machine {
    pub(super) fn send(&mut self, prompt: Prompt) -> Result<(), DialogueError> {
        if matches!(self.ending, Some(Ending::Asked | Ending::Terminated)) {
            return Err(DialogueError::Ended);
        }
        if prompt.parts.is_empty() {
            return Err(DialogueError::EmptyPrompt);
        }
        let uuid = prompt.uuid.clone().unwrap_or_default();
        if self.receipts.contains(&uuid) {
            return Err(DialogueError::DuplicateUuid { uuid });
        }
        self.receipts.accept(&uuid);
        self.steps([(uuid, ReceiptState::Accepted)]);
        if self.held.is_paused {
            self.held.prompts.push_back(prompt);
        } else {
            self.put(&prompt);
        }
        Ok(())
    }

    fn put(&mut self, prompt: &Prompt) {
        let texts: Vec<_> = prompt.parts.iter().filter_map(text_of).collect();
        self.host(HostEvent::PromptSent {
            uuid: prompt.uuid.as_deref(),
            text: &texts.join("\n"),
        });
        self.guard.heard(ActivitySource::Host, self.now);
        let carried = prompt.uuid.clone().map_or(Carried::Other, Carried::Prompt);
        self.write(prompt.encode(), carried);
    }

    /// Keeps prompts back. Those that the agent has already are its own to take up.
    pub(super) fn pause(&mut self, ticket: Ticket) {
        self.held.is_paused = true;
        self.held.waiting.push(ticket);
        self.settle_pause();
    }

    /// The pause begins when the agent has nothing more to answer.
    pub(super) fn settle_pause(&mut self) {
        if self.held.waiting.is_empty() {
            return;
        }
        let is_idle = !self.transcript.has_open_turn() && self.receipts.open() <= self.held.len();
        if is_idle || self.ended {
            let reply = || {
                if self.ended {
                    Err(DialogueError::Ended)
                } else {
                    Ok(Reply::Done)
                }
            };
            let replies: Vec<_> = self.held.waiting.iter().map(|&it| (it, reply())).collect();
            self.held.waiting.clear();
            for (ticket, reply) in replies {
                self.reply(ticket, reply);
            }
        }
    }

    pub(super) fn unpause(&mut self) {
        self.held.is_paused = false;
        while let Some(prompt) = self.held.prompts.pop_front() {
            self.put(&prompt);
        }
    }
}

/// What a part of a prompt says in the transcript.
fn text_of(part: &PromptPart) -> Option<&str> {
    match part {
        PromptPart::Text(text) => Some(text),
        _ => None,
    }
}
