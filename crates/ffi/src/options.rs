//! Options of the agent's command line.

use std::sync::Arc;

use crate::core;
use crate::error::{BowlineError, Result};
use crate::mirror::mirror_into;

/// Options of the agent's command line. By default every choice is left to the agent.
#[derive(Clone, Debug, Default, uniffi::Record)]
pub struct AgentOptions {
    /// The id of the copy when a conversation is forked: a new UUID.
    #[uniffi(default = None)]
    pub fork_as: Option<String>,
    /// The uuid of the last message to resume. Later ones are dropped.
    #[uniffi(default = None)]
    pub resume_at: Option<String>,
    /// With `resumeAt`: the uuid of the prompt whose turn is dropped, which the agent verifies.
    #[uniffi(default = None)]
    pub drop_turn: Option<String>,
    /// Whether the agent does not store the conversation.
    #[uniffi(default = false)]
    pub without_persistence: bool,
    /// Whether the agent also writes to its output what it stores.
    #[uniffi(default = false)]
    pub mirror: bool,
    /// The model.
    #[uniffi(default = None)]
    pub model: Option<String>,
    /// Models to use when that one is overloaded, in order.
    #[uniffi(default)]
    pub fallback_models: Vec<String>,
    /// The reasoning effort.
    #[uniffi(default = None)]
    pub effort: Option<Effort>,
    /// Whether the model reasons before it answers.
    #[uniffi(default = None)]
    pub thinking: Option<Thinking>,
    /// The maximum number of reasoning tokens.
    #[uniffi(default = None)]
    pub max_thinking_tokens: Option<u32>,
    /// The permission mode.
    #[uniffi(default = None)]
    pub permission_mode: Option<String>,
    /// Whether permission checks can be skipped.
    #[uniffi(default = None)]
    pub skip_permissions: Option<SkipPermissions>,
    /// Where permission requests are sent: `stdio` for the host, or a tool of an MCP server.
    #[uniffi(default = None)]
    pub permission_prompt_tool: Option<String>,
    /// Whether permission requests are sent at all.
    #[uniffi(default = None)]
    pub permission_prompts: Option<PermissionPrompts>,
    /// Tools that need no permission, as rules of the agent such as `Bash(git:*)`.
    #[uniffi(default)]
    pub allowed_tools: Vec<String>,
    /// Tools that are not available.
    #[uniffi(default)]
    pub disallowed_tools: Vec<String>,
    /// The built-in tools that are available; the agent's default when absent, none if empty.
    #[uniffi(default = None)]
    pub tools: Option<Vec<String>>,
    /// Configurations of MCP servers.
    #[uniffi(default)]
    pub mcp_configs: Vec<AgentDocument>,
    /// Whether only the MCP servers in `mcpConfigs` are used.
    #[uniffi(default = false)]
    pub strict_mcp_config: bool,
    /// Additional settings.
    #[uniffi(default = None)]
    pub settings: Option<AgentDocument>,
    /// The places that settings are read from; none if empty.
    #[uniffi(default = None)]
    pub setting_sources: Option<Vec<SettingSource>>,
    /// Policy settings of the embedding program.
    #[uniffi(default = None)]
    pub managed_settings: Option<AgentDocument>,
    /// The directory of the project's settings; the working directory when absent.
    #[uniffi(default = None)]
    pub project_config_root: Option<String>,
    /// Replaces the agent's system prompt.
    #[uniffi(default = None)]
    pub system_prompt: Option<AgentText>,
    /// Appended to the agent's system prompt. A resumed conversation keeps its original one.
    #[uniffi(default = None)]
    pub append_system_prompt: Option<AgentText>,
    /// Appended to the system prompt of sub-agents.
    #[uniffi(default = None)]
    pub append_subagent_system_prompt: Option<String>,
    /// Whether the system prompt is stored with the conversation; the agent's default is true.
    #[uniffi(default = None)]
    pub system_prompt_snapshot: Option<bool>,
    /// Whether details of the machine are sent in the first message instead of the system prompt.
    #[uniffi(default = false)]
    pub without_dynamic_prompt: bool,
    /// Additional directories that the agent may use.
    #[uniffi(default)]
    pub add_dirs: Vec<String>,
    /// The maximum number of model requests for one prompt.
    #[uniffi(default = None)]
    pub max_turns: Option<u32>,
    /// The token budget of one task.
    #[uniffi(default = None)]
    pub task_budget: Option<u64>,
    /// The maximum cost since the agent's start, in US dollars.
    #[uniffi(default = None)]
    pub max_budget_usd: Option<f64>,
    /// The JSON schema of the answer.
    #[uniffi(default = None)]
    pub json_schema: Option<String>,
    /// The agent definition of the session.
    #[uniffi(default = None)]
    pub agent: Option<String>,
    /// Additional agent definitions.
    #[uniffi(default = None)]
    pub agents: Option<AgentDocument>,
    /// Plugins: directories or archives.
    #[uniffi(default)]
    pub plugin_dirs: Vec<String>,
    /// Plugins whose MCP servers are not started.
    #[uniffi(default)]
    pub plugin_dirs_without_mcp: Vec<String>,
    /// URLs of plugin archives.
    #[uniffi(default)]
    pub plugin_urls: Vec<String>,
    /// Whether to run without hooks, plugins, MCP discovery and memory files, with an API key only.
    #[uniffi(default = false)]
    pub bare: bool,
    /// Whether to run without any customisation.
    #[uniffi(default = false)]
    pub safe_mode: bool,
    /// Whether to run without tools that run commands and without user and project settings.
    #[uniffi(default = false)]
    pub restricted: bool,
    /// The categories of debug messages to write; all if empty.
    #[uniffi(default = None)]
    pub debug: Option<String>,
    /// The file for debug messages.
    #[uniffi(default = None)]
    pub debug_file: Option<String>,
    /// The display name of the session.
    #[uniffi(default = None)]
    pub name: Option<String>,
    /// The name of a git worktree to create for the session.
    #[uniffi(default = None)]
    pub worktree: Option<String>,
    /// Whether skills and slash commands are disabled.
    #[uniffi(default = false)]
    pub without_slash_commands: bool,
    /// Beta headers for the API.
    #[uniffi(default)]
    pub betas: Vec<String>,
    /// Files to download at the start, as `id:relative-path`.
    #[uniffi(default)]
    pub files: Vec<String>,
    /// Whether messages are streamed while the model writes them.
    #[uniffi(default = false)]
    pub partial_messages: bool,
    /// Whether the agent echoes the host's messages.
    #[uniffi(default = false)]
    pub replay_user_messages: bool,
    /// Whether the text of sub-agents is included in the output.
    #[uniffi(default = false)]
    pub forward_subagent_text: bool,
    /// Whether hook executions are included in the output.
    #[uniffi(default = false)]
    pub hook_events: bool,
    /// Whether the agent suggests a next prompt after each turn.
    #[uniffi(default = None)]
    pub prompt_suggestions: Option<bool>,
    /// Whether the agent waits for the `initialize` request.
    #[uniffi(default = false)]
    pub await_initialize: bool,
    /// Arguments before all others.
    #[uniffi(default)]
    pub leading_args: Vec<String>,
    /// Arguments after all others except the prompt.
    #[uniffi(default)]
    pub trailing_args: Vec<String>,
}

