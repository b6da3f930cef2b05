//! Options of the agent's command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use super::value::{
    AgentDocument, AgentMode, AgentText, Effort, PermissionPrompts, SettingSource, SkipPermissions,
    Thinking,
};
use crate::conversations::Conversation;
use crate::private_file::PrivateFile;

/// Typed options of the agent's command line. The default is a dialogue with the agent's own defaults.
///
/// Values are joined to their flags by `=`, so that a value with a leading dash is not parsed as a flag;
/// except for `--settings`, which older agents accept only as a word of its own.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use bowline_lifecycle::{
///     AgentDocument, AgentEnvironment, AgentMode, AgentOptions, AgentText, Effort, Environment, PrintFormat,
///     PrivateFile, SettingSource, Shell, SkipPermissions, Thinking,
/// };
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut env = Environment::inherited();
/// AgentEnvironment { max_retries: Some(3), ..AgentEnvironment::default() }.apply(&mut env)?;
/// let options = AgentOptions {
///     mode: AgentMode::Print(PrintFormat::Json),
///     effort: Some(Effort::High),
///     thinking: Some(Thinking::Adaptive),
///     setting_sources: Some(vec![SettingSource::Project]),
///     skip_permissions: SkipPermissions::Never,
///     append_system_prompt: Some(AgentText::Inline("Answer in one line.".to_owned())),
///     // A secret does not belong on a command line, which every user of the machine can read.
///     mcp_configs: vec![AgentDocument::Private(Arc::new(PrivateFile::new(b"{\"mcpServers\":{}}")?))],
///     prompt: Some("What does this project do?".to_owned()),
///     ..AgentOptions::default()
/// };
/// // A combination that the agent would refuse is a `CommandError`.
/// let command = options.command("claude", None, env)?;
/// assert!(command.display(Shell::Sh).is_some_and(|line| line.starts_with("claude ")));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// How the agent communicates with its host.
    pub mode: AgentMode,
    /// The conversation to begin or resume.
    pub conversation: Conversation,
    /// The id of the copy, an unused UUID, if the conversation is a fork.
    pub fork_as: Option<String>,
    /// Uuid of the last message to resume.
    pub resume_at: Option<String>,
    /// With `resume_at`: the uuid of the prompt whose turn is dropped. The agent checks it.
    pub drop_turn: Option<String>,
    /// Whether the conversation is kept off the disk.
    pub without_persistence: bool,
    /// Whether lines that are written to disk are repeated on the output.
    pub mirror: bool,
    /// The model.
    pub model: Option<String>,
    /// Models to use when that one is overloaded, in order.
    pub fallback_models: Vec<String>,
    /// The effort of the model.
    pub effort: Option<Effort>,
    /// Whether it uses extended thinking.
    pub thinking: Option<Thinking>,
    /// Maximum number of thinking tokens.
    pub max_thinking_tokens: Option<u32>,
    /// The permission mode.
    pub permission_mode: Option<String>,
    /// Whether permission checks are skipped.
    pub skip_permissions: SkipPermissions,
    /// The receiver of permission requests: `stdio` for the host, or a tool of an MCP server.
    pub permission_prompt_tool: Option<String>,
    /// Whether permission requests are made.
    pub permission_prompts: Option<PermissionPrompts>,
    /// Tools that need no permission, in the syntax of the agent's rules (`Bash(git:*)`).
    pub allowed_tools: Vec<String>,
    /// Tools that are not available.
    pub disallowed_tools: Vec<String>,
    /// The built-in tools; the default set when absent, none when empty.
    pub tools: Option<Vec<String>>,
    /// MCP servers.
    pub mcp_configs: Vec<AgentDocument>,
    /// Whether other MCP servers are ignored.
    pub strict_mcp_config: bool,
    /// Additional settings.
    pub settings: Option<AgentDocument>,
    /// The sources of settings; none when empty.
    pub setting_sources: Option<Vec<SettingSource>>,
    /// Settings that the embedding host enforces.
    pub managed_settings: Option<AgentDocument>,
    /// The folder of the project's settings, if not the working directory.
    pub project_config_root: Option<PathBuf>,
    /// Replaces the agent's system prompt.
    pub system_prompt: Option<AgentText>,
    /// Appended to the agent's system prompt. A resumed conversation keeps its original prompt.
    pub append_system_prompt: Option<AgentText>,
    /// Appended to the system prompt of sub-agents.
    pub append_subagent_system_prompt: Option<String>,
    /// Whether the system prompt is recorded once and kept; the agent's default is yes.
    pub system_prompt_snapshot: Option<bool>,
    /// Whether details of the machine are in the first message instead of the system prompt.
    pub without_dynamic_prompt: bool,
    /// Additional folders that the agent may access.
    pub add_dirs: Vec<PathBuf>,
    /// Maximum number of model turns per prompt.
    pub max_turns: Option<u32>,
    /// Token budget of one task.
    pub task_budget: Option<u64>,
    /// Maximum cost in US dollars since the agent's start.
    pub max_budget_usd: Option<f64>,
    /// The JSON schema of the answer.
    pub json_schema: Option<String>,
    /// The agent definition for this session.
    pub agent: Option<String>,
    /// Additional agent definitions.
    pub agents: Option<AgentDocument>,
    /// Plugin folders or archives.
    pub plugin_dirs: Vec<PathBuf>,
    /// Plugin folders or archives whose MCP servers are ignored.
    pub plugin_dirs_without_mcp: Vec<PathBuf>,
    /// URLs of plugin archives.
    pub plugin_urls: Vec<String>,
    /// Whether hooks, plugins, MCP discovery and memory files are disabled, and only API keys accepted.
    pub bare: bool,
    /// Whether all customisation is disabled.
    pub safe_mode: bool,
    /// Whether tools that run commands and settings of user and project are disabled.
    pub restricted: bool,
    /// Categories of debug messages; all when empty.
    pub debug: Option<String>,
    /// The file for debug messages.
    pub debug_file: Option<PathBuf>,
    /// Display name of the session.
    pub name: Option<String>,
    /// Name of a git worktree for the session.
    pub worktree: Option<String>,
    /// Whether skills and slash commands are disabled.
    pub without_slash_commands: bool,
    /// Beta headers of the API.
    pub betas: Vec<String>,
    /// Files to download at the start, as `id:relative-path`.
    pub files: Vec<String>,
    /// Whether messages are streamed while the model writes them.
    pub partial_messages: bool,
    /// Whether the host's messages are echoed on the output.
    pub replay_user_messages: bool,
    /// Whether the text of sub-agents is on the output.
    pub forward_subagent_text: bool,
    /// Whether hooks are reported on the output.
    pub hook_events: bool,
    /// Whether the agent suggests the next prompt after each turn.
    pub prompt_suggestions: Option<bool>,
    /// Whether the agent waits for an `initialize` request.
    pub await_initialize: bool,
    /// The prompt as an argument: readable for every user of the machine, and limited to 128 KiB.
    /// Standard input has neither restriction.
    pub prompt: Option<String>,
    /// Arguments before all others, passed unchanged.
    pub leading_args: Vec<OsString>,
    /// Arguments after all others except the prompt, passed unchanged.
    pub trailing_args: Vec<OsString>,
}

impl AgentOptions {
    /// Returns the private files, which must stay open until the agent has read them.
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
