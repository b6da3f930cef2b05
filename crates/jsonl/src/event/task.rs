//! Background work that the agent announces (protocol, section A.12).

use crate::grammar::record;
use crate::raw::RawJson;
use crate::text::Str;

record! {
    /// `task_started`
    pub TaskStarted<'a> {
        /// The task.
        task_id: Option<Str<'a>> = "task_id",
        /// One run of the task; a lower one is late.
        run_id: Option<Str<'a>> = "run_id",
        /// The call that started it.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// What it does.
        description: Option<Str<'a>> = "description",
        /// `local_bash`, `local_agent`, `local_workflow`, …
        task_type: Option<Str<'a>> = "task_type",
        /// The kind of sub-agent.
        subagent_type: Option<Str<'a>> = "subagent_type",
        /// Whether the turn goes on without it.
        is_backgrounded: Option<bool> = "is_backgrounded",
        /// Depth of the sub-agent, from 1.
        spawn_depth: Option<u32> = "spawn_depth",
        /// The task whose agent started it.
        parent_task_id: Option<Str<'a>> = "parent_task_id",
        /// What a sub-agent was asked.
        prompt: Option<Str<'a>> = "prompt",
    }
}

record! {
    /// `task_progress`
    pub TaskProgress<'a> {
        /// The task.
        task_id: Option<Str<'a>> = "task_id",
        /// One run of the task.
        run_id: Option<Str<'a>> = "run_id",
        /// The call that started it.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// What it does just now.
        description: Option<Str<'a>> = "description",
        /// The kind of sub-agent.
        subagent_type: Option<Str<'a>> = "subagent_type",
        /// What it has used.
        usage: Option<Box<TaskUsage>> = "usage",
        /// The tool it called last.
        last_tool_name: Option<Str<'a>> = "last_tool_name",
        /// A summary.
        summary: Option<Str<'a>> = "summary",
    }
}

record! {
    /// What a task has used.
    pub TaskUsage {
        /// Tokens.
        total_tokens: Option<u64> = "total_tokens",
        /// Tool calls.
        tool_uses: Option<u64> = "tool_uses",
        /// Milliseconds.
        duration_ms: Option<u64> = "duration_ms",
    }
}

record! {
    /// `task_updated`
    pub TaskUpdated<'a> {
        /// The task.
        task_id: Option<Str<'a>> = "task_id",
        /// One run of the task.
        run_id: Option<Str<'a>> = "run_id",
        /// What changed.
        patch: TaskPatch<'a> = "patch",
    }
}

record! {
    /// What changed about a task.
    pub TaskPatch<'a> {
        /// `pending`, `running`, `completed`, `failed`, `killed` or `paused`.
        status: Option<Str<'a>> = "status",
        /// What it does.
        description: Option<Str<'a>> = "description",
        /// Why it failed.
        error: Option<Str<'a>> = "error",
        /// Whether the turn goes on without it.
        is_backgrounded: Option<bool> = "is_backgrounded",
    }
}

record! {
    /// `task_notification`: the end of a task. `task_updated` may have said so before.
    pub TaskNotification<'a> {
        /// The task.
        task_id: Option<Str<'a>> = "task_id",
        /// One run of the task.
        run_id: Option<Str<'a>> = "run_id",
        /// The call that started it.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// `completed`, `failed` or `stopped`.
        status: Option<Str<'a>> = "status",
        /// Why it ended.
        reason: Option<Str<'a>> = "reason",
        /// The file with its output; may be empty.
        output_file: Option<Str<'a>> = "output_file",
        /// What it did.
        summary: Option<Str<'a>> = "summary",
        /// What it has used.
        usage: Option<Box<TaskUsage>> = "usage",
    }
}

record! {
    /// `background_tasks_changed`: the tasks that run in the background; replaces the last list.
    pub BackgroundTasksChanged<'a> {
        /// The tasks, an array of objects.
        tasks: Option<RawJson<'a>> = "tasks",
    }
}
