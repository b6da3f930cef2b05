//! `system/init`.

use serde_json::{Value, json};

use crate::session::{Session, new_uuid};

const TOOLS: &[&str] = &[
    "Task",
    "Bash",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterWorktree",
    "ExitWorktree",
    "ListAgents",
    "Monitor",
    "NotebookEdit",
    "Read",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "TaskStop",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Workflow",
    "Write",
];

/// Commands of the agent that are not skills.
const COMMANDS: &[&str] = &[
    "agents",
    "auto-mode-setup",
    "autocompact",
    "clear",
    "color",
    "compact",
    "config",
    "output-style",
    "context",
    "effort",
    "fast",
    "focus",
    "heapdump",
    "init",
    "mcp",
    "model",
    "__remote-workflow",
    "workflow-launch-exec",
    "reload-plugins",
    "reload-skills",
    "rename",
    "security-review",
    "usage",
    "insights",
    "recap",
    "goal",
    "list-agents",
    "team-onboarding",
];

/// Skills, each of which is a command too.
const SKILLS: &[&str] = &[
    "deep-research",
    "dataviz",
    "update-config",
    "verify",
    "debug",
    "code-review",
    "simplify",
    "batch",
    "fewer-permission-prompts",
    "doctor",
    "loop",
    "claude-api",
    "workflow-authoring",
    "run",
    "run-skill-generator",
    "plugin-authoring",
];

const CAPABILITIES: &[&str] = &[
    "interrupt_receipt_v1",
    "interrupt_cancel_queued_v1",
    "interrupt_send_now_v1",
    "interrupt_requeue_taken_v1",
    "msg_lifecycle_v1",
    "request_marker_lists_v1",
    "ask_user_question_unanswered_v1",
    "lifecycle_wakeup_source_v1",
    "sdk_mcp_tools_list_changed",
    "sdk_mcp_manifests",
    "mcp_read_resource_v1",
    "mcp_tool_ui_meta_v1",
    "ui_surface_v1",
    "mcp_call_result_not_for_model_v1",
    "mcp_call_check_permissions_v1",
    "voice_call_talk_line_v1",
    "withdrawn_files_note_v2",
    "withdrawn_tools_v1",
    "ui_pane_widget_v1",
    "reload_plugins_refuse_if_busy_v1",
    "get_usage_detached_v1",
    "silent_resend_files_v1",
];

pub(super) const AGENTS: &[&str] = &[
    "claude",
    "Explore",
    "general-purpose",
    "Plan",
    "statusline-setup",
];

const TERMINAL_COMMANDS: &[&str] = &["doctor", "color", "focus", "reload-plugins"];

/// Returns the names of all commands.
pub(super) fn commands() -> impl Iterator<Item = &'static str> {
    SKILLS.iter().chain(COMMANDS).copied()
}

/// Returns the line at the start of a turn. `prompts` are the uuids of the messages that it answers.
pub(crate) fn init(session: &Session, prompts: &[String]) -> Value {
    let mut line = json!({
        "type": "system",
        "subtype": "init",
        "cwd": session.cwd,
        "session_id": session.id,
        "tools": TOOLS,
        "mcp_servers": [],
        "model": session.model,
        "permissionMode": session.mode,
        "slash_commands": commands().collect::<Vec<_>>(),
        "terminal_slash_commands": TERMINAL_COMMANDS,
        "apiKeySource": "none",
        "claude_code_version": session.version.to_string(),
        "output_style": "default",
        "agents": AGENTS,
        "skills": SKILLS,
        "plugins": [],
        "capabilities": CAPABILITIES,
        "analytics_disabled": true,
        "product_feedback_disabled": true,
        "served_by_anthropic": false,
        "uuid": new_uuid(),
        "memory_paths": {},
        "original_cwd": session.cwd,
        "additional_directories": [],
        "fast_mode_state": "off",
        "fast_mode_disabled_reason": "sdk_opt_in_required",
        "per_turn_effort_active": true,
        "ultrathink_available": false,
        "ultrathink_typed_raises": false,
        "view_mode": "default",
    });
    if !prompts.is_empty() {
        line["user_message_uuids"] = json!(prompts);
    }
    line
}
