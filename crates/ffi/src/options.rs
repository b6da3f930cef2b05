//! What a host can ask of the agent beside what every dialogue needs.

use std::sync::Arc;

use crate::core;

use crate::error::{BowlineError, Outcome};

/// Typed options of the agent's command line. The default leaves every choice to the agent.
#[derive(Clone, Debug, Default, uniffi::Record)]
pub struct AgentOptions {
    /// The id of the copy, a fresh UUID, where the conversation is a fork.
    #[uniffi(default = None)]
    pub fork_as: Option<String>,
    /// Resume only up to this message, by its uuid.
    #[uniffi(default = None)]
    pub resume_at: Option<String>,
    /// With `resume_at`: the uuid of the prompt whose turn is dropped; the agent checks it.
    #[uniffi(default = None)]
    pub drop_turn: Option<String>,
    /// Write nothing about the conversation to disk.
    #[uniffi(default = false)]
    pub without_persistence: bool,
    /// Repeat on the output what is written to disk.
    #[uniffi(default = false)]
    pub mirror: bool,
    /// The model.
    #[uniffi(default = None)]
    pub model: Option<String>,
    /// Models for when that one is busy, in order.
    #[uniffi(default)]
    pub fallback_models: Vec<String>,
    /// How hard the model thinks.
    #[uniffi(default = None)]
    pub effort: Option<Effort>,
    /// Whether it thinks.
    #[uniffi(default = None)]
    pub thinking: Option<Thinking>,
    /// The most tokens that it thinks.
    #[uniffi(default = None)]
    pub max_thinking_tokens: Option<u32>,
    /// The permission mode.
    #[uniffi(default = None)]
    pub permission_mode: Option<String>,
    /// How far permissions may be left out.
    #[uniffi(default = None)]
    pub skip_permissions: Option<SkipPermissions>,
    /// Who is asked: `stdio` for the host, or a tool of an MCP server.
    #[uniffi(default = None)]
    pub permission_prompt_tool: Option<String>,
    /// Whether anybody is asked.
    #[uniffi(default = None)]
    pub permission_prompts: Option<PermissionPrompts>,
    /// Tools that need no permission, as the agent's rules spell them (`Bash(git:*)`).
    #[uniffi(default)]
    pub allowed_tools: Vec<String>,
    /// Tools that may not be used.
    #[uniffi(default)]
    pub disallowed_tools: Vec<String>,
    /// The built-in tools that there are; none for the default set, an empty list for no tool.
    #[uniffi(default = None)]
    pub tools: Option<Vec<String>>,
    /// MCP servers.
    #[uniffi(default)]
    pub mcp_configs: Vec<AgentDocument>,
    /// Use no other MCP servers than these.
    #[uniffi(default = false)]
    pub strict_mcp_config: bool,
    /// More settings.
    #[uniffi(default = None)]
    pub settings: Option<AgentDocument>,
    /// The places that settings are read from; an empty list reads none.
    #[uniffi(default = None)]
    pub setting_sources: Option<Vec<SettingSource>>,
    /// The embedder's policy.
    #[uniffi(default = None)]
    pub managed_settings: Option<AgentDocument>,
    /// Where the project's settings are, if not in the working directory.
    #[uniffi(default = None)]
    pub project_config_root: Option<String>,
    /// In place of the agent's system prompt.
    #[uniffi(default = None)]
    pub system_prompt: Option<AgentText>,
    /// Behind the agent's system prompt. A resumed conversation keeps the one it was begun with.
    #[uniffi(default = None)]
    pub append_system_prompt: Option<AgentText>,
    /// Behind the system prompt of sub-agents.
    #[uniffi(default = None)]
    pub append_subagent_system_prompt: Option<String>,
    /// Whether the system prompt is recorded once and kept; the agent does unless told not to.
    #[uniffi(default = None)]
    pub system_prompt_snapshot: Option<bool>,
    /// Tell what differs from machine to machine in the first message.
    #[uniffi(default = false)]
    pub without_dynamic_prompt: bool,
    /// More folders that the agent may use.
    #[uniffi(default)]
    pub add_dirs: Vec<String>,
    /// Most turns of the model in answer to one prompt.
    #[uniffi(default = None)]
    pub max_turns: Option<u32>,
    /// Tokens for one task.
    #[uniffi(default = None)]
    pub task_budget: Option<u64>,
    /// Most US dollars since the agent's start.
    #[uniffi(default = None)]
    pub max_budget_usd: Option<f64>,
    /// The JSON schema of the answer.
    #[uniffi(default = None)]
    pub json_schema: Option<String>,
    /// The agent definition for this session.
    #[uniffi(default = None)]
    pub agent: Option<String>,
    /// More agent definitions.
    #[uniffi(default = None)]
    pub agents: Option<AgentDocument>,
    /// Folders or archives of plugins.
    #[uniffi(default)]
    pub plugin_dirs: Vec<String>,
    /// The same, without their MCP servers.
    #[uniffi(default)]
    pub plugin_dirs_without_mcp: Vec<String>,
    /// Archives of plugins, by URL.
    #[uniffi(default)]
    pub plugin_urls: Vec<String>,
    /// No hooks, plugins, MCP discovery or memory files; an API key only.
    #[uniffi(default = false)]
    pub bare: bool,
    /// Nothing that is customised.
    #[uniffi(default = false)]
    pub safe_mode: bool,
    /// No tools that run commands, and no settings of user or project.
    #[uniffi(default = false)]
    pub restricted: bool,
    /// Debug messages of these categories; an empty text for all.
    #[uniffi(default = None)]
    pub debug: Option<String>,
    /// The file for debug messages.
    #[uniffi(default = None)]
    pub debug_file: Option<String>,
    /// The session's name for people.
    #[uniffi(default = None)]
    pub name: Option<String>,
    /// A git worktree for this session, by name.
    #[uniffi(default = None)]
    pub worktree: Option<String>,
    /// No skills and no slash commands.
    #[uniffi(default = false)]
    pub without_slash_commands: bool,
    /// Beta headers of the API.
    #[uniffi(default)]
    pub betas: Vec<String>,
    /// Files to fetch at the start, as `id:relative-path`.
    #[uniffi(default)]
    pub files: Vec<String>,
    /// Stream each message as it is written.
    #[uniffi(default = false)]
    pub partial_messages: bool,
    /// Repeat the host's messages on the output.
    #[uniffi(default = false)]
    pub replay_user_messages: bool,
    /// Pass on what sub-agents say.
    #[uniffi(default = false)]
    pub forward_subagent_text: bool,
    /// Tell of every hook on the output.
    #[uniffi(default = false)]
    pub hook_events: bool,
    /// Suggest the next prompt after each turn.
    #[uniffi(default = None)]
    pub prompt_suggestions: Option<bool>,
    /// Do nothing before the host has said `initialize`.
    #[uniffi(default = false)]
    pub await_initialize: bool,
    /// Arguments in front of all others, as they are.
    #[uniffi(default)]
    pub leading_args: Vec<String>,
    /// Arguments behind all others but the prompt, as they are.
    #[uniffi(default)]
    pub trailing_args: Vec<String>,
}

