//! Recognises an event that is delivered again.

use std::collections::{HashMap, VecDeque};

use tokio::sync::watch;

use crate::{HookEvent, HookPayload, HookReply};

/// Number of remembered deliveries: far more than are in flight at once.
const CAPACITY: usize = 4096;

/// Identifies an event over its deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DeliveryKey {
    /// The id that the helper gives an event for all of its attempts.
    Delivery(String),
    /// The event's own id.
    Event {
        interaction: String,
        kind: String,
        id: String,
    },
}

impl DeliveryKey {
    /// Returns the key, or `None` for an event without an id: equal ones are distinct events.
    pub(crate) fn of(event: &HookEvent, delivery: Option<String>) -> Option<Self> {
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

/// The reply to the first delivery, once it is known.
pub(crate) type FirstReply = watch::Receiver<Option<HookReply>>;

/// The latest deliveries and their replies.
#[derive(Debug, Default)]
pub(crate) struct DeliveryCache {
    replies: HashMap<DeliveryKey, FirstReply>,
    /// Oldest first.
    order: VecDeque<DeliveryKey>,
}

impl DeliveryCache {
    /// Returns the reply of an earlier delivery. One that was cancelled before its reply does not
    /// count: the next delivery is then the first.
    pub(crate) fn get(&self, key: &DeliveryKey) -> Option<FirstReply> {
        let reply = self.replies.get(key)?;
        (reply.borrow().is_some() || reply.has_changed().is_ok()).then(|| reply.clone())
    }

    pub(crate) fn insert(&mut self, key: DeliveryKey, reply: FirstReply) {
        if self.replies.insert(key.clone(), reply).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > CAPACITY
            && let Some(oldest) = self.order.pop_front()
        {
            self.replies.remove(&oldest);
        }
    }

    pub(crate) fn remove(&mut self, key: &DeliveryKey) {
        self.replies.remove(key);
        self.order.retain(|it| it != key);
    }
}
