//! `system` lines (`crates/jsonl/PROTOCOL.md`, System lines).

use bowline_jsonl::{Event, Status, System, SystemBody};

use crate::transcript::{LineContext, Transcript};

impl Transcript {
    pub(crate) fn system(&mut self, event: &Event<'_>, system: &System<'_>, context: LineContext) {
        match &system.body {
            SystemBody::Init(init) => self.init(event, init),
            SystemBody::Status(status) => self.status_line(status, context),
            SystemBody::TaskStarted(line) => self.task_started(line),
            SystemBody::TaskProgress(line) => self.task_progress(line),
            SystemBody::TaskUpdated(line) => self.task_updated(line),
            SystemBody::TaskNotification(line) => self.task_notification(line),
            SystemBody::BackgroundTasksChanged(line) => self.background_tasks(line),
            _ => self.system_notice(event, system, context),
        }
    }

    fn status_line(&mut self, status: &Status<'_>, context: LineContext) {
        self.set_permission_mode(status.permission_mode);
        if status.status.is_some() {
            self.open_turn();
        }
        if let Some(error) = status.compact_error {
            self.notice(
                "status",
                &format!("the history was not compacted: {error}"),
                context,
            );
        }
    }
}
