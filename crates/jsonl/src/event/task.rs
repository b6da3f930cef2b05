//! Background tasks (PROTOCOL.md, Tasks).

use crate::grammar::record;
use crate::raw::RawJson;
use crate::text::Str;

record! {
    /// `task_started`
    pub TaskStarted<'a> {
        /// The task.
        task_id: Option<Str<'a>> = "task_id",
        /// One run of the task; a line of a smaller one is late.
        run_id: Option<Str<'a>> = "run_id",
        /// The tool call that started it.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// Description.
        description: Option<Str<'a>> = "description",
        /// `local_bash`, `local_agent`, `local_workflow`, …
        task_type: Option<Str<'a>> = "task_type",
        /// The kind of sub-agent.
        subagent_type: Option<Str<'a>> = "subagent_type",
        /// Whether the turn continues without it.
        is_backgrounded: Option<bool> = "is_backgrounded",
        /// Depth of the sub-agent, from 1.
        spawn_depth: Option<u32> = "spawn_depth",
        /// The task whose agent started it.
        parent_task_id: Option<Str<'a>> = "parent_task_id",
        /// Prompt of a sub-agent.
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
        /// The tool call that started it.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// Current activity.
        description: Option<Str<'a>> = "description",
        /// The kind of sub-agent.
        subagent_type: Option<Str<'a>> = "subagent_type",
        /// Usage so far.
        usage: Option<Box<TaskUsage>> = "usage",
        /// The last tool that it called.
        last_tool_name: Option<Str<'a>> = "last_tool_name",
        /// A summary.
        summary: Option<Str<'a>> = "summary",
    }
}

record! {
    /// Usage of a task.
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
        /// The changes.
        patch: TaskPatch<'a> = "patch",
    }
}

record! {
    /// Changes of a task.
    pub TaskPatch<'a> {
        /// `pending`, `running`, `completed`, `failed`, `killed` or `paused`.
        status: Option<Str<'a>> = "status",
        /// Description.
        description: Option<Str<'a>> = "description",
        /// Why it failed.
        error: Option<Str<'a>> = "error",
        /// Whether the turn continues without it.
        is_backgrounded: Option<bool> = "is_backgrounded",
    }
}

record! {
    /// `task_notification`: the end of a task, which `task_updated` may have reported before.
    pub TaskNotification<'a> {
        /// The task.
        task_id: Option<Str<'a>> = "task_id",
        /// One run of the task.
        run_id: Option<Str<'a>> = "run_id",
        /// The tool call that started it.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// `completed`, `failed` or `stopped`.
        status: Option<Str<'a>> = "status",
        /// Why it ended.
        reason: Option<Str<'a>> = "reason",
        /// The file with its output; may be empty.
        output_file: Option<Str<'a>> = "output_file",
        /// Summary of its work.
        summary: Option<Str<'a>> = "summary",
        /// Usage so far.
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
