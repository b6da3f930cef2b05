//! The configuration of a dialogue session.

use std::collections::HashMap;

use crate::core::{self, reducer};
use crate::environment::{EnvironmentChanges, ExitPolicy, TerminationPolicy};
use crate::error::{BowlineError, Result};
use crate::history::HistoryConfiguration;
use crate::limits::{duration, positive_size, size};
use crate::mcp::McpServer;
use crate::options::AgentOptions;
use crate::remote::RunnerConfiguration;
use crate::watchdog::WatchdogPolicy;

/// The configuration of a dialogue session. Every field has a default.
#[derive(Clone, Debug, uniffi::Record)]
pub struct DialogueConfiguration {
    /// The agent's path, or a name to look up in `PATH`; the engine's when absent. A known agent (`claude`,
    /// `codex`, `gemini`, `opencode`, `qwen`, `copilot`) gets the arguments that select its protocol.
    #[uniffi(default = None)]
    pub program: Option<String>,
    /// The protocol that the agent speaks: `claude`, `qwen`, `codex` or `acp`. When absent it is that of a known
    /// agent or of the session at the runner, and otherwise Claude Code's.
    #[uniffi(default = None)]
    pub dialect: Option<String>,
    /// The runner to start the agent at; a child process of the host when absent. At a runner the agent outlives
    /// the host, and its program, directories and variables are those of the runner's machine.
    #[uniffi(default = None)]
    pub runner: Option<RunnerConfiguration>,
    /// Arguments before those that the library adds.
    #[uniffi(default)]
    pub leading_args: Vec<String>,
    /// Arguments after those that the library adds.
    #[uniffi(default)]
    pub args: Vec<String>,
    /// Further options of the agent. Fields of this record take precedence.
    #[uniffi(default = None)]
    pub options: Option<AgentOptions>,
    /// Changes to the inherited environment.
    #[uniffi(default = None)]
    pub environment: Option<EnvironmentChanges>,
    /// The display name of a session at a runner, as its list shows it. A manager's label when absent.
    #[uniffi(default = None)]
    pub name: Option<String>,
    /// Labels of a session at a runner, to find it by. Names that begin with `bowline.` are reserved.
    #[uniffi(default)]
    pub labels: HashMap<String, String>,
    /// The hooks of an agent at a runner, as `HookServer.spec` returns them. For Claude Code, without other settings.
    #[uniffi(default = None)]
    pub hooks: Option<String>,
    /// The agent's working directory; the host's when absent.
    #[uniffi(default = None)]
    pub cwd: Option<String>,
    /// The agent's configuration directory. If set, a conversation to resume is looked up in it before
    /// the agent starts; otherwise the agent's first turn shows whether it exists.
    #[uniffi(default = None)]
    pub agent_directory: Option<String>,
    /// The agent's standard streams; pipes when absent.
    #[uniffi(default = None)]
    pub stdio: Option<DialogueStdio>,
    /// The conversation to open; a new one when absent.
    #[uniffi(default = None)]
    pub conversation: Option<Conversation>,
    /// The model; the agent's default when absent.
    #[uniffi(default = None)]
    pub model: Option<String>,
    /// The permission mode; the agent's default when absent.
    #[uniffi(default = None)]
    pub permission_mode: Option<String>,
    /// Tools that need no permission, as rules of the agent such as `Bash(git:*)`.
    #[uniffi(default)]
    pub allowed_tools: Vec<String>,
    /// MCP servers that the agent connects to, beside those of its configuration. One that the agent cannot reach
    /// is refused by its name. Their variables and headers are part of the agent's command line or of its first
    /// messages.
    #[uniffi(default)]
    pub mcp_servers: Vec<McpServer>,
    /// Whether messages are streamed while the model writes them.
    #[uniffi(default = true)]
    pub partial_messages: bool,
    /// Whether the agent sends permission requests to the host. If not, it denies them itself.
    #[uniffi(default = true)]
    pub ask_permissions: bool,
    /// Rules that answer permission requests before the host is asked.
    #[uniffi(default = None)]
    pub policy: Option<PolicySource>,
    /// What the session may use before it pauses and asks, by a permission request with a question.
    #[uniffi(default = None)]
    pub budget: Option<Budget>,
    /// The prompt with which the session continues after a turn that met a usage limit of the agent's account, once
    /// the limit resets. Until then a permission request with the tool name `usage_limit` is open, and the inbox has
    /// `LimitReached` with the time of the reset. Without a prompt the session waits for the host.
    #[uniffi(default = None)]
    pub resume_at_reset: Option<String>,
    /// Whether to send an `initialize` request first.
    #[uniffi(default = true)]
    pub initialize: bool,
    /// The longest line that is parsed, in bytes; 64 MiB when absent. 0 is refused.
    #[uniffi(default = None)]
    pub max_line: Option<u64>,
    /// How much of the transcript is kept in memory; all of it when absent.
    #[uniffi(default = None)]
    pub window: Option<TranscriptWindow>,
    /// How much of the agent's standard error is kept, in bytes: one half from its beginning, one half
    /// from its end.
    #[uniffi(default = 65536)]
    pub stderr_bytes: u64,
    /// How much of the agent's output is kept in memory for `rawOutput` and for a recording that begins later,
    /// in bytes, and as much of its standard error and of its input. With 0 late readers get a gap.
    #[uniffi(default = 1048576)]
    pub kept_output: u64,
    /// How long the agent may take to answer a control request, in milliseconds.
    #[uniffi(default = 60000)]
    pub control_timeout_ms: u64,
    /// How long the agent may take to exit when asked to, in milliseconds. After that it is
    /// terminated.
    #[uniffi(default = 30000)]
    pub end_grace_ms: u64,
    /// How long the agent may take to exit once its turn is finished; the defaults of `ExitPolicy` when
    /// absent. The time counts towards `endGraceMs`.
    #[uniffi(default = None)]
    pub exit: Option<ExitPolicy>,
    /// Where the past of a conversation that is resumed on this machine is read from. The transcript then begins
    /// with it, marked as history; when absent it begins empty. A session at a runner begins with the past that the
    /// runner's machine keeps, and with that of this machine only if the runner keeps none.
    #[uniffi(default = None)]
    pub history: Option<HistoryConfiguration>,
    /// What happens when the agent is silent; `WatchdogPolicy.Standard` when absent.
    #[uniffi(default = None)]
    pub watchdog: Option<WatchdogPolicy>,
    /// How the agent is terminated.
    #[uniffi(default = None)]
    pub termination: Option<TerminationPolicy>,
    /// The path of `bowline`, run as a guard that terminates the agent and its tools if the host is
    /// killed; the engine's when absent.
    #[uniffi(default = None)]
    pub guard: Option<String>,
    /// A file to record the agent's output in, which must not exist. A name that ends in `.bjl`
    /// records a journal of all streams.
    #[uniffi(default = None)]
    pub record: Option<String>,
}

