//! The kinds of hook events and their members (`crates/jsonl/PROTOCOL.md`, Hooks).

use serde::Deserialize;
use serde_json::Value;

macro_rules! hooks {
    ($(
        $(#[$doc:meta])*
        $name:ident { $( $(#[$member_doc:meta])* $member:ident: $kind:ty, )* }
    )*) => {
        /// A kind of hook event.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum HookKind {
            $( $(#[$doc])* $name, )*
            /// An event that this version does not know, by its name.
            Other(String),
        }

        impl HookKind {
            /// All events that this version knows.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name in the agent's JSON.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $( Self::$name => stringify!($name), )*
                    Self::Other(name) => name,
                }
            }

            /// Returns the kind with this name; [`Other`](Self::Other) if it is unknown.
            #[must_use]
            pub fn of(name: &str) -> Self {
                match name {
                    $( stringify!($name) => Self::$name, )*
                    _ => Self::Other(name.to_owned()),
                }
            }
        }

        /// The members of one kind of event. A member that the agent left out is empty; unknown
        /// members are in [`HookEvent::raw`](crate::HookEvent::raw).
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(tag = "hook_event_name")]
        #[non_exhaustive]
        pub enum HookPayload {
            $(
                $(#[$doc])*
                #[non_exhaustive]
                $name { $( $(#[$member_doc])* #[serde(default)] $member: $kind, )* },
            )*
            /// An event that this version does not know, or whose members are of other types.
            #[serde(other)]
            Other,
        }
    };
}

type Text = Option<String>;

hooks! {
    /// Before a tool runs; can prevent it.
    PreToolUse {
        /// The tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// The id of the call.
        tool_use_id: String,
        /// The MCP server that the tool belongs to.
        mcp_server: Value,
    }
    /// Before the user is asked for a permission; can answer in their place.
    PermissionRequest {
        /// The tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// Permission rules that would make the question unnecessary.
        permission_suggestions: Vec<Value>,
        /// The MCP server that the tool belongs to.
        mcp_server: Value,
    }
    /// A tool call was denied.
    PermissionDenied {
        /// The tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// The id of the call.
        tool_use_id: String,
        /// The reason.
        reason: Text,
    }
    /// A tool has succeeded.
    PostToolUse {
        /// The tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// The id of the call.
        tool_use_id: String,
        /// Its result.
        tool_response: Value,
        /// Its run time, in milliseconds.
        duration_ms: Option<f64>,
    }
    /// A tool has failed.
    PostToolUseFailure {
        /// The tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// The id of the call.
        tool_use_id: String,
        /// The error message.
        error: Text,
        /// Whether it was interrupted.
        is_interrupt: Option<bool>,
        /// Its run time, in milliseconds.
        duration_ms: Option<f64>,
    }
    /// All tools of one message have run; can stop the turn.
    PostToolBatch {
        /// The calls with their results.
        tool_calls: Vec<Value>,
    }
    /// Before a prompt is processed; can reject it, which erases it.
    UserPromptSubmit {
        /// The prompt.
        prompt: String,
        /// Its origin.
        source: Text,
        /// The session's title.
        session_title: Text,
    }
    /// Before a slash command expands to a prompt; can reject it.
    UserPromptExpansion {
        /// The kind of command.
        expansion_type: Text,
        /// Its name.
        command_name: Text,
        /// Its arguments.
        command_args: Text,
        /// Where it is defined.
        command_source: Text,
        /// The expanded prompt.
        prompt: Text,
    }
    /// A session starts, or continues under another id.
    SessionStart {
        /// `startup`, `resume`, `clear`, `compact` or `fork`.
        source: String,
        /// The model.
        model: Text,
        /// The session's title.
        session_title: Text,
    }
    /// A session ends. A killed agent sends none.
    SessionEnd {
        /// `clear`, `resume`, `logout`, `prompt_input_exit` or `other`.
        reason: String,
    }
    /// Project setup or maintenance runs.
    Setup {
        /// `init` or `maintenance`.
        trigger: Text,
    }
    /// Before a turn ends; can continue it.
    Stop {
        /// Whether a hook has continued it already.
        stop_hook_active: Option<bool>,
        /// The last text of the turn.
        last_assistant_message: Text,
        /// Background tasks that outlive the turn.
        background_tasks: Vec<Value>,
        /// Scheduled work.
        session_crons: Vec<Value>,
    }
    /// A turn ends with an API error.
    StopFailure {
        /// The kind of error.
        error: Text,
        /// Its details.
        error_details: Value,
        /// The last text of the turn.
        last_assistant_message: Text,
    }
    /// A sub-agent starts.
    SubagentStart {}
    /// Before a sub-agent ends; can continue it. Includes internal sub-agents, which send no
    /// `SubagentStart`.
    SubagentStop {
        /// Whether a hook has continued it already.
        stop_hook_active: Option<bool>,
        /// The sub-agent's own transcript.
        agent_transcript_path: Text,
        /// Its last text.
        last_assistant_message: Text,
        /// Background tasks that outlive it.
        background_tasks: Vec<Value>,
        /// Scheduled work.
        session_crons: Vec<Value>,
    }
    /// Before compaction; can prevent it.
    PreCompact {
        /// `manual` or `auto`.
        trigger: Text,
        /// Instructions for the summary.
        custom_instructions: Text,
    }
    /// The conversation was compacted.
    PostCompact {
        /// `manual` or `auto`.
        trigger: Text,
        /// The summary.
        compact_summary: Text,
    }
    /// Before the model changes.
    PreModelSwitch {
        /// The previous model.
        from_model: Text,
        /// The new model.
        to_model: Text,
        /// The requested model.
        requested_model: Text,
        /// The origin of the request.
        source: Text,
        /// Tokens of context for the new model.
        context_tokens: Option<u64>,
        /// Estimated cost of caching them, in US dollars.
        estimated_cache_write_usd: Option<f64>,
    }
    /// The model has changed.
    PostModelSwitch {
        /// The previous model.
        from_model: Text,
        /// The new model.
        to_model: Text,
        /// The requested model.
        requested_model: Text,
        /// The origin of the request.
        source: Text,
        /// Tokens of context for the new model.
        context_tokens: Option<u64>,
        /// Estimated cost of caching them, in US dollars.
        estimated_cache_write_usd: Option<f64>,
    }
    /// The agent requests the user's attention.
    Notification {
        /// The text.
        message: String,
        /// Its title.
        title: Text,
        /// The type of notification.
        notification_type: Text,
    }
    /// A part of a message is displayed.
    MessageDisplay {
        /// The turn's id.
        turn_id: Text,
        /// The message's uuid.
        message_id: Text,
        /// The index of the part.
        index: Option<u64>,
        /// Whether it is the last part.
        #[serde(rename = "final")]
        is_final: Option<bool>,
        /// The text of the part.
        delta: Text,
    }
    /// A memory file was loaded.
    InstructionsLoaded {
        /// The file.
        file_path: Text,
        /// Its scope.
        memory_type: Text,
        /// Why it was loaded.
        load_reason: Text,
        /// The file patterns that it applies to.
        globs: Value,
        /// The file whose use loaded it.
        trigger_file_path: Text,
        /// The file that includes it.
        parent_file_path: Text,
    }
    /// Settings have changed; can reject the change.
    ConfigChange {
        /// The settings' scope.
        source: Text,
        /// The file.
        file_path: Text,
    }
    /// The working directory has changed.
    CwdChanged {
        /// The previous directory.
        old_cwd: Text,
        /// The new directory.
        new_cwd: Text,
    }
    /// A watched file has changed.
    FileChanged {
        /// The file.
        file_path: Text,
        /// `change`, `add` or `unlink`.
        event: Text,
    }
    /// A directory was added to those that the agent may use.
    DirectoryAdded {
        /// The directory.
        directory: Text,
        /// The origin of the addition.
        source: Text,
    }
    /// Before a task is created; can reject it.
    TaskCreated {
        /// The task's id.
        task_id: Text,
        /// Its subject.
        task_subject: Text,
        /// Its description.
        task_description: Text,
        /// The assigned teammate.
        teammate_name: Text,
        /// The team.
        team_name: Text,
    }
    /// Before a task is completed; can reject that.
    TaskCompleted {
        /// The task's id.
        task_id: Text,
        /// Its subject.
        task_subject: Text,
        /// Its description.
        task_description: Text,
        /// The assigned teammate.
        teammate_name: Text,
        /// The team.
        team_name: Text,
    }
    /// Before a teammate becomes idle; can continue it.
    TeammateIdle {
        /// The teammate.
        teammate_name: Text,
        /// The team.
        team_name: Text,
    }
    /// An MCP server requests input from the user.
    Elicitation {
        /// The server.
        mcp_server_name: Text,
        /// The question.
        message: Text,
        /// `form` or `url`.
        mode: Text,
        /// The URL that the user is sent to.
        url: Text,
        /// The id of the request.
        elicitation_id: Text,
        /// The JSON schema of the input.
        requested_schema: Value,
    }
    /// The user has answered a request of an MCP server.
    ElicitationResult {
        /// The server.
        mcp_server_name: Text,
        /// `accept`, `decline` or `cancel`.
        action: Text,
        /// The answer.
        content: Value,
        /// The id of the request.
        elicitation_id: Text,
    }
    /// A worktree is requested. The hook creates it and replies with its path; without a path the
    /// tool fails, so a host that does not reply must not ask for this event.
    WorktreeCreate {
        /// Its name.
        name: Text,
    }
    /// A worktree is removed.
    WorktreeRemove {
        /// Its path.
        worktree_path: Text,
    }
}

impl HookKind {
    /// The events of sessions, turns and tools that most hosts need.
    pub const COMMON: &'static [Self] = &[
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::Stop,
        Self::StopFailure,
        Self::Notification,
        Self::PreCompact,
        Self::SessionEnd,
    ];

    /// Whether the agent posts this event to HTTP hooks.
    pub(crate) const fn is_posted(&self) -> bool {
        !matches!(self, Self::SessionStart | Self::Setup)
    }

    /// Whether the event accepts `decision: "block"`.
    pub(crate) const fn accepts_block(&self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::PostToolBatch
                | Self::UserPromptSubmit
                | Self::UserPromptExpansion
                | Self::Stop
                | Self::SubagentStop
                | Self::PreCompact
                | Self::ConfigChange
                | Self::TaskCreated
                | Self::TaskCompleted
                | Self::TeammateIdle
                | Self::Elicitation
                | Self::ElicitationResult
        )
    }

    /// Whether the agent refuses the event if its hook fails and has `onFailure: "block"`. A
    /// permission request that fails goes to the user, and a worktree is not created.
    pub(crate) const fn is_refused_on_failure(&self) -> bool {
        self.accepts_block() || matches!(self, Self::PermissionRequest | Self::WorktreeCreate)
    }

    /// Whether the event accepts `watchPaths`.
    pub(crate) const fn accepts_watch_paths(&self) -> bool {
        matches!(
            self,
            Self::SessionStart | Self::CwdChanged | Self::FileChanged
        )
    }

    /// Whether the event accepts `additionalContext`.
    pub(crate) const fn accepts_context(&self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::PostToolBatch
                | Self::UserPromptSubmit
                | Self::SessionStart
                | Self::Setup
                | Self::Stop
                | Self::SubagentStart
                | Self::SubagentStop
                | Self::Notification
                | Self::PostModelSwitch
        )
    }
}
