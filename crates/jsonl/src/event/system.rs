//! `system` lines (PROTOCOL.md, Init, System lines, Tasks and Hook lines).

use crate::event::task::{
    BackgroundTasksChanged, TaskNotification, TaskProgress, TaskStarted, TaskUpdated,
};
use crate::grammar::record;
use crate::raw::RawJson;
use crate::text::Str;

/// `system`: the status family.
#[derive(Clone, Debug)]
pub struct System<'a> {
    /// The `subtype`; empty when the line has none.
    pub subtype: Str<'a>,
    /// The content, by subtype.
    pub body: SystemBody<'a>,
}

/// The content of a `system` line, by its `subtype`.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant is documented at its record")]
pub enum SystemBody<'a> {
    Init(Init<'a>),
    Status(Status<'a>),
    ThinkingTokens(ThinkingTokens),
    ApiRetry(ApiRetry<'a>),
    CompactBoundary(CompactBoundary<'a>),
    SessionStateChanged(SessionStateChanged<'a>),
    SessionTitleChanged(SessionTitleChanged<'a>),
    TaskStarted(TaskStarted<'a>),
    TaskProgress(TaskProgress<'a>),
    TaskUpdated(TaskUpdated<'a>),
    TaskNotification(TaskNotification<'a>),
    BackgroundTasksChanged(BackgroundTasksChanged<'a>),
    HookStarted(HookStarted<'a>),
    HookProgress(HookProgress<'a>),
    HookResponse(HookResponse<'a>),
    PermissionDenied(PermissionDenied<'a>),
    PermissionCheckStatus(PermissionCheckStatus<'a>),
    Informational(Informational<'a>),
    Notification(Notification<'a>),
    LocalCommandOutput(LocalCommandOutput<'a>),
    CommandsChanged(CommandsChanged<'a>),
    ModelRefusalFallback(ModelRefusal<'a>),
    ModelRefusalNoFallback(ModelRefusal<'a>),
    PluginInstall(PluginInstall<'a>),
    MemoryRecall(MemoryRecall<'a>),
    FilesPersisted(FilesPersisted<'a>),
    ElicitationComplete(ElicitationComplete<'a>),
    ControlRequestProgress(ControlRequestProgress<'a>),
    MirrorError(MirrorError<'a>),
    SessionWritesLost(SessionWritesLost<'a>),
    WorkerShuttingDown(WorkerShuttingDown<'a>),
    /// A subtype that this crate does not know; the raw line has it.
    Other,
}

record! {
    /// `init`: written at the start of every turn; the newest one counts.
    pub Init<'a> {
        /// Working directory.
        cwd: Option<Str<'a>> = "cwd",
        /// Tools, an array of names.
        tools: Option<RawJson<'a>> = "tools",
        /// MCP servers, an array of objects.
        mcp_servers: Option<RawJson<'a>> = "mcp_servers",
        /// The model in force.
        model: Option<Str<'a>> = "model",
        /// `default`, `acceptEdits`, `bypassPermissions`, `plan`, `dontAsk` or `auto`.
        permission_mode: Option<Str<'a>> = "permissionMode",
        /// Slash commands, an array of names.
        slash_commands: Option<RawJson<'a>> = "slash_commands" then "terminal_slash_commands",
        /// Source of the API key.
        api_key_source: Option<Str<'a>> = "apiKeySource",
        /// Version of the agent.
        claude_code_version: Option<Str<'a>> = "claude_code_version",
        /// Output style.
        output_style: Option<Str<'a>> = "output_style",
        /// Kinds of sub-agents, an array of names.
        agents: Option<RawJson<'a>> = "agents",
        /// Skills, an array of names.
        skills: Option<RawJson<'a>> = "skills",
        /// Plugins, an array of objects.
        plugins: Option<RawJson<'a>> = "plugins",
        /// Capabilities of the agent, an array of names; an open set.
        capabilities: Option<RawJson<'a>> = "capabilities"
            often r#""analytics_disabled":true,"product_feedback_disabled":true,"served_by_anthropic":false"#
            then "analytics_disabled" then "product_feedback_disabled" then "served_by_anthropic" then "memory_paths" then "original_cwd" then "additional_directories" then "messaging_socket_path"
            often r#""fast_mode_state":"off","fast_mode_disabled_reason":"sdk_opt_in_required""#
            often r#""per_turn_effort_active":true,"ultrathink_available":false,"ultrathink_typed_raises":false,"view_mode":"default""#
            then "fast_mode_state" then "fast_mode_disabled_reason" then "per_turn_effort_active" then "ultrathink_available" then "ultrathink_typed_raises" then "view_mode",
        /// The prompts that the turn answers, an array of uuids.
        user_message_uuids: Option<RawJson<'a>> = "user_message_uuids",
    }
}

record! {
    /// `status`
    pub Status<'a> {
        /// `compacting`, `requesting`, or none.
        status: Option<Str<'a>> = "status",
        /// The mode in force from now on.
        permission_mode: Option<Str<'a>> = "permissionMode",
        /// How a compaction ended.
        compact_result: Option<Str<'a>> = "compact_result",
        /// Why a compaction failed.
        compact_error: Option<Str<'a>> = "compact_error",
    }
}

record! {
    /// `compact_boundary`: the history before it was summarised for the model; it stays valid for display.
    pub CompactBoundary<'a> {
        /// Cause and size.
        compact_metadata: CompactMetadata<'a> = "compact_metadata",
        /// The line that the summary replaces.
        logical_parent_uuid: Option<Str<'a>> = "logical_parent_uuid",
    }
}

record! {
    /// Cause and size of a compaction.
    pub CompactMetadata<'a> {
        /// `manual` or `auto`.
        trigger: Option<Str<'a>> = "trigger",
        /// Tokens before the compaction.
        pre_tokens: Option<u64> = "pre_tokens",
        /// Tokens after the compaction.
        post_tokens: Option<u64> = "post_tokens",
        /// Duration in milliseconds.
        duration_ms: Option<u64> = "duration_ms",
    }
}

record! {
    /// `api_retry`: an API call failed and will be repeated; the open draft is discarded.
    pub ApiRetry<'a> {
        /// Number of the attempt, from 1.
        attempt: Option<u64> = "attempt",
        /// Attempts before the turn fails.
        max_retries: Option<u64> = "max_retries",
        /// Milliseconds until the next attempt.
        retry_delay_ms: Option<f64> = "retry_delay_ms",
        /// HTTP status; none when there was no response.
        error_status: Option<u32> = "error_status",
        /// Kind of the failure.
        error: Option<Str<'a>> = "error",
    }
}

record! {
    /// `session_state_changed`: written only when an environment variable enables it.
    pub SessionStateChanged<'a> {
        /// `idle`, `running` or `requires_action`.
        state: Option<Str<'a>> = "state",
    }
}

record! {
    /// `session_title_changed`
    pub SessionTitleChanged<'a> {
        /// The title.
        title: Option<Str<'a>> = "title",
    }
}

record! {
    /// `hook_started`
    pub HookStarted<'a> {
        /// Identifies one run of the hook.
        hook_id: Option<Str<'a>> = "hook_id",
        /// For example `PreToolUse:Bash`.
        hook_name: Option<Str<'a>> = "hook_name",
        /// For example `PreToolUse`.
        hook_event: Option<Str<'a>> = "hook_event",
    }
}

record! {
    /// `hook_progress`
    pub HookProgress<'a> {
        /// Identifies one run of the hook.
        hook_id: Option<Str<'a>> = "hook_id",
        /// For example `PreToolUse:Bash`.
        hook_name: Option<Str<'a>> = "hook_name",
        /// For example `PreToolUse`.
        hook_event: Option<Str<'a>> = "hook_event",
        /// Standard output so far.
        stdout: Option<Str<'a>> = "stdout",
        /// Standard error so far.
        stderr: Option<Str<'a>> = "stderr",
        /// Both outputs.
        output: Option<Str<'a>> = "output",
    }
}

record! {
    /// `hook_response`
    pub HookResponse<'a> {
        /// Identifies one run of the hook.
        hook_id: Option<Str<'a>> = "hook_id",
        /// For example `PreToolUse:Bash`.
        hook_name: Option<Str<'a>> = "hook_name",
        /// For example `PreToolUse`.
        hook_event: Option<Str<'a>> = "hook_event",
        /// Standard output.
        stdout: Option<Str<'a>> = "stdout",
        /// Standard error.
        stderr: Option<Str<'a>> = "stderr",
        /// Both outputs.
        output: Option<Str<'a>> = "output",
        /// Exit code of the hook.
        exit_code: Option<i64> = "exit_code",
        /// `success`, `error` or `cancelled`.
        outcome: Option<Str<'a>> = "outcome",
    }
}

record! {
    /// `permission_denied`: a tool call was denied without a permission request.
    pub PermissionDenied<'a> {
        /// The tool.
        tool_name: Option<Str<'a>> = "tool_name",
        /// The call.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// The sub-agent that called.
        agent_id: Option<Str<'a>> = "agent_id",
        /// Why.
        decision_reason: Option<Str<'a>> = "decision_reason",
        /// The message for the model.
        message: Option<Str<'a>> = "message",
    }
}

record! {
    /// `permission_check_status`
    pub PermissionCheckStatus<'a> {
        /// The call.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// `checking` or `done`.
        status: Option<Str<'a>> = "status",
    }
}

record! {
    /// `informational`: also the reason for which a hook blocked a prompt.
    pub Informational<'a> {
        /// The text.
        content: Option<Str<'a>> = "content",
        /// `info`, `notice`, `suggestion` or `warning`.
        level: Option<Str<'a>> = "level",
        /// The tool call concerned.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// Whether it ended the turn.
        prevent_continuation: bool = "prevent_continuation",
    }
}

record! {
    /// `notification`
    pub Notification<'a> {
        /// Identifies the notification.
        key: Option<Str<'a>> = "key",
        /// The text.
        text: Option<Str<'a>> = "text",
        /// `low`, `medium`, `high` or `immediate`.
        priority: Option<Str<'a>> = "priority",
    }
}

record! {
    /// `local_command_output`: output of a slash command.
    pub LocalCommandOutput<'a> {
        /// The text.
        content: Option<Str<'a>> = "content",
    }
}

record! {
    /// `thinking_tokens`: size of the model's reasoning; written without partial messages too.
    pub ThinkingTokens {
        /// Tokens so far.
        estimated_tokens: Option<u64> = "estimated_tokens",
        /// Tokens since the last line.
        estimated_tokens_delta: Option<u64> = "estimated_tokens_delta",
    }
}

record! {
    /// `commands_changed`: replaces the list of slash commands.
    pub CommandsChanged<'a> {
        /// The commands, an array.
        commands: Option<RawJson<'a>> = "commands",
    }
}

record! {
    /// `model_refusal_fallback` and `model_refusal_no_fallback`
    pub ModelRefusal<'a> {
        /// The model that refused.
        original_model: Option<Str<'a>> = "original_model",
        /// The model that answers instead.
        fallback_model: Option<Str<'a>> = "fallback_model",
        /// The message for the user.
        content: Option<Str<'a>> = "content",
        /// Withdrawn lines, an array of uuids.
        retracted_message_uuids: Option<RawJson<'a>> = "retracted_message_uuids",
        /// The refused prompt.
        refused_user_message_uuid: Option<Str<'a>> = "refused_user_message_uuid",
    }
}

record! {
    /// `plugin_install`
    pub PluginInstall<'a> {
        /// `started`, `installed`, `failed` or `completed`.
        status: Option<Str<'a>> = "status",
        /// The plugin.
        name: Option<Str<'a>> = "name",
        /// Why it failed.
        error: Option<Str<'a>> = "error",
    }
}

record! {
    /// `memory_recall`
    pub MemoryRecall<'a> {
        /// `select` or `synthesize`.
        mode: Option<Str<'a>> = "mode",
        /// The memories, an array of objects.
        memories: Option<RawJson<'a>> = "memories",
    }
}

record! {
    /// `files_persisted`
    pub FilesPersisted<'a> {
        /// The files, an array.
        files: Option<RawJson<'a>> = "files",
        /// The failures, an array.
        failed: Option<RawJson<'a>> = "failed",
    }
}

record! {
    /// `elicitation_complete`
    pub ElicitationComplete<'a> {
        /// The server of the elicitation.
        mcp_server_name: Option<Str<'a>> = "mcp_server_name",
        /// Id of the elicitation.
        elicitation_id: Option<Str<'a>> = "elicitation_id",
    }
}

record! {
    /// `control_request_progress`: a request of the host is still in progress.
    pub ControlRequestProgress<'a> {
        /// The request.
        request_id: Option<Str<'a>> = "request_id",
        /// `started` or `api_retry`.
        status: Option<Str<'a>> = "status",
    }
}

record! {
    /// `mirror_error`
    pub MirrorError<'a> {
        /// Kind of the failure.
        error: Option<Str<'a>> = "error",
    }
}

record! {
    /// `session_writes_lost`: the disk was full, so that the conversation on disk is incomplete.
    pub SessionWritesLost<'a> {
        /// `ENOSPC` or `EDQUOT`.
        error_code: Option<Str<'a>> = "error_code",
        /// The lost parts, an array.
        lost: Option<RawJson<'a>> = "lost",
    }
}

record! {
    /// `worker_shutting_down`
    pub WorkerShuttingDown<'a> {
        /// Why.
        reason: Option<Str<'a>> = "reason",
    }
}
