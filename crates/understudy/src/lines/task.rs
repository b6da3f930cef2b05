//! `system` lines, mainly those of tasks.

use serde_json::{Map, Value, json};

use super::{TaskInfo, fields};
use crate::clock;
use crate::session::{Session, new_uuid};

/// Returns a `system` line, with `rest` between the subtype and the ids.
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

pub(crate) fn started(session: &Session, task: &TaskInfo) -> Value {
    let mut rest = identity(task);
    rest.insert("description".to_owned(), task.description.clone().into());
    if !task.is_shell() {
        rest.insert("subagent_type".to_owned(), task.kind.clone().into());
    }
    rest.insert("is_backgrounded".to_owned(), task.background.into());
    if !task.is_shell() {
        rest.insert("spawn_depth".to_owned(), task.depth.into());
    }
    if let Some(parent) = &task.parent_task {
        rest.insert("parent_task_id".to_owned(), parent.clone().into());
    }
    rest.insert("task_type".to_owned(), task_type(task).into());
    if !task.is_shell() {
        rest.insert("prompt".to_owned(), task.prompt.clone().into());
    }
    system(session, "task_started", rest.into())
}

pub(crate) fn progress(
    session: &Session,
    task: &TaskInfo,
    doing: &str,
    tool: &str,
    usage: Value,
) -> Value {
    let mut rest = identity(task);
    rest.insert("description".to_owned(), doing.into());
    rest.insert("subagent_type".to_owned(), task.kind.clone().into());
    rest.insert("usage".to_owned(), usage);
    rest.insert("last_tool_name".to_owned(), tool.into());
    system(session, "task_progress", rest.into())
}

pub(crate) fn updated(
    session: &Session,
    task: &TaskInfo,
    status: &str,
    error: Option<&str>,
) -> Value {
    let mut patch = json!({"status": status, "end_time": clock::now_ms()});
    if let Some(error) = error {
        patch["error"] = error.into();
    }
    let rest = json!({"task_id": task.task_id, "run_id": task.run_id, "patch": patch});
    system(session, "task_updated", rest)
}

/// Returns the end of a task. `usage` is null for shell tasks and for stopped or failed ones.
pub(crate) fn notification(
    session: &Session,
    task: &TaskInfo,
    status: &str,
    summary: &str,
    usage: Value,
) -> Value {
    let mut rest = identity(task);
    let silent = task.is_shell() && !task.background;
    let file = if silent {
        String::new()
    } else {
        session.output_file(&task.task_id)
    };
    rest.insert("status".to_owned(), status.into());
    rest.insert("output_file".to_owned(), file.into());
    rest.insert("summary".to_owned(), summary.into());
    if task.background && !usage.is_null() {
        rest.insert("summary_is_report".to_owned(), true.into());
    }
    if !usage.is_null() {
        rest.insert("usage".to_owned(), usage);
    }
    system(session, "task_notification", rest.into())
}

/// Returns the list of background tasks, which replaces the previous one.
pub(crate) fn background_tasks<'a>(
    session: &Session,
    tasks: impl Iterator<Item = &'a TaskInfo>,
) -> Value {
    let tasks: Vec<Value> = tasks.map(listed).collect();
    system(session, "background_tasks_changed", json!({"tasks": tasks}))
}

fn listed(task: &TaskInfo) -> Value {
    let mut entry = fields(json!({
        "task_id": task.task_id, "run_id": task.run_id, "task_type": task_type(task),
    }));
    if !task.is_shell() {
        entry.insert("subagent_type".to_owned(), task.kind.clone().into());
    }
    entry.insert("description".to_owned(), task.description.clone().into());
    entry.into()
}

fn identity(task: &TaskInfo) -> Map<String, Value> {
    fields(json!({
        "task_id": task.task_id, "run_id": task.run_id, "tool_use_id": task.tool_use_id,
    }))
}

fn task_type(task: &TaskInfo) -> &'static str {
    if task.is_shell() {
        "local_bash"
    } else {
        "local_agent"
    }
}
