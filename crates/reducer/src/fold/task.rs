//! Background work that the agent announces (protocol, section A.12).

use bowline_jsonl::{
    BackgroundTasksChanged, RawJson, Str, TaskNotification, TaskProgress, TaskStarted, TaskUpdated,
};

use crate::arena::Atom;
use crate::index::{Key, Kind};
use crate::log::Slot;
use crate::record::{TaskId, TaskRecord};
use crate::state::TaskState;
use crate::transcript::Transcript;

impl Transcript {
    pub(crate) fn task_started(&mut self, line: &TaskStarted<'_>) {
        let Some(id) = self.task_of(line.task_id, line.run_id) else {
            return;
        };
        self.describe(id, line.description, line.task_type, line.tool_use_id);
        self.tasks[id.at()].is_backgrounded |= line.is_backgrounded == Some(true);
        let Some(tool_use_id) = line.tool_use_id.filter(|_| is_agent(line)) else {
            return;
        };
        if let Some(call) = self.call_named(&tool_use_id.decode()) {
            self.reach_call(call);
            let thread = self.subagent(call);
            self.note_agent(thread, line.task_id, line.subagent_type);
        }
    }

    pub(crate) fn task_progress(&mut self, line: &TaskProgress<'_>) {
        let Some(id) = self.task_of(line.task_id, line.run_id) else {
            return;
        };
        self.describe(id, None, None, line.tool_use_id);
        if let Some(activity) = line.description {
            self.tasks[id.at()].activity = self.arena.store_of(activity);
        }
        self.summarize(id, line.summary);
    }