/// A JSON document for the agent.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum AgentDocument {
    /// JSON in the argument itself, which every user of the machine can read.
    Json {
        /// The document.
        json: String,
    },
    /// A file of the host's.
    File {
        /// Its path.
        path: String,
    },
    /// A document that nobody else can open: for secrets.
    Private {
        /// The document.
        json: String,
    },
}

/// A text for the agent.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum AgentText {
    /// In the argument itself.
    Inline {
        /// The text.
        text: String,
    },
    /// A file of the host's.
    File {
        /// Its path.
        path: String,
    },
}

/// How hard the model thinks.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum Effort {
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

/// Whether the model thinks.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum Thinking {
    /// `enabled`.
    Enabled,
    /// `adaptive`.
    Adaptive,
    /// `disabled`.
    Disabled,
}

/// How far permissions may be left out.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum SkipPermissions {
    /// Not at all.
    Never,
    /// The host may switch to it later.
    Allowed,
    /// From the start. The agent refuses it to root.
    Now,
}

/// Who answers when the agent must ask.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum PermissionPrompts {
    /// The host, or the permission tool.
    Host,
    /// Nobody: what would ask is denied.
    Nobody,
}

/// A place that the agent reads settings from.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum SettingSource {
    /// The user's.
    User,
    /// The project's.
    Project,
    /// The project's on this machine.
    Local,
}

/// Enums whose variants have the same names on both sides.
macro_rules! same {
    ($($name:ident { $($variant:ident),* })*) => {
        $(impl From<$name> for core::$name {
            fn from(value: $name) -> Self {
                match value {
                    $($name::$variant => Self::$variant,)*
                }
            }
        })*
    };
}

same! {
    Effort { Low, Medium, High, ExtraHigh, Max }
    Thinking { Enabled, Adaptive, Disabled }
    SkipPermissions { Never, Allowed, Now }
    PermissionPrompts { Host, Nobody }
    SettingSource { User, Project, Local }
}

impl From<AgentText> for core::AgentText {
    fn from(text: AgentText) -> Self {
        match text {
            AgentText::Inline { text } => Self::Inline(text),
            AgentText::File { path } => Self::File(path.into()),
        }
    }
}

fn document(document: Option<AgentDocument>) -> Outcome<Option<core::AgentDocument>> {
    let Some(document) = document else {
        return Ok(None);
    };
    Ok(Some(match document {
        AgentDocument::Json { json } => core::AgentDocument::Json(json),
        AgentDocument::File { path } => core::AgentDocument::File(path.into()),
        AgentDocument::Private { json } => {
            let file = core::PrivateFile::new(json.as_bytes());
            let file = file.map_err(|error| BowlineError::Io {
                reason: format!("write a private document: {error}, check the temporary folder"),
            })?;
            core::AgentDocument::Private(Arc::new(file))
        }
    }))
}

fn documents(all: Vec<AgentDocument>) -> Outcome<Vec<core::AgentDocument>> {
    let each = all.into_iter().map(|it| document(Some(it)));
    Ok(each
        .collect::<Outcome<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}

impl TryFrom<AgentOptions> for core::AgentOptions {
    type Error = BowlineError;

    fn try_from(it: AgentOptions) -> Outcome<Self> {
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
            mcp_configs: documents(it.mcp_configs)?,
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