/// A JSON document for the agent.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum AgentDocument {
    /// JSON in an argument, which every user of the machine can read.
    Json {
        /// The document.
        json: String,
    },
    /// A file of the host.
    File {
        /// The path.
        path: String,
    },
    /// JSON in a temporary file that other users cannot read: for secrets.
    Private {
        /// The document.
        json: String,
    },
}

/// A text for the agent.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum AgentText {
    /// Text in an argument, which every user of the machine can read.
    Inline {
        /// The text.
        text: String,
    },
    /// A file of the host.
    File {
        /// The path.
        path: String,
    },
}

mirror_into! {
    /// The reasoning effort of the model.
    Effort = core::Effort {
        /// `low`.
        Low,
        /// `medium`.
        Medium,
        /// `high`.
        High,
        /// `xhigh`.
        ExtraHigh,
        /// `max`.
        Max,
    }
}

mirror_into! {
    /// Whether the model reasons before it answers.
    Thinking = core::Thinking {
        /// `enabled`.
        Enabled,
        /// `adaptive`.
        Adaptive,
        /// `disabled`.
        Disabled,
    }
}

mirror_into! {
    /// Whether permission checks can be skipped.
    SkipPermissions = core::SkipPermissions {
        /// They cannot.
        Never,
        /// The host may switch to that mode later.
        Allowed,
        /// They are skipped from the start. The agent refuses this as root.
        Now,
    }
}

/// Where permission requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum PermissionPrompts {
    /// To the host, or to the permission tool.
    Host,
    /// Nowhere: whatever needs permission is denied.
    Disabled,
}

