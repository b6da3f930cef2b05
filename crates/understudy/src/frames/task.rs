//! `system` lines, those of tasks above all.

use serde_json::{Map, Value, json};

use super::{Card, fields};
use crate::clock;
use crate::session::{Session, new_uuid};

/// A `system` line: `rest` between the subtype and the identity.
pub(crate) fn system(session: &Session, subtype: &str, rest: Value) -> Value {
    let mut map = Map::new();
    map.insert("type".to_owned(), "system".into());
    map.insert("subtype".to_owned(), subtype.into());
    map.append(&mut fields(rest));
    map.entry("uuid").or_insert_with(|| new_uuid().into());
    map.entry("session_id")
        .or_insert_with(|| session.id.clone().into());
    map.into()
}

pub(crate) fn started(session: &Session, card: &Card) -> Value {
    let mut rest = identity(card);
    rest.insert("description".to_owned(), card.description.clone().into());
    if !card.is_shell() {
        rest.insert("subagent_type".to_owned(), card.kind.clone().into());
    }
    rest.insert("is_backgrounded".to_owned(), card.background.into());
    if !card.is_shell() {
        rest.insert("spawn_depth".to_owned(), card.depth.into());
    }
    if let Some(parent) = &card.parent_task {
        rest.insert("parent_task_id".to_owned(), parent.clone().into());
    }
    rest.insert("task_type".to_owned(), task_type(card).into());
    if !card.is_shell() {
        rest.insert("prompt".to_owned(), card.prompt.clone().into());
    }
    system(session, "task_started", rest.into())
}

pub(crate) fn progress(
    session: &Session,
    card: &Card,
    doing: &str,
    tool: &str,
    usage: Value,
) -> Value {
    let mut rest = identity(card);
    rest.insert("description".to_owned(), doing.into());
    rest.insert("subagent_type".to_owned(), card.kind.clone().into());
    rest.insert("usage".to_owned(), usage);
    rest.insert("last_tool_name".to_owned(), tool.into());
    system(session, "task_progress", rest.into())
}

pub(crate) fn updated(session: &Session, card: &Card, status: &str, error: Option<&str>) -> Value {
    let mut patch = json!({"status": status, "end_time": clock::now_ms()});
    if let Some(error) = error {
        patch["error"] = error.into();
    }
    let rest = json!({"task_id": card.task_id, "run_id": card.run_id, "patch": patch});
    system(session, "task_updated", rest)
}

/// The end of a task. `usage` is null for shell tasks and stopped or failed ones.
pub(crate) fn notification(
    session: &Session,
    card: &Card,
    status: &str,
    summary: &str,
    usage: Value,
) -> Value {
    let mut rest = identity(card);
    let silent = card.is_shell() && !card.background;
    let file = if silent {
        String::new()
    } else {
        session.output_file(&card.task_id)
    };
    rest.insert("status".to_owned(), status.into());
    rest.insert("output_file".to_owned(), file.into());
    rest.insert("summary".to_owned(), summary.into());
    if card.background && !usage.is_null() {
        rest.insert("summary_is_report".to_owned(), true.into());
    }
    if !usage.is_null() {
        rest.insert("usage".to_owned(), usage);
    }
    system(session, "task_notification", rest.into())
}

/// The whole list of background tasks, which replaces the one before.
pub(crate) fn background_tasks<'a>(
    session: &Session,
    cards: impl Iterator<Item = &'a Card>,
) -> Value {
    let tasks: Vec<Value> = cards.map(listed).collect();
    system(session, "background_tasks_changed", json!({"tasks": tasks}))
}

fn listed(card: &Card) -> Value {
    let mut entry = fields(json!({
        "task_id": card.task_id, "run_id": card.run_id, "task_type": task_type(card),
    }));
    if !card.is_shell() {
        entry.insert("subagent_type".to_owned(), card.kind.clone().into());
    }
    entry.insert("description".to_owned(), card.description.clone().into());
    entry.into()
}

fn identity(card: &Card) -> Map<String, Value> {
    fields(json!({
        "task_id": card.task_id, "run_id": card.run_id, "tool_use_id": card.tool_use_id,
    }))
}

fn task_type(card: &Card) -> &'static str {
    if card.is_shell() {
        "local_bash"
    } else {
        "local_agent"
    }
}
