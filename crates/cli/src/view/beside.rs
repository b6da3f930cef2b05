//! What stands beside the conversation: permission requests and background tasks.

use bowline_reducer::{Changes, Permission, PermissionId, PermissionState, Task, TaskState};

use crate::view::clean::one_line;
use crate::view::page::Group;
use crate::view::renderer::Renderer;
use crate::view::style::Paint;
use crate::view::summary;

impl Renderer {
    pub(super) fn permission(
        &mut self,
        changes: &Changes<'_>,
        id: PermissionId,
        permission: Permission<'_>,
    ) {
        let state = permission.state();
        let before = self.permissions.insert(id, state);
        if before == Some(state) {
            return;
        }
        let call = permission
            .tool_use_id()
            .and_then(|id| changes.transcript().tool_call(id));
        let depth = call.map_or(0, |call| self.enter(call.thread()));
        let tool = one_line(permission.tool_name(), 60);
        let (paint, word) = outcome(state);
        let mut line = format!("{tool} {word}");
        let follows = self.last_call.is_some() && self.last_call == call.map(|it| it.call_id());
        if !follows && let Some(input) = permission.input() {
            let room = self
                .page
                .room(depth)
                .saturating_sub(line.chars().count() + 5);
            let cwd = changes.transcript().session().cwd();
            let summary = summary(&input, cwd, room);
            if !summary.is_empty() {
                line.push_str(&format!(": {summary}"));
            }
        }
        self.page.group(depth, Group::Tool);
        self.page.line(depth, &[(paint, "? "), (paint, &line)]);
        self.last_call = call.map(|it| it.call_id());
    }

    pub(super) fn task(&mut self, changes: &Changes<'_>, id: &str, task: Task<'_>) {
        if !task.is_backgrounded() {
            return;
        }
        let before = self.tasks.insert(id.to_owned(), task.state());
        let is_open = task.state().is_open();
        let ends = !is_open && before.is_none_or(TaskState::is_open);
        let what = one_line(&task.description().to_cow(), 60);
        if before.is_none() && is_open {
            return self.task_line(Paint::Dim, "◌ ", &format!("in the background: {what}"));
        }
        if !ends {
            return;
        }
        let call = task
            .tool_use_id()
            .and_then(|id| changes.transcript().tool_call(id));
        self.last_thread = call.map_or(self.last_thread, |call| Some(call.thread().id()));
        let (paint, mark, word) = end(task.state());
        let mut line = format!("in the background: {what}, {word}");
        let summary = one_line(&task.summary().to_cow(), 60);
        if !summary.is_empty() && summary != what {
            line.push_str(&format!(": {summary}"));
        }
        self.task_line(paint, mark, &line);
    }

    fn task_line(&mut self, paint: Paint, mark: &str, text: &str) {
        self.page.group(0, Group::Tool);
        self.page.line(0, &[(paint, mark), (paint, text)]);
        self.last_call = None;
    }
}

const fn outcome(state: PermissionState) -> (Paint, &'static str) {
    match state {
        PermissionState::Open => (Paint::Ask, "asks for permission"),
        PermissionState::Allowed => (Paint::Good, "was allowed"),
        PermissionState::Denied => (Paint::Bad, "was denied"),
        PermissionState::Answered => (Paint::Dim, "was answered"),
        PermissionState::Withdrawn => {
            (Paint::Dim, "asks no more: the agent took the question back")
        }
        PermissionState::Expired | PermissionState::Orphaned => (Paint::Dim, "got no answer"),
    }
}

const fn end(state: TaskState) -> (Paint, &'static str, &'static str) {
    match state {
        TaskState::Failed => (Paint::Bad, "✗ ", "failed"),
        TaskState::Killed => (Paint::Ask, "⊘ ", "stopped"),
        TaskState::Lost => (Paint::Ask, "? ", "its end was not told"),
        _ => (Paint::Good, "✓ ", "done"),
    }
}
