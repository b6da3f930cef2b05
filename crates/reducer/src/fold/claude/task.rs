//! Background tasks (`crates/jsonl/PROTOCOL.md`, Tasks).

use std::collections::BTreeSet;

use bowline_jsonl::{
    BackgroundTasksChanged, RawJson, Str, TaskNotification, TaskProgress, TaskStarted, TaskUpdated,
};

use crate::arena::ShortText;
use crate::index::{IndexKey, IndexKind};
use crate::record::{TaskId, TaskRecord};
use crate::state::TaskState;
use crate::transcript::Transcript;

impl Transcript {
    pub(crate) fn task_started(&mut self, line: &TaskStarted<'_>) {
        let Some(id) = self.task_of(line.task_id, line.run_id) else {
            return;
        };
        self.describe(id, line.description, line.task_type, line.tool_use_id);
        if line.is_backgrounded == Some(true) {
            self.set_backgrounded(id, true);
        }
        let call = line.tool_use_id.filter(|id| !id.is_empty());
        if let Some(call) = call.filter(|_| is_agent(line)) {
            // Older agents print the call of a nested agent after the start of its task.
            let thread = self.thread_in(call);
            self.note_agent(thread, line.task_id, line.subagent_type);
        }
    }

    pub(crate) fn task_progress(&mut self, line: &TaskProgress<'_>) {
        let Some(id) = self.task_of(line.task_id, line.run_id) else {
            return;
        };
        self.describe(id, None, None, line.tool_use_id);
        if let Some(activity) = line.description {
            self.tasks[id].activity = self.arena.store_of(activity);
        }
        self.summarize(id, line.summary);
    }

    pub(crate) fn task_updated(&mut self, line: &TaskUpdated<'_>) {
        let Some(id) = self.task_of(line.task_id, line.run_id) else {
            return;
        };
        if let Some(description) = line.patch.description {
            self.tasks[id].description = self.arena.store_of(description);
            self.touch_task(id);
            self.touch_status();
        }
        if let Some(is_backgrounded) = line.patch.is_backgrounded {
            self.set_backgrounded(id, is_backgrounded);
        }
        self.summarize(id, line.patch.error);
        self.move_task(id, line.patch.status);
    }

    pub(crate) fn task_notification(&mut self, line: &TaskNotification<'_>) {
        let Some(id) = self.task_of(line.task_id, line.run_id) else {
            return;
        };
        self.describe(id, None, None, line.tool_use_id);
        self.summarize(id, line.summary);
        self.move_task(id, line.status);
    }

    /// Replaces the list of background tasks; a task that left it no longer runs.
    pub(crate) fn background_tasks(&mut self, line: &BackgroundTasksChanged<'_>) {
        let mut listed = BTreeSet::new();
        for task in line.tasks.into_iter().flat_map(RawJson::elements) {
            let member = |key| task.get(key).and_then(RawJson::as_str);
            let Some(id) = self.task_of(member("task_id"), member("run_id")) else {
                continue;
            };
            self.set_backgrounded(id, true);
            if self.tasks[id].description.is_empty() {
                self.describe(id, member("description"), member("task_type"), None);
            }
            listed.insert(id);
        }
        let gone = self.evidence.background.difference(&listed).copied();
        for id in gone.collect::<Vec<_>>() {
            self.set_task(id, TaskState::Lost);
        }
    }

    fn set_backgrounded(&mut self, id: TaskId, is_backgrounded: bool) {
        self.tasks[id].is_backgrounded = is_backgrounded;
        self.note_task(id);
    }

    /// Adds an open task to those that run, or removes a closed one.
    fn note_task(&mut self, id: TaskId) {
        let task = &self.tasks[id];
        let sets = [
            (&mut self.evidence.tasks, true),
            (&mut self.evidence.background, task.is_backgrounded),
        ];
        for (set, is_member) in sets {
            if is_member && task.state.is_open() {
                set.insert(id);
            } else {
                set.remove(&id);
            }
        }
    }

    /// Closes the foreground tasks of a call that has its result.
    pub(crate) fn close_tasks_of(&mut self, tool_use_id: &str, is_error: bool) {
        let first = self.first_task_of(tool_use_id);
        let next = |id: &TaskId| self.tasks[id].next_of_call;
        let its = std::iter::successors(first, next).filter(|id| {
            let task = &self.tasks[id];
            task.state.is_open() && !task.is_backgrounded
        });
        let its: Vec<_> = its.collect();
        let state = if is_error {
            TaskState::Failed
        } else {
            TaskState::Completed
        };
        for id in its {
            self.set_task(id, state);
        }
    }

    /// Finds or adds the task of a line; `None` for a line of an earlier run.
    fn task_of(&mut self, id: Option<Str<'_>>, run: Option<Str<'_>>) -> Option<TaskId> {
        let name = id.filter(|id| !id.is_empty())?.decode();
        let run = run.unwrap_or_default().decode();
        let key = IndexKey::new(IndexKind::Task, 0, &name);
        let Some(id) = self.find_task_by_key(key, &name) else {
            return Some(self.add_task(key, &name, &run));
        };
        self.depend_on_task(id);
        let known = self.arena.str(self.tasks[id].run);
        // Run ids are ordered as strings (`crates/jsonl/PROTOCOL.md`, Tasks).
        if !run.is_empty() && *run < *known {
            return None;
        }
        if !run.is_empty() && *run > *known {
            let is_first = known.is_empty();
            self.tasks[id].run = self.arena.store_short(&run);
            if !is_first {
                self.reopen(id);
            }
        }
        Some(id)
    }

