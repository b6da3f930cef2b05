//! What is written to the child, one action at a time, and what became of it.

use std::time::Duration;

use bytes::Bytes;

use super::{Input, InputAction, InputEnd, InputEvent, QueuedInput, refusal_of};
use crate::wire::InputRefusal;

impl Input {
    /// Returns the next action, if none is pending.
    pub(in crate::session_machine) fn next_action(&mut self, now: Duration) -> Option<InputAction> {
        if self.in_flight.is_some() || self.paused_until.is_some_and(|until| now < until) {
            return None;
        }
        self.paused_until = None;
        let order = self.queue.pop_front()?;
        let work = match &order {
            QueuedInput::Typed(bytes)
            | QueuedInput::Prompt { bytes, .. }
            | QueuedInput::Reply(bytes) => InputAction::Write(bytes.clone()),
            QueuedInput::End => InputAction::Close,
            QueuedInput::Pause(pause) => {
                self.paused_until = Some(now + *pause);
                return None;
            }
        };
        self.in_flight = Some(order);
        Some(work)
    }

    /// Returns the bytes of clients that are being written.
    pub(in crate::session_machine) fn in_flight(&self) -> Option<&Bytes> {
        match self.in_flight.as_ref()? {
            QueuedInput::Typed(bytes) | QueuedInput::Prompt { bytes, .. } => Some(bytes),
            QueuedInput::Reply(_) | QueuedInput::Pause(_) | QueuedInput::End => None,
        }
    }

    /// Completes the pending action.
    pub(in crate::session_machine) fn complete(
        &mut self,
        outcome: Result<(), InputRefusal>,
    ) -> Vec<InputEvent> {
        let Some(order) = self.in_flight.take() else {
            return Vec::new();
        };
        let refused = outcome.err();
        let mut events = Vec::from_iter(self.settled(order, refused.clone()));
        if refused == Some(InputRefusal::Ended) {
            events.extend(self.refuse_all());
        }
        events
    }

    fn settled(&mut self, order: QueuedInput, refused: Option<InputRefusal>) -> Option<InputEvent> {
        match order {
            QueuedInput::Typed(bytes) => {
                let from = self.taken;
                self.taken += bytes.len() as u64;
                self.typed -= bytes.len();
                let to = self.taken;
                Some(
                    refused.map_or(InputEvent::Accepted, |reason| InputEvent::Refused {
                        from,
                        to,
                        reason,
                    }),
                )
            }
            QueuedInput::Prompt { id, bytes, then } => {
                self.prompted -= bytes.len();
                if refused.is_some() {
                    self.cancel_enter(&id);
                }
                let status = refused.map_or(then, |reason| refusal_of(&reason));
                if let Some(known) = self.known.get_mut(&id) {
                    known.status = status.clone();
                }
                Some(InputEvent::Prompt(id, status))
            }
            QueuedInput::End => {
                let at = self.taken;
                self.end = if refused.is_none() {
                    InputEnd::Done
                } else {
                    InputEnd::Open
                };
                Some(
                    refused.map_or(InputEvent::Accepted, |reason| InputEvent::Refused {
                        from: at,
                        to: at,
                        reason,
                    }),
                )
            }
            QueuedInput::Reply(_) | QueuedInput::Pause(_) => None,
        }
    }

    /// Cancels the key that submits a refused paste: it would submit input of another origin.
    fn cancel_enter(&mut self, paste: &str) {
        let is_next = matches!(self.queue.get(1),
            Some(QueuedInput::Prompt { id, .. }) if id == paste);
        if is_next && let Some(QueuedInput::Pause(_)) = self.queue.front() {
            self.queue.pop_front();
            if let Some(QueuedInput::Prompt { bytes, .. }) = self.queue.pop_front() {
                self.prompted -= bytes.len();
            }
        }
    }

    /// Refuses all queued input after the child has ended.
    pub(in crate::session_machine) fn refuse_all(&mut self) -> Vec<InputEvent> {
        self.closed_reason = Some(InputRefusal::Ended);
        self.paused_until = None;
        for (id, bytes) in std::mem::take(&mut self.waiting) {
            self.queue_line(id, bytes);
        }
        let orders = std::mem::take(&mut self.queue);
        let refuse = |order| self.settled(order, Some(InputRefusal::Ended));
        orders.into_iter().filter_map(refuse).collect()
    }
}
