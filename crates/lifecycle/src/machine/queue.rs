//! The queue in the state machine: prompts that wait until the agent is idle.
//!
//! What is in the queue follows from the control stream alone, where the session has one: prompts, changes, and the
//! decisions that send one are lines of it, in one order. Every host and a restarted driver have the same queue.

use bowline_jsonl::Prompt;
use bowline_reducer::HostEvent;

use super::policy::DecisionPath;
use super::{Machine, Output, ReceiptState};
use crate::control::{ControlEntry, ControlLine};
use crate::error::DialogueError;
use crate::intent::Intent;
use crate::queue::{Queue, QueueChange, QueueEdit};

/// The queue of a session.
#[derive(Debug, Default)]
pub(super) struct QueueState {
    pub(super) prompts: Queue,
    /// Whether the decision to send one is on its way through the control stream.
    is_releasing: bool,
}

impl Machine {
    pub(super) fn enqueue(&mut self, prompt: Prompt) {
        self.queue.prompts.push(prompt);
        self.queue_changed();
    }

    /// Changes a prompt that waits.
    pub(super) fn edit_queue(&mut self, edit: &QueueEdit) -> Result<(), DialogueError> {
        if let QueueChange::Replace(parts) = &edit.change {
            self.protocol.check_prompt(&Prompt {
                parts: parts.clone(),
                ..Prompt::default()
            })?;
        }
        let applied = self.queue.prompts.apply(edit);
        applied.map_err(|error| self.why_not_queued(error))?;
        if edit.change == QueueChange::Cancel {
            let update = self.receipts.advance(&edit.uuid, ReceiptState::Cancelled);
            self.receipt_updates(update);
        }
        self.queue_changed();
        Ok(())
    }

    /// Tells a prompt that was sent from one that never was in the queue.
    fn why_not_queued(&self, error: DialogueError) -> DialogueError {
        match error {
            DialogueError::NotQueued { uuid, .. } => DialogueError::NotQueued {
                is_sent: self.receipts.contains(&uuid),
                uuid,
            },
            other => other,
        }
    }

    /// Decides to send the next prompt, if the agent is idle.
    pub(super) fn release_next(&mut self) {
        let Some(uuid) = self.queue.prompts.next_uuid() else {
            return;
        };
        let is_over = self.ended || self.end_stage.is_some_and(super::EndStage::refuses_prompts);
        let is_waiting = self.prompts.len() > 0
            || self.queue.is_releasing
            || self.prompts.is_paused
            || self.is_holding()
            || self.has_unanswered();
        if is_over || is_waiting || self.follower.is_some() || self.is_replaying() {
            return;
        }
        if !self.protocol.accepts_prompt(&self.transcript) {
            return;
        }
        let uuid = uuid.to_owned();
        match self.policy_path() {
            DecisionPath::Direct => self.release(&uuid),
            DecisionPath::Control => {
                self.queue.is_releasing = true;
                self.outputs.push_back(Output::Decision(ControlLine {
                    id: format!("release:{uuid}"),
                    client: None,
                    entry: ControlEntry::Intent(Intent::Release { uuid }),
                }));
            }
        }
    }

    /// Returns whether a turn is open, or a prompt that was sent has no answer.
    pub(super) fn has_unanswered(&self) -> bool {
        let unsent = self.prompts.len() + self.queue.prompts.len();
        self.transcript.has_open_turn() || self.receipts.open() > unsent
    }

    /// Sends a prompt of the queue. One that was cancelled meanwhile is not there.
    pub(super) fn release(&mut self, uuid: &str) {
        self.queue.is_releasing = false;
        let Some(mut prompt) = self.queue.prompts.take(uuid) else {
            return;
        };
        self.queue_changed();
        if self.follower.is_some() {
            return;
        }
        // It has waited here for the others.
        prompt.priority = None;
        self.prompts.prompts.push_back(prompt);
        self.send_queued();
    }

    /// Drops the prompts that wait, here or for a pause. Returns their uuids.
    pub(super) fn drop_waiting(&mut self) -> Vec<String> {
        let mut updates = self.prompts.cancel(&mut self.receipts);
        if self.queue.prompts.len() > 0 {
            let dropped: Vec<_> = self.queue.prompts.drain().collect();
            let dropped = dropped.into_iter().filter_map(|it| it.uuid);
            updates.extend(
                dropped.filter_map(|it| self.receipts.advance(&it, ReceiptState::Cancelled)),
            );
            self.queue_changed();
        }
        let uuids = updates.iter().map(|(uuid, _)| uuid.clone()).collect();
        self.receipt_updates(updates);
        uuids
    }

    /// Closes the prompts that were not sent, at the end of the session. The transcript keeps listing them.
    pub(super) fn close_queue(&mut self) {
        let unsent: Vec<_> = self.queue.prompts.drain().collect();
        let unsent = unsent.into_iter().filter_map(|it| it.uuid);
        let updates: Vec<_> = unsent
            .filter_map(|it| self.receipts.advance(&it, ReceiptState::Cancelled))
            .collect();
        self.receipt_updates(updates);
    }

    /// Follows what another host wants of the queue, as the driver of the session does.
    pub(super) fn follow_queue(&mut self, intent: &Intent) {
        match intent {
            // The driver refuses what does not apply, for the same reasons.
            Intent::EditQueue(edit) => drop(self.edit_queue(edit)),
            Intent::Release { uuid } => self.release(uuid),
            Intent::Interrupt {
                cancel_queued: true,
                ..
            } => drop(self.drop_waiting()),
            _ => {}
        }
    }

    /// Removes a prompt that the driver of the session refused.
    pub(super) fn queue_refused(&mut self, uuid: &str) {
        if self.queue.prompts.take(uuid).is_some() {
            self.queue_changed();
        }
    }

    fn queue_changed(&mut self) {
        let waiting = self.queue.prompts.listed();
        self.host(HostEvent::QueueChanged { waiting: &waiting });
    }
}
