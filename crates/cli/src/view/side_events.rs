//! Prints permission requests and background tasks.

use bowline_reducer::{Changes, Permission, PermissionId, PermissionState, Task, TaskState};

use super::layout::Section;
use super::state::RenderState;
use super::summary::summary;
use crate::permission::state_label;
use crate::style::Paint;
use crate::text::{one_line, text_width};

impl RenderState {
    pub(super) fn on_permission(
        &mut self,
        changes: &Changes<'_>,
        id: PermissionId,
        permission: Permission<'_>,
    ) {
        let state = permission.state();
        if self.permissions.get(&id) == Some(&state) {
            return;
        }
        let is_answered = matches!(state, PermissionState::Allowed | PermissionState::Denied);
        let is_named = permission.answered().is_some_and(|it| it.who.is_some());
        if self.awaits_names && is_answered && !is_named {
            self.unnamed.push(id);
            return;
        }
        self.print_permission(changes, id, permission);
    }

    /// Prints the answers whose name was awaited, before what follows them.
    pub(super) fn print_unnamed(&mut self, changes: &Changes<'_>) {
        for id in std::mem::take(&mut self.unnamed) {
            let mut permissions = changes.transcript().permissions();
            if let Some(permission) = permissions.find(|it| it.permission_id() == id) {
                self.print_permission(changes, id, permission);
            }
        }
    }

    fn print_permission(
        &mut self,
        changes: &Changes<'_>,
        id: PermissionId,
        permission: Permission<'_>,
    ) {
        self.unnamed.retain(|it| *it != id);
        let state = permission.state();
        if self.permissions.insert(id, state) == Some(state) {
            return;
        }
        let call = permission
            .tool_use_id()
            .and_then(|id| changes.transcript().tool_call(id));
        let depth = call.map_or(0, |call| self.enter(call.thread()));
        let tool = one_line(permission.tool_name(), 60);
        let (paint, label) = state_label(state);
        let mut line = format!("{tool} {label}");
        if let Some(who) = permission.answered().and_then(|it| it.who.as_deref()) {
            line.push_str(&format!(" by {}", one_line(who, 60)));
        }
        let call_id = call.map(|call| call.call_id());
        let follows_call = self.last_call.is_some() && self.last_call == call_id;
        if !follows_call && let Some(input) = permission.input() {
            let width = self.layout.width_at(depth);
            let width = width.saturating_sub(text_width(&line) + 5);
            let cwd = changes.transcript().session().cwd();
            let summary = summary(&input, cwd, width);
            if !summary.is_empty() {
                line.push_str(&format!(": {summary}"));
            }
        }
        self.layout.begin_section(depth, Section::Tool);
        self.layout.line(depth, &[(paint, "? "), (paint, &line)]);
        self.last_call = call_id;
    }

    pub(super) fn on_task(&mut self, changes: &Changes<'_>, id: &str, task: Task<'_>) {
        if !task.is_backgrounded() {
            return;
        }
        let before = self.tasks.insert(id.to_owned(), task.state());
        let is_open = task.state().is_open();
        let description = one_line(&task.description().to_cow(), 60);
        if before.is_none() && is_open {
            let line = format!("in the background: {description}");
            return self.task_line(Paint::Dim, "◌ ", &line);
        }
        if is_open || !before.is_none_or(TaskState::is_open) {
            return;
        }
        let call = task
            .tool_use_id()
            .and_then(|id| changes.transcript().tool_call(id));
        self.last_thread = call.map_or(self.last_thread, |call| Some(call.thread().id()));
        let (paint, mark, label) = end_label(task.state());
        let mut line = format!("in the background: {description}, {label}");
        let summary = one_line(&task.summary().to_cow(), 60);
        if !summary.is_empty() && summary != description {
            line.push_str(&format!(": {summary}"));
        }
        self.task_line(paint, mark, &line);
    }

    fn task_line(&mut self, paint: Paint, mark: &str, text: &str) {
        self.layout.begin_section(0, Section::Tool);
        self.layout.line(0, &[(paint, mark), (paint, text)]);
        self.last_call = None;
    }
}

const fn end_label(state: TaskState) -> (Paint, &'static str, &'static str) {
    match state {
        TaskState::Failed => (Paint::Bad, "✗ ", "failed"),
        TaskState::Killed => (Paint::Ask, "⊘ ", "stopped"),
        TaskState::Lost => (Paint::Ask, "? ", "end unknown"),
        _ => (Paint::Good, "✓ ", "done"),
    }
}