    fn find_task_by_key(&self, key: IndexKey, name: &str) -> Option<TaskId> {
        let is_match = |id: u32| {
            let task = self.tasks.get(id as usize);
            task.is_some_and(|task| self.arena.str(task.id) == name)
        };
        self.index.find(key, is_match).map(TaskId::new)
    }

    /// Returns the first task of a call.
    fn first_task_of(&self, tool_use_id: &str) -> Option<TaskId> {
        let is_match = |id: u32| {
            let call = self.tasks.get(id as usize).and_then(|it| it.tool_use_id);
            call.is_some_and(|call| self.arena.str(call) == tool_use_id)
        };
        let key = IndexKey::new(IndexKind::TaskOfCall, 0, tool_use_id);
        self.index.find(key, is_match).map(TaskId::new)
    }

    fn add_task(&mut self, key: IndexKey, name: &str, run: &str) -> TaskId {
        let id = TaskId::new(self.tasks.len() as u32);
        let name = self.arena.store_short(name);
        let run = self.arena.store_short(run);
        self.tasks.push(TaskRecord {
            id: name,
            run,
            ..TaskRecord::default()
        });
        self.index.insert(key, id.number());
        self.note_task(id);
        self.touch_task(id);
        self.touch_status();
        id
    }

    fn describe(
        &mut self,
        id: TaskId,
        description: Option<Str<'_>>,
        kind: Option<Str<'_>>,
        tool_use_id: Option<Str<'_>>,
    ) {
        let task = &mut self.tasks[id];
        if let Some(description) = description {
            task.description = self.arena.store_of(description);
        }
        if let Some(kind) = kind {
            task.kind = self.names.intern(&kind.decode());
        }
        if let Some(tool_use_id) = tool_use_id.filter(|_| task.tool_use_id.is_none()) {
            let call = self.arena.store_short_of(tool_use_id);
            task.tool_use_id = Some(call);
            self.link_to_call(id, call);
        }
        self.touch_task(id);
        self.touch_status();
    }

    /// Inserts a task after the first one of its call.
    pub(crate) fn link_to_call(&mut self, id: TaskId, call: ShortText) {
        let name = self.arena.str(call);
        let Some(first) = self.first_task_of(name) else {
            let key = IndexKey::new(IndexKind::TaskOfCall, 0, name);
            return self.index.insert(key, id.number());
        };
        let second = self.tasks[first].next_of_call.replace(id);
        self.tasks[id].next_of_call = second;
    }

    /// Removes a task from the list of its call.
    pub(crate) fn unlink_from_call(&mut self, id: TaskId) {
        let task = &self.tasks[id];
        let (next, Some(call)) = (task.next_of_call, task.tool_use_id) else {
            return;
        };
        let name = self.arena.str(call);
        let Some(first) = self.first_task_of(name) else {
            return;
        };
        if first == id {
            let key = IndexKey::new(IndexKind::TaskOfCall, 0, name);
            self.index.remove(key, id.number());
            if let Some(next) = next {
                self.index.insert(key, next.number());
            }
            return;
        }
        let after = |id: &TaskId| self.tasks[id].next_of_call;
        let mut its = std::iter::successors(Some(first), after);
        if let Some(before) = its.find(|it| after(it) == Some(id)) {
            self.tasks[before].next_of_call = next;
        }
    }

    fn summarize(&mut self, id: TaskId, summary: Option<Str<'_>>) {
        if let Some(summary) = summary.filter(|summary| !summary.is_empty()) {
            self.tasks[id].summary = self.arena.store_of(summary);
        }
    }

    fn move_task(&mut self, id: TaskId, word: Option<Str<'_>>) {
        if let Some(state) = word.and_then(|word| TaskState::of(&word.decode())) {
            self.set_task(id, state);
        }
    }

    /// Sets the state. The first end wins, except that a reported end replaces `Lost`.
    pub(crate) fn set_task(&mut self, id: TaskId, state: TaskState) {
        let old = self.tasks[id].state;
        if old == state || !old.is_open() && old != TaskState::Lost {
            return;
        }
        self.tasks[id].state = state;
        self.note_task(id);
        self.touch_task(id);
        self.touch_status();
    }

    /// Reopens a task for a new run.
    fn reopen(&mut self, id: TaskId) {
        if !self.tasks[id].state.is_open() {
            self.tasks[id].state = TaskState::Running;
            self.note_task(id);
            self.touch_task(id);
            self.touch_status();
        }
    }
}

fn is_agent(line: &TaskStarted<'_>) -> bool {
    line.subagent_type.is_some() || line.task_type.is_some_and(|kind| kind == "local_agent")
}