/// The standard streams of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum DialogueStdio {
    /// Pipes.
    Pipes,
    /// A pseudoterminal in raw mode.
    Pty,
}

/// What a session may use. A limit that is absent does not apply.
#[derive(Clone, Copy, Debug, PartialEq, uniffi::Record)]
pub struct Budget {
    /// The cost, in US dollars. Refused for an agent that reports none.
    #[uniffi(default = None)]
    pub cost_usd: Option<f64>,
    /// Tokens of all models: input, output and writes to a cache.
    #[uniffi(default = None)]
    pub tokens: Option<u64>,
    /// Turns.
    #[uniffi(default = None)]
    pub turns: Option<u64>,
    /// The time since the session began, or since its manager was opened, in milliseconds.
    #[uniffi(default = None)]
    pub time_ms: Option<u64>,
}

impl From<Budget> for core::Budget {
    fn from(it: Budget) -> Self {
        Self {
            cost_usd: it.cost_usd,
            tokens: it.tokens,
            turns: it.turns,
            time: it.time_ms.map(duration),
        }
    }
}

impl From<core::Budget> for Budget {
    fn from(it: core::Budget) -> Self {
        let time = it.time.map(|it| u64::try_from(it.as_millis()));
        Self {
            cost_usd: it.cost_usd,
            tokens: it.tokens,
            turns: it.turns,
            time_ms: time.map(|it| it.unwrap_or(u64::MAX)),
        }
    }
}

/// Where the rules of a policy are read from, in TOML (`crates/lifecycle/POLICY.md`).
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum PolicySource {
    /// A text.
    Text {
        /// The rules.
        text: String,
    },
    /// A file on this machine.
    File {
        /// Its path.
        path: String,
    },
}

impl PolicySource {
    fn read(self) -> Result<core::Policy> {
        let (policy, reason) = match self {
            Self::Text { text } => {
                let policy = core::parse_policy(&text, "the policy of the host");
                (
                    policy.as_ref().ok().cloned(),
                    policy.err().map(|it| it.to_string()),
                )
            }
            Self::File { path } => {
                let policy = core::read_policy(path.as_ref());
                let reason = policy.as_ref().err().map(|it| core::error_chain(it));
                (policy.ok(), reason)
            }
        };
        policy.ok_or_else(|| BowlineError::Configuration {
            reason: format!("apply policy: {}", reason.unwrap_or_default()),
        })
    }
}

/// The conversation that a session opens.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Conversation {
    /// A new conversation.
    New,
    /// A new conversation with an id of the host's choice.
    NewAs {
        /// A UUID that the agent has not used.
        id: String,
    },
    /// A conversation that the agent has stored.
    Resume {
        /// The conversation's id.
        id: String,
        /// Whether to continue in a copy with a new id.
        fork: bool,
    },
    /// The most recent conversation of the working directory.
    Newest,
}

