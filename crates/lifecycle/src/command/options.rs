//! What a host can ask of the agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_transport::Environment;

use super::value::{
    AgentDocument, AgentMode, AgentText, Effort, PermissionPrompts, SettingSource, SkipPermissions,
    Thinking,
};
use super::{AgentCommand, CommandError, check, flags};
use crate::configuration::Conversation;
use crate::private_file::PrivateFile;

/// Typed options of the agent's command line (protocol, section C). The default is a dialogue in
/// which the agent chooses for itself.
///
/// Values are joined to their flags with `=`, so that one that begins with a dash is never taken
/// for a flag.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// How the agent talks to its host.
    pub mode: AgentMode,
    /// Which conversation it is about.
    pub conversation: Conversation,
    /// The id of the copy, a fresh UUID, where the conversation is a fork.
    pub fork_as: Option<String>,
    /// Resume only up to this message, by its uuid.
    pub resume_at: Option<String>,
    /// With `resume_at`: the uuid of the prompt whose turn is dropped; the agent checks it.
    pub drop_turn: Option<String>,
    /// Write nothing about the conversation to disk.
    pub without_persistence: bool,
    /// Repeat on the output what is written to disk.
    pub mirror: bool,
    /// The model.
    pub model: Option<String>,
    /// Models for when that one is busy, in order.
    pub fallback_models: Vec<String>,
    /// How hard the model thinks.
    pub effort: Option<Effort>,
    /// Whether it thinks.
    pub thinking: Option<Thinking>,
    /// The most tokens that it thinks.
    pub max_thinking_tokens: Option<u32>,
    /// The permission mode.
    pub permission_mode: Option<String>,
    /// How far permissions may be left out.
    pub skip_permissions: SkipPermissions,
    /// Who is asked: `stdio` for the host, or a tool of an MCP server.
    pub permission_prompt_tool: Option<String>,
    /// Whether anybody is asked.
    pub permission_prompts: Option<PermissionPrompts>,
    /// Tools that need no permission, as the agent's rules spell them (`Bash(git:*)`).
    pub allowed_tools: Vec<String>,
    /// Tools that may not be used.
    pub disallowed_tools: Vec<String>,
    /// The built-in tools that there are; none for the default set, an empty list for no tool.
    pub tools: Option<Vec<String>>,
    /// MCP servers.
    pub mcp_configs: Vec<AgentDocument>,
    /// Use no other MCP servers than these.
    pub strict_mcp_config: bool,
    /// More settings.
    pub settings: Option<AgentDocument>,
    /// The places that settings are read from; an empty list reads none.
    pub setting_sources: Option<Vec<SettingSource>>,
    /// The embedder's policy.
    pub managed_settings: Option<AgentDocument>,
    /// Where the project's settings are, if not in the working directory.
    pub project_config_root: Option<PathBuf>,
    /// In place of the agent's system prompt.
    pub system_prompt: Option<AgentText>,
    /// Behind the agent's system prompt. A resumed conversation keeps the one it was begun with.
    pub append_system_prompt: Option<AgentText>,
    /// Behind the system prompt of sub-agents.
    pub append_subagent_system_prompt: Option<String>,
    /// Whether the system prompt is recorded once and kept; the agent does unless told not to.
    pub system_prompt_snapshot: Option<bool>,
    /// Tell what differs from machine to machine in the first message.
    pub without_dynamic_prompt: bool,
    /// More folders that the agent may use.
    pub add_dirs: Vec<PathBuf>,
    /// Most turns of the model in answer to one prompt.
    pub max_turns: Option<u32>,
    /// Tokens for one task.
    pub task_budget: Option<u64>,
    /// Most US dollars since the agent's start.
    pub max_budget_usd: Option<f64>,
    /// The JSON schema of the answer.
    pub json_schema: Option<String>,
    /// The agent definition for this session.
    pub agent: Option<String>,
    /// More agent definitions.
    pub agents: Option<AgentDocument>,
    /// Folders or archives of plugins.
    pub plugin_dirs: Vec<PathBuf>,
    /// The same, without their MCP servers.
    pub plugin_dirs_without_mcp: Vec<PathBuf>,
    /// Archives of plugins, by URL.
    pub plugin_urls: Vec<String>,
    /// No hooks, plugins, MCP discovery or memory files; an API key only.
    pub bare: bool,
    /// Nothing that is customised.
    pub safe_mode: bool,
    /// No tools that run commands, and no settings of user or project.
    pub restricted: bool,
    /// Debug messages of these categories; an empty text for all.
    pub debug: Option<String>,
    /// The file for debug messages.
    pub debug_file: Option<PathBuf>,
    /// The session's name for people.
    pub name: Option<String>,
    /// A git worktree for this session, by name.
    pub worktree: Option<String>,
    /// No skills and no slash commands.
    pub without_slash_commands: bool,
    /// Beta headers of the API.
    pub betas: Vec<String>,
    /// Files to fetch at the start, as `id:relative-path`.
    pub files: Vec<String>,
    /// Stream each message as it is written.
    pub partial_messages: bool,
    /// Repeat the host's messages on the output.
    pub replay_user_messages: bool,
    /// Pass on what sub-agents say.
    pub forward_subagent_text: bool,
    /// Tell of every hook on the output.
    pub hook_events: bool,
    /// Suggest the next prompt after each turn.
    pub prompt_suggestions: Option<bool>,
    /// Do nothing before the host has said `initialize`.
    pub await_initialize: bool,
    /// The prompt as an argument, which every user of the machine can read, and of 128 KiB at
    /// most. Standard input has neither fault.
    pub prompt: Option<String>,
    /// Arguments in front of all others, as they are.
    pub leading_args: Vec<OsString>,
    /// Arguments behind all others but the prompt, as they are.
    pub trailing_args: Vec<OsString>,
}

impl AgentOptions {
    /// Checks the options and writes the command. Paths are looked up from `cwd`, where the agent
    /// will run, or from the host's own working directory.
    ///
    /// # Errors
    ///
    /// What the agent would refuse after its start, most often with exit code 1 and no output.
    pub fn command(
        &self,
        program: impl Into<OsString>,
        cwd: Option<&Path>,
        env: Environment,
    ) -> Result<AgentCommand, CommandError> {
        check::check(self, cwd)?;
        Ok(AgentCommand {
            program: program.into(),
            args: flags::args(self)?,
            env,
        })
    }

    /// The files that are gone when nobody has them: the agent opens them by their paths, when it
    /// comes to it.
    pub(crate) fn private_files(&self) -> Vec<Arc<PrivateFile>> {
        let documents = self.mcp_configs.iter();
        let others = [&self.settings, &self.managed_settings, &self.agents];
        let documents = documents.chain(others.into_iter().flatten());
        let files = documents.filter_map(|document| match document {
            AgentDocument::Private(file) => Some(Arc::clone(file)),
            AgentDocument::Json(_) | AgentDocument::File(_) => None,
        });
        files.collect()
    }
}
