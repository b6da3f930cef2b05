//! Where a notification belongs, and the notifications that all others are made with.

use serde_json::{Value, json};

use super::items::user_message;
use super::{Codex, notification};
use crate::clock;
use crate::lines::AgentThread;
use crate::prompt::Prompt;
use crate::session::{Session, new_uuid};

/// A thread and its turn, which most notifications name.
pub(super) struct Place {
    pub(super) thread: String,
    pub(super) turn: String,
}

impl Codex {
    pub(super) fn main(&self, session: &Session) -> Place {
        Place {
            thread: session.id.clone(),
            turn: self
                .turn
                .as_ref()
                .map(|turn| turn.id.clone())
                .unwrap_or_default(),
        }
    }

    pub(super) fn place(&self, thread: &AgentThread, session: &Session) -> Place {
        match &thread.task {
            None => self.main(session),
            Some(task) => Place {
                thread: task.task_id.clone(),
                turn: self
                    .children
                    .get(&task.task_id)
                    .map(|turn| turn.id.clone())
                    .unwrap_or_default(),
            },
        }
    }

    pub(super) fn user(&mut self, place: &Place, prompt: &Prompt, out: &mut Vec<Value>) {
        let item = user_message(&new_uuid(), prompt);
        self.start(place, item.clone(), out);
        self.complete(place, item, out);
    }

    pub(super) fn start(&mut self, place: &Place, mut item: Value, out: &mut Vec<Value>) {
        let now = clock::now_ms();
        self.started.insert(item_key(place, &item), now);
        item["startedAtMs"] = now.into();
        item["completedAtMs"] = Value::Null;
        out.push(notification(
            "item/started",
            json!({
                "item": item, "threadId": place.thread, "turnId": place.turn, "startedAtMs": now,
            }),
        ));
    }

    pub(super) fn complete(&mut self, place: &Place, mut item: Value, out: &mut Vec<Value>) {
        let now = clock::now_ms();
        item["startedAtMs"] = self
            .started
            .remove(&item_key(place, &item))
            .unwrap_or(now)
            .into();
        item["completedAtMs"] = now.into();
        out.push(notification(
            "item/completed",
            json!({
                "item": item, "threadId": place.thread, "turnId": place.turn,
                "contentTokenCount": null, "completedAtMs": now,
            }),
        ));
        let child = self.children.get_mut(&place.thread);
        if let Some(turn) = child.or(self.turn.as_mut()) {
            turn.items.push(item);
        }
    }
}

/// Items are unique in their thread only.
pub(super) fn item_key(place: &Place, item: &Value) -> String {
    format!(
        "{}/{}",
        place.thread,
        item["id"].as_str().unwrap_or_default()
    )
}

pub(super) fn status(thread: &str, status: &Value) -> Value {
    notification(
        "thread/status/changed",
        json!({"threadId": thread, "status": status}),
    )
}

pub(super) fn active(flags: &[&str]) -> Value {
    json!({"type": "active", "activeFlags": flags})
}

pub(super) fn turn_error(text: &str, info: &str) -> Value {
    json!({"message": text, "codexErrorInfo": info, "additionalDetails": null, "misalignment": null})
}

/// Returns the last message of the agent, which is all that `turn/completed` repeats.
pub(super) fn last_message(items: &[Value]) -> &[Value] {
    match items
        .iter()
        .rposition(|item| item["type"] == "agentMessage")
    {
        Some(at) => &items[at..=at],
        None => &[],
    }
}
