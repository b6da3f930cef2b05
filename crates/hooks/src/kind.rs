//! The events that the agent has hooks for, and what each tells.

use serde::Deserialize;
use serde_json::Value;

macro_rules! hooks {
    ($(
        $(#[$doc:meta])*
        $name:ident { $( $(#[$member_doc:meta])* $member:ident: $kind:ty, )* }
    )*) => {
        /// An event that the agent has hooks for (protocol, section D.3).
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum HookKind {
            $( $(#[$doc])* $name, )*
            /// One that this version does not know, by its name.
            Other(String),
        }

        impl HookKind {
            /// Every event that this version knows.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name that the agent uses.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $( Self::$name => stringify!($name), )*
                    Self::Other(name) => name,
                }
            }

            /// The event of a name.
            #[must_use]
            pub fn of(name: &str) -> Self {
                match name {
                    $( stringify!($name) => Self::$name, )*
                    _ => Self::Other(name.to_owned()),
                }
            }
        }

        /// What an event tells beyond what all events do. A member that the agent left out is
        /// empty; one that this version does not know is in [`HookEvent::raw`](super::HookEvent).
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
    /// A tool is about to run; it can be stopped.
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
    /// The agent would ask for a permission; the hook may answer.
    PermissionRequest {
        /// The tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// Rules that would make the question unnecessary.
        permission_suggestions: Vec<Value>,
        /// The MCP server that the tool belongs to.
        mcp_server: Value,
    }
    /// A tool was not permitted.
    PermissionDenied {
        /// The tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// The id of the call.
        tool_use_id: String,
        /// Why.
        reason: Text,
    }
    /// A tool has run.
    PostToolUse {
        /// The tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// The id of the call.
        tool_use_id: String,
        /// What it gave.
        tool_response: Value,
        /// How long it took, in milliseconds.
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
        /// What went wrong.
        error: Text,
        /// Whether it was interrupted.
        is_interrupt: Option<bool>,
        /// How long it took, in milliseconds.
        duration_ms: Option<f64>,
    }
    /// All tools of one message have run; the turn can be stopped.
    PostToolBatch {
        /// The calls, each with what it gave.
        tool_calls: Vec<Value>,
    }
    /// A prompt is about to be answered; it can be stopped, and is then erased.
    UserPromptSubmit {
        /// The prompt.
        prompt: String,
        /// Where it came from.
        source: Text,
        /// The session's title.
        session_title: Text,
    }
    /// A slash command is about to become a prompt; it can be stopped.
    UserPromptExpansion {
        /// What kind of command it is.
        expansion_type: Text,
        /// Its name.
        command_name: Text,
        /// Its arguments.
        command_args: Text,
        /// Where it is defined.
        command_source: Text,
        /// The prompt that it becomes.
        prompt: Text,
    }
    /// A session begins, or goes on under another id.
    SessionStart {
        /// `startup`, `resume`, `clear`, `compact` or `fork`.
        source: String,
        /// The model.
        model: Text,
        /// The session's title.
        session_title: Text,
    }
    /// A session ends; a killed agent does not say so.
    SessionEnd {
        /// `clear`, `resume`, `logout`, `prompt_input_exit` or `other`.
        reason: String,
    }
    /// The project is set up or maintained.
    Setup {
        /// `init` or `maintenance`.
        trigger: Text,
    }
    /// A turn is about to end; it can be made to go on.
    Stop {
        /// Whether it goes on because of a hook already.
        stop_hook_active: Option<bool>,
        /// The last text of the turn.
        last_assistant_message: Text,
        /// Work that goes on behind the turn.
        background_tasks: Vec<Value>,
        /// Work that is planned.
        session_crons: Vec<Value>,
    }
    /// A turn ends in an error of the API.
    StopFailure {
        /// The kind of error.
        error: Text,
        /// More about it.
        error_details: Value,
        /// The last text of the turn.
        last_assistant_message: Text,
    }
    /// A sub-agent begins.
    SubagentStart {}
    /// A sub-agent is about to end; it can be made to go on. The agent's internal ones end too.
    SubagentStop {
        /// Whether it goes on because of a hook already.
        stop_hook_active: Option<bool>,
        /// The sub-agent's own transcript.
        agent_transcript_path: Text,
        /// Its last text.
        last_assistant_message: Text,
        /// Work that goes on behind it.
        background_tasks: Vec<Value>,
        /// Work that is planned.
        session_crons: Vec<Value>,
    }
    /// The conversation is about to be summed up; that can be stopped.
    PreCompact {
        /// `manual` or `auto`.
        trigger: Text,
        /// What the summary is to heed.
        custom_instructions: Text,
    }
    /// The conversation was summed up.
    PostCompact {
        /// `manual` or `auto`.
        trigger: Text,
        /// The summary.
        compact_summary: Text,
    }
    /// The model is about to change.
    PreModelSwitch {
        /// The model so far.
        from_model: Text,
        /// The model from now on.
        to_model: Text,
        /// The model that was asked for.
        requested_model: Text,
        /// Who asked.
        source: Text,
        /// Tokens that the new model must read.
        context_tokens: Option<u64>,
        /// What that would cost, in US dollars.
        estimated_cache_write_usd: Option<f64>,
    }
    /// The model has changed.
    PostModelSwitch {
        /// The model so far.
        from_model: Text,
        /// The model from now on.
        to_model: Text,
        /// The model that was asked for.
        requested_model: Text,
        /// Who asked.
        source: Text,
        /// Tokens that the new model must read.
        context_tokens: Option<u64>,
        /// What that costs, in US dollars.
        estimated_cache_write_usd: Option<f64>,
    }
    /// The agent wants the user's attention.
    Notification {
        /// The text.
        message: String,
        /// Its title.
        title: Text,
        /// What it is about.
        notification_type: Text,
    }
    /// A piece of a message is shown.
    MessageDisplay {
        /// The turn.
        turn_id: Text,
        /// The message, by a uuid.
        message_id: Text,
        /// The piece's place in it.
        index: Option<u64>,
        /// Whether it is the last.
        #[serde(rename = "final")]
        is_final: Option<bool>,
        /// The piece.
        delta: Text,
    }
    /// A memory file was read.
    InstructionsLoaded {
        /// The file.
        file_path: Text,
        /// Whose it is.
        memory_type: Text,
        /// Why it was read.
        load_reason: Text,
        /// The files that it is for.
        globs: Value,
        /// The file that made it be read.
        trigger_file_path: Text,
        /// The file that names it.
        parent_file_path: Text,
    }
    /// Settings have changed; the change can be refused.
    ConfigChange {
        /// Whose settings.
        source: Text,
        /// The file.
        file_path: Text,
    }
    /// The working directory has changed.
    CwdChanged {
        /// The one before.
        old_cwd: Text,
        /// The one from now on.
        new_cwd: Text,
    }
    /// A watched file has changed.
    FileChanged {
        /// The file.
        file_path: Text,
        /// `change`, `add` or `unlink`.
        event: Text,
    }
    /// The agent may use another folder.
    DirectoryAdded {
        /// The folder.
        directory: Text,
        /// Who added it.
        source: Text,
    }
    /// A task is about to be put on the list; it can be refused.
    TaskCreated {
        /// The task.
        task_id: Text,
        /// What it is about.
        task_subject: Text,
        /// More about it.
        task_description: Text,
        /// Who has it.
        teammate_name: Text,
        /// The team.
        team_name: Text,
    }
    /// A task is about to be done; that can be refused.
    TaskCompleted {
        /// The task.
        task_id: Text,
        /// What it is about.
        task_subject: Text,
        /// More about it.
        task_description: Text,
        /// Who has it.
        teammate_name: Text,
        /// The team.
        team_name: Text,
    }
    /// A teammate is about to rest; it can be made to go on.
    TeammateIdle {
        /// Who.
        teammate_name: Text,
        /// The team.
        team_name: Text,
    }
    /// An MCP server asks the user something.
    Elicitation {
        /// The server.
        mcp_server_name: Text,
        /// The question.
        message: Text,
        /// `form` or `url`.
        mode: Text,
        /// Where the user is sent.
        url: Text,
        /// The id of the question.
        elicitation_id: Text,
        /// The shape of the answer.
        requested_schema: Value,
    }
    /// The user has answered an MCP server.
    ElicitationResult {
        /// The server.
        mcp_server_name: Text,
        /// `accept`, `decline` or `cancel`.
        action: Text,
        /// The answer.
        content: Value,
        /// The id of the question.
        elicitation_id: Text,
    }
    /// A worktree is to be made; the hook makes it, and the agent's tool fails when its answer
    /// names no path: ask for this event only to answer it.
    WorktreeCreate {
        /// Its name.
        name: Text,
    }
    /// A worktree is to be removed.
    WorktreeRemove {
        /// Where it is.
        worktree_path: Text,
    }
}

impl HookKind {
    /// What a host wants to know of a session as a rule: its ends, its turns, its tools. An older
    /// agent ignores all settings that name an event which it does not know, so that the newest
    /// ones are left out.
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

    /// Whether the agent posts this event to a hook over HTTP (observed, 45).
    pub(super) const fn is_posted(&self) -> bool {
        !matches!(self, Self::SessionStart | Self::Setup)
    }

    /// Whether the event can be refused with a reason (protocol, section D.3).
    pub(super) const fn can_block(&self) -> bool {
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

    /// Whether an answer may name files whose changes are to be told.
    pub(super) const fn has_watch(&self) -> bool {
        matches!(
            self,
            Self::SessionStart | Self::CwdChanged | Self::FileChanged
        )
    }

    /// Whether a hook can tell the model something (protocol, section D.4).
    pub(super) const fn has_context(&self) -> bool {
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