    pub(crate) fn task_updated(&mut self, line: &TaskUpdated<'_>) {
        let Some(id) = self.task_of(line.task_id, line.run_id) else {
            return;
        };
        if let Some(description) = line.patch.description {
            self.tasks[id.at()].description = self.arena.store_of(description);
            self.touch_task(id);
            self.touch_status();
        }
        if let Some(is_backgrounded) = line.patch.is_backgrounded {
            self.tasks[id.at()].is_backgrounded = is_backgrounded;
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

    /// The list replaces the last one: what is not in it any more runs no more.
    pub(crate) fn background_tasks(&mut self, line: &BackgroundTasksChanged<'_>) {
        let mut listed = Vec::new();
        for task in line.tasks.into_iter().flat_map(RawJson::elements) {
            let member = |key| task.get(key).and_then(RawJson::as_str);
            let Some(id) = self.task_of(member("task_id"), member("run_id")) else {
                continue;
            };
            self.tasks[id.at()].is_backgrounded = true;
            if self.tasks[id.at()].description.is_empty() {
                self.describe(id, member("description"), member("task_type"), None);
            }
            listed.push(id);
        }
        let is_gone = |id: &TaskId| self.tasks[id.at()].is_backgrounded && !listed.contains(id);
        let gone: Vec<_> = self
            .evidence
            .tasks
            .iter()
            .copied()
            .filter(is_gone)
            .collect();
        for id in gone {
            self.set_task(id, TaskState::Lost);
        }
    }

    /// The call of a task in the foreground has its result, so the task is over as well.
    pub(crate) fn close_tasks_of(&mut self, tool_use_id: &str, is_error: bool) {
        let first = self.first_task_of(tool_use_id);
        let next = |id: &TaskId| self.tasks[id.at()].next_of_call;
        let its = std::iter::successors(first, next).filter(|id| {
            let task = &self.tasks[id.at()];
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

    /// The task of a line; made when it is new. None for a line of an earlier run.
    fn task_of(&mut self, id: Option<Str<'_>>, run: Option<Str<'_>>) -> Option<TaskId> {
        let name = id.filter(|id| !id.is_empty())?.decode();
        let run = run.unwrap_or_default().decode();
        let key = Key::new(Kind::Task, 0, &name);
        let Some(id) = self.task_by(key, &name) else {
            return Some(self.add_task(key, &name, &run));
        };
        self.reach_task(id);
        let known = self.arena.str(self.tasks[id.at()].run);
        // Runs are ordered as strings (protocol, section A.15).
        if !run.is_empty() && *run < *known {
            return None;
        }
        if !run.is_empty() && *run > *known {
            let is_first = known.is_empty();
            self.tasks[id.at()].run = self.arena.atom(&run);
            if !is_first {
                self.reopen(id);
            }
        }
        Some(id)
    }

    fn task_by(&self, key: Key, name: &str) -> Option<TaskId> {
        let is_it = |id: u32| {
            let task = self.tasks.get(id as usize);
            task.is_some_and(|task| self.arena.str(task.id) == name)
        };
        self.index.find(key, is_it).map(TaskId::new)
    }

    /// The first task of a call.
    fn first_task_of(&self, tool_use_id: &str) -> Option<TaskId> {
        let is_it = |id: u32| {
            let call = self.tasks.get(id as usize).and_then(|it| it.tool_use_id);
            call.is_some_and(|call| self.arena.str(call) == tool_use_id)
        };
        let key = Key::new(Kind::TaskOfCall, 0, tool_use_id);
        self.index.find(key, is_it).map(TaskId::new)
    }

    fn add_task(&mut self, key: Key, name: &str, run: &str) -> TaskId {
        let id = TaskId::new(self.tasks.len() as u32);
        let name = self.arena.atom(name);
        let run = self.arena.atom(run);
        self.tasks.push(TaskRecord {
            id: name,
            run,
            ..TaskRecord::default()
        });
        self.index.insert(key, id.number());
        self.evidence.tasks.push(id);
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
        let task = &mut self.tasks[id.at()];
        if let Some(description) = description {
            task.description = self.arena.store_of(description);
        }
        if let Some(kind) = kind {
            task.kind = self.names.keep(&kind.decode());
        }
        if let Some(tool_use_id) = tool_use_id.filter(|_| task.tool_use_id.is_none()) {
            let call = self.arena.atom_of(tool_use_id);
            task.tool_use_id = Some(call);
            self.link_to_call(id, call);
        }
        self.touch_task(id);
        self.touch_status();
    }

    /// Puts a task behind the first one of its call.
    pub(crate) fn link_to_call(&mut self, id: TaskId, call: Atom) {
        let name = self.arena.str(call);
        let Some(first) = self.first_task_of(name) else {
            let key = Key::new(Kind::TaskOfCall, 0, name);
            return self.index.insert(key, id.number());
        };
        let second = self.tasks[first.at()].next_of_call.replace(id);
        self.tasks[id.at()].next_of_call = second;
    }

    /// Takes a task out of those of its call.
    pub(crate) fn unlink_from_call(&mut self, id: TaskId) {
        let task = &self.tasks[id.at()];
        let (next, Some(call)) = (task.next_of_call, task.tool_use_id) else {
            return;
        };
        let name = self.arena.str(call);
        let Some(first) = self.first_task_of(name) else {
            return;
        };
        if first == id {
            let key = Key::new(Kind::TaskOfCall, 0, name);
            self.index.remove(key, id.number());
            if let Some(next) = next {
                self.index.insert(key, next.number());
            }
            return;
        }
        let after = |id: &TaskId| self.tasks[id.at()].next_of_call;
        let mut its = std::iter::successors(Some(first), after);
        if let Some(before) = its.find(|it| after(it) == Some(id)) {
            self.tasks[before.at()].next_of_call = next;
        }
    }

    fn summarize(&mut self, id: TaskId, summary: Option<Str<'_>>) {
        if let Some(summary) = summary.filter(|summary| !summary.is_empty()) {
            self.tasks[id.at()].summary = self.arena.store_of(summary);
        }
    }

    fn move_task(&mut self, id: TaskId, word: Option<Str<'_>>) {
        if let Some(state) = word.and_then(|word| TaskState::of(&word.decode())) {
            self.set_task(id, state);
        }
    }

    /// The first end counts; only an end that was never told gives way to one that is.
    pub(crate) fn set_task(&mut self, id: TaskId, state: TaskState) {
        let old = self.tasks[id.at()].state;
        if old == state || !old.is_open() && old != TaskState::Lost {
            return;
        }
        self.tasks[id.at()].state = state;
        if old.is_open() && !state.is_open() {
            self.evidence.tasks.retain(|&it| it != id);
        } else if !old.is_open() && state.is_open() {
            self.evidence.tasks.push(id);
        }
        self.touch_task(id);
        self.touch_status();
    }

    /// A task that ended runs again.
    fn reopen(&mut self, id: TaskId) {
        if !self.tasks[id.at()].state.is_open() {
            self.tasks[id.at()].state = TaskState::Running;
            self.evidence.tasks.push(id);
            self.touch_task(id);
            self.touch_status();
        }
    }

    fn touch_task(&mut self, id: TaskId) {
        self.log
            .note(&mut self.tasks[id.at()].stamp, Slot::Task(id.number()));
    }
}

fn is_agent(line: &TaskStarted<'_>) -> bool {
    line.subagent_type.is_some() || line.task_type.is_some_and(|kind| kind == "local_agent")
}