/// How much of a transcript is kept in memory. Older entries are dropped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TranscriptWindow {
    /// The maximum number of entries of all threads; no limit when absent.
    #[uniffi(default = None)]
    pub entries: Option<u64>,
    /// The maximum amount of text, in bytes; no limit when absent.
    #[uniffi(default = None)]
    pub bytes: Option<u64>,
}

impl From<Conversation> for core::Conversation {
    fn from(conversation: Conversation) -> Self {
        match conversation {
            Conversation::New => Self::New,
            Conversation::NewAs { id } => Self::NewAs(id),
            Conversation::Resume { id, fork } => Self::Resume { id, fork },
            Conversation::Newest => Self::Continue,
        }
    }
}

impl From<TranscriptWindow> for reducer::Window {
    fn from(window: TranscriptWindow) -> Self {
        let entries = window.entries.map_or(usize::MAX, size);
        let bytes = window.bytes.unwrap_or(u64::MAX);
        Self { entries, bytes }
    }
}

impl DialogueConfiguration {
    /// Converts the configuration of a session to start, and reads the past of its conversation.
    pub(crate) async fn prepared(mut self) -> Result<core::DialogueConfiguration> {
        let history = self.history.take();
        let mut configuration = self.try_into()?;
        if let Some(history) = history {
            history.add_past(&mut configuration).await?;
        }
        Ok(configuration)
    }
}

fn parse_dialect(name: &str) -> Result<core::DialectName> {
    name.parse().map_err(|error| BowlineError::Configuration {
        reason: format!("apply dialect: {error}"),
    })
}

fn parse_hooks(text: &str) -> Result<serde_json::Value> {
    serde_json::from_str(text).map_err(|error| BowlineError::Configuration {
        reason: format!("apply hooks: {error}; pass what HookServer.spec returns"),
    })
}

impl TryFrom<DialogueConfiguration> for core::DialogueConfiguration {
    type Error = BowlineError;

    fn try_from(it: DialogueConfiguration) -> Result<Self> {
        let mut plain = Self::default();
        let dialect = it.dialect.as_deref().map(parse_dialect).transpose()?;
        let program = it.program.map_or_else(|| plain.program.clone(), Into::into);
        plain.set_agent(program, dialect);
        let leading_args = it.leading_args.into_iter().map(Into::into);
        Ok(Self {
            name: it.name,
            hooks: it.hooks.as_deref().map(parse_hooks).transpose()?,
            labels: it.labels.into_iter().collect(),
            location: match it.runner {
                Some(runner) => runner.try_into()?,
                None => core::AgentLocation::Local,
            },
            program: plain.program,
            dialect: plain.dialect,
            leading_args: plain.leading_args.into_iter().chain(leading_args).collect(),
            args: it.args.into_iter().map(Into::into).collect(),
            options: it.options.unwrap_or_default().try_into()?,
            env: it.environment.unwrap_or_default().into(),
            cwd: it.cwd.map(Into::into),
            agent_directory: it.agent_directory.map(Into::into),
            stdio: match it.stdio {
                Some(DialogueStdio::Pty) => core::DialogueStdio::Pty,
                _ => core::DialogueStdio::Pipes,
            },
            pty_backend: plain.pty_backend,
            conversation: it.conversation.map(Into::into).unwrap_or_default(),
            model: it.model,
            permission_mode: it.permission_mode,
            allowed_tools: it.allowed_tools,
            partial_messages: it.partial_messages,
            ask_permissions: it.ask_permissions,
            policy: match it.policy {
                Some(policy) => policy.read()?,
                None => plain.policy,
            },
            budget: it.budget.map(Into::into).unwrap_or_default(),
            shared_budget: None,
            resume_at_reset: it.resume_at_reset,
            initialize: it.initialize,
            max_line: match it.max_line {
                Some(max_line) => positive_size("maxLine", max_line)?,
                None => plain.max_line,
            },
            window: it.window.map(Into::into),
            stderr_bytes: size(it.stderr_bytes),
            kept_output: size(it.kept_output),
            control_timeout: duration(it.control_timeout_ms),
            end_grace: duration(it.end_grace_ms),
            exit: it.exit.map_or(plain.exit, Into::into),
            history: plain.history,
            mcp_servers: it.mcp_servers.into_iter().map(Into::into).collect(),
            watchdog: it.watchdog.map(Into::into).unwrap_or_default(),
            termination: it.termination.map(Into::into).unwrap_or_default(),
            guard: it.guard.map(Into::into),
            joins: plain.joins,
            record: it.record.map(Into::into),
        })
    }
}
