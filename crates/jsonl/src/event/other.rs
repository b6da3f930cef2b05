//! The remaining top-level types (protocol, sections A.11, A.13 and A.14).

use crate::grammar::record;
use crate::raw::RawJson;
use crate::text::Str;

record! {
    /// `tool_progress`: a tool is still running. Not every long tool sends it.
    pub ToolProgress<'a> {
        /// The call.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// The tool.
        tool_name: Option<Str<'a>> = "tool_name",
        /// How long it has run, in seconds.
        elapsed_time_seconds: Option<f64> = "elapsed_time_seconds",
        /// The task behind it.
        task_id: Option<Str<'a>> = "task_id",
    }
}

record! {
    /// `tool_use_summary`: a summary of the tool calls before it.
    pub ToolUseSummary<'a> {
        /// The summary.
        summary: Option<Str<'a>> = "summary",
        /// The calls, an array of ids.
        preceding_tool_use_ids: Option<RawJson<'a>> = "preceding_tool_use_ids",
    }
}

record! {
    /// `auth_status`: output of a login.
    pub AuthStatus<'a> {
        /// Whether a login runs.
        is_authenticating: bool = "isAuthenticating",
        /// Lines of output, an array of strings.
        output: Option<RawJson<'a>> = "output",
        /// Why the login failed.
        error: Option<Str<'a>> = "error",
    }
}

record! {
    /// `conversation_reset`: the conversation was replaced (`/clear`, …). The line carries the
    /// old session; the next `init` carries the new one.
    pub ConversationReset<'a> {
        /// The session that follows.
        new_conversation_id: Option<Str<'a>> = "new_conversation_id",
        /// `clear`, `plan_mode_exit`, `fresh_session` or `onboarding`.
        trigger: Option<Str<'a>> = "trigger",
        /// The prompt that caused it.
        user_message_uuid: Option<Str<'a>> = "user_message_uuid",
    }
}

record! {
    /// `command_lifecycle`: what became of a prompt that carried a uuid. Not in the agent's public
    /// types, and sent all the same.
    pub CommandLifecycle<'a> {
        /// The uuid of the prompt.
        command_uuid: Option<Str<'a>> = "command_uuid",
        /// `queued`, `started`, then one of `completed`, `cancelled`, `discarded`, `refused`.
        state: Option<Str<'a>> = "state",
    }
}

record! {
    /// `transcript_mirror`: copies of transcript lines as they were written to disk.
    pub TranscriptMirror<'a> {
        /// The file they were written to.
        file_path: Option<Str<'a>> = "filePath",
        /// The lines, an array.
        entries: Option<RawJson<'a>> = "entries",
    }
}

record! {
    /// `rate_limit_event`
    pub(crate) RateLimit<'a> {
        /// The limits.
        info: Option<RawJson<'a>> = "rate_limit_info",
    }
}

record! {
    /// `prompt_suggestion`
    pub(crate) PromptSuggestion<'a> {
        /// The suggested prompt.
        suggestion: Option<Str<'a>> = "suggestion",
    }
}

record! {
    /// `active_goal`
    pub(crate) ActiveGoal<'a> {
        /// The goal.
        value: Option<RawJson<'a>> = "value",
    }
}

record! {
    /// `control_cancel_request`
    pub(crate) Cancel<'a> {
        /// The withdrawn request.
        request_id: Option<Str<'a>> = "request_id",
    }
}
