//! The remaining types (PROTOCOL.md, Conversation reset and Other lines).

use crate::grammar::record;
use crate::raw::RawJson;
use crate::text::Str;

record! {
    /// `tool_progress`: a tool is still running. Not every long tool call reports it.
    pub ToolProgress<'a> {
        /// The call.
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// The tool.
        tool_name: Option<Str<'a>> = "tool_name",
        /// Run time so far in seconds.
        elapsed_time_seconds: Option<f64> = "elapsed_time_seconds",
        /// The background task of the call.
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
    /// `conversation_reset`: the conversation was replaced (`/clear`, …). The line has the old
    /// session id; the next `init` has the new one.
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
    /// `command_lifecycle`: the progress of a prompt that has a uuid.
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
        /// Path of the file.
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
