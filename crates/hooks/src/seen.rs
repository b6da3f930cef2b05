//! Deliveries that were seen before.

use std::collections::{HashMap, VecDeque};

use tokio::sync::watch;

use super::{HookEvent, HookPayload, HookReply};

/// Deliveries that are remembered: far more than can be on their way at a time.
const REMEMBERED: usize = 4096;

/// What makes a delivery the same as another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// The id that a helper gives to one event, however often it brings it.
    Delivery(String),
    /// The event's own id, where it has one.
    Event {
        interaction: String,
        kind: String,
        id: String,
    },
}

/// The answer that the first delivery gets, when it is known.
pub(super) type Answer = watch::Receiver<Option<HookReply>>;

/// The deliveries of late, oldest first.
#[derive(Debug, Default)]
pub(super) struct Seen {
    answers: HashMap<Key, Answer>,
    order: VecDeque<Key>,
}

impl Key {
    /// None for an event that may come twice and mean it.
    pub(super) fn of(event: &HookEvent, delivery: Option<String>) -> Option<Self> {
        if let Some(delivery) = delivery {
            return Some(Self::Delivery(delivery));
        }
        let id = match &event.payload {
            HookPayload::PreToolUse { tool_use_id, .. }
            | HookPayload::PostToolUse { tool_use_id, .. }
            | HookPayload::PostToolUseFailure { tool_use_id, .. }
            | HookPayload::PermissionDenied { tool_use_id, .. } => tool_use_id.clone(),
            HookPayload::MessageDisplay {
                message_id: Some(message),
                index: Some(index),
                ..
            } => format!("{message} {index}"),
            _ => String::new(),
        };
        (!id.is_empty()).then(|| Self::Event {
            interaction: event.interaction.to_string(),
            kind: event.kind.name().to_owned(),
            id,
        })
    }
}

impl Seen {
    pub(super) fn answer(&self, key: &Key) -> Option<Answer> {
        // A first delivery that was given up left no answer: the next one counts as the first.
        let answer = self.answers.get(key)?;
        (answer.borrow().is_some() || answer.has_changed().is_ok()).then(|| answer.clone())
    }

    pub(super) fn remember(&mut self, key: Key, answer: Answer) {
        if self.answers.insert(key.clone(), answer).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
    }

    /// A tool that was put off is asked about again under the same id.
    pub(super) fn forget(&mut self, key: &Key) {
        self.answers.remove(key);
        self.order.retain(|it| it != key);
    }
}