impl From<PermissionPrompts> for core::PermissionPrompts {
    fn from(prompts: PermissionPrompts) -> Self {
        match prompts {
            PermissionPrompts::Host => Self::Host,
            PermissionPrompts::Disabled => Self::Disabled,
        }
    }
}

mirror_into! {
    /// A place that the agent reads settings from.
    SettingSource = core::SettingSource {
        /// The user's settings.
        User,
        /// The project's settings.
        Project,
        /// The project's settings on this machine.
        Local,
    }
}

impl From<AgentText> for core::AgentText {
    fn from(text: AgentText) -> Self {
        match text {
            AgentText::Inline { text } => Self::Inline(text),
            AgentText::File { path } => Self::File(path.into()),
        }
    }
}

impl TryFrom<AgentDocument> for core::AgentDocument {
    type Error = BowlineError;

    fn try_from(document: AgentDocument) -> Result<Self> {
        Ok(match document {
            AgentDocument::Json { json } => Self::Json(json),
            AgentDocument::File { path } => Self::File(path.into()),
            AgentDocument::Private { json } => {
                let file = core::PrivateFile::new(json.as_bytes());
                let file = file.map_err(|error| BowlineError::Io {
                    reason: format!(
                        "write a temporary file: {error}; check the temporary directory"
                    ),
                })?;
                Self::Private(Arc::new(file))
            }
        })
    }
}

fn document(document: Option<AgentDocument>) -> Result<Option<core::AgentDocument>> {
    document.map(TryInto::try_into).transpose()
}

impl TryFrom<AgentOptions> for core::AgentOptions {
    type Error = BowlineError;

    fn try_from(it: AgentOptions) -> Result<Self> {
        Ok(Self {
            fork_as: it.fork_as,
            resume_at: it.resume_at,
            drop_turn: it.drop_turn,
            without_persistence: it.without_persistence,
            mirror: it.mirror,
            model: it.model,
            fallback_models: it.fallback_models,
            effort: it.effort.map(Into::into),
            thinking: it.thinking.map(Into::into),
            max_thinking_tokens: it.max_thinking_tokens,
            permission_mode: it.permission_mode,
            skip_permissions: it.skip_permissions.map(Into::into).unwrap_or_default(),
            permission_prompt_tool: it.permission_prompt_tool,
            permission_prompts: it.permission_prompts.map(Into::into),
            allowed_tools: it.allowed_tools,
            disallowed_tools: it.disallowed_tools,
            tools: it.tools,
            mcp_configs: it
                .mcp_configs
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_>>()?,
            strict_mcp_config: it.strict_mcp_config,
            settings: document(it.settings)?,
            setting_sources: it
                .setting_sources
                .map(|it| it.into_iter().map(Into::into).collect()),
            managed_settings: document(it.managed_settings)?,
            project_config_root: it.project_config_root.map(Into::into),
            system_prompt: it.system_prompt.map(Into::into),
            append_system_prompt: it.append_system_prompt.map(Into::into),
            append_subagent_system_prompt: it.append_subagent_system_prompt,
            system_prompt_snapshot: it.system_prompt_snapshot,
            without_dynamic_prompt: it.without_dynamic_prompt,
            add_dirs: it.add_dirs.into_iter().map(Into::into).collect(),
            max_turns: it.max_turns,
            task_budget: it.task_budget,
            max_budget_usd: it.max_budget_usd,
            json_schema: it.json_schema,
            agent: it.agent,
            agents: document(it.agents)?,
            plugin_dirs: it.plugin_dirs.into_iter().map(Into::into).collect(),
            plugin_dirs_without_mcp: it
                .plugin_dirs_without_mcp
                .into_iter()
                .map(Into::into)
                .collect(),
            plugin_urls: it.plugin_urls,
            bare: it.bare,
            safe_mode: it.safe_mode,
            restricted: it.restricted,
            debug: it.debug,
            debug_file: it.debug_file.map(Into::into),
            name: it.name,
            worktree: it.worktree,
            without_slash_commands: it.without_slash_commands,
            betas: it.betas,
            files: it.files,
            partial_messages: it.partial_messages,
            replay_user_messages: it.replay_user_messages,
            forward_subagent_text: it.forward_subagent_text,
            hook_events: it.hook_events,
            prompt_suggestions: it.prompt_suggestions,
            await_initialize: it.await_initialize,
            leading_args: it.leading_args.into_iter().map(Into::into).collect(),
            trailing_args: it.trailing_args.into_iter().map(Into::into).collect(),
            ..Self::default()
        })
    }
}
