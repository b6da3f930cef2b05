//! The configuration of a dialogue session.

mod process;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bowline_reducer::Window;
use bowline_reducer::dialect::DialectName;
use bowline_transport::{Environment, LoginShell, PtyBackend, TerminationPolicy};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::agent::KnownAgent;
use crate::budget::Budget;
use crate::command::AgentOptions;
use crate::control::{SESSION_POLICY, SessionOpening};
use crate::conversations::Conversation;
use crate::error::ResumeError;
use crate::exit_policy::ExitPolicy;
use crate::machine::{Limits, Opening};
use crate::mcp::McpServer;
use crate::policy::Policy;
use crate::policy_file::parse_policy;
use crate::shared_budget::SharedBudget;
use crate::watchdog::WatchdogPolicy;

/// The default of the agent vendor's own hosts (`crates/jsonl/PROTOCOL.md`).
const CONTROL_TIMEOUT: Duration = Duration::from_secs(60);

/// As much as a session of a runner keeps.
const KEPT_OUTPUT: usize = 1 << 20;

const END_GRACE: Duration = Duration::from_secs(30);

/// The configuration of a dialogue session: the agent, its options, and its supervision.
#[derive(Clone, Debug)]
pub struct DialogueConfiguration {
    /// The agent's program: a name that is looked up in `PATH`, or a path.
    pub program: OsString,
    /// The protocol that the agent speaks.
    pub dialect: DialectName,
    /// Arguments before those that this crate adds.
    pub leading_args: Vec<OsString>,
    /// Arguments after those that this crate adds.
    pub args: Vec<OsString>,
    /// Further options of the agent. A field of this structure takes precedence over an option of the
    /// same meaning. The session keeps private files among these until its end.
    pub options: AgentOptions,
    /// The agent's environment.
    pub env: Environment,
    /// Where the agent runs.
    pub location: AgentLocation,
    /// Display name of a session at a runner, which `bowline ps` shows. A local session has none.
    pub name: Option<String>,
    /// Labels of a session at a runner, to find it by. Those that begin with `bowline.` are reserved.
    pub labels: BTreeMap<String, String>,
    /// The hooks of an agent at a runner, which serves them, as `bowline_hooks::HookServer::spec` describes them
    /// in JSON. `HookFeed` has their events. For Claude Code, without other settings.
    pub hooks: Option<Value>,
    /// The agent's working directory; the host's own when absent.
    pub cwd: Option<PathBuf>,
    /// The type of the agent's standard streams.
    pub stdio: DialogueStdio,
    /// The implementation that opens the terminal of [`DialogueStdio::Pty`] on this machine. A runner uses
    /// its own.
    pub pty_backend: PtyBackend,
    /// The conversation to begin or resume.
    pub conversation: Conversation,
    /// The past of the conversation, which the transcript begins with: a stream in the agent's output
    /// format, as `bowline_history::Past` has it. It is folded before the first output of the agent, and again for
    /// evicted entries, so that it stays in memory. At a runner it is that which the runner keeps of a resumed
    /// conversation, as for every other host of the session; this one is used if the runner keeps none.
    pub history: Option<Bytes>,
    /// The agent's own folder, as [`agent_directory`](crate::agent_directory) finds it. If set, the
    /// conversation is [verified](Conversation::verified) before the start; otherwise the agent
    /// reports a missing conversation with its first turn.
    pub agent_directory: Option<PathBuf>,
    /// The model; the agent's default when absent.
    pub model: Option<String>,
    /// The permission mode; the agent's default when absent.
    pub permission_mode: Option<String>,
    /// Tools that need no permission, in the syntax of the agent's rules (`Bash(git:*)`).
    pub allowed_tools: Vec<String>,
    /// MCP servers that the agent connects to, beside those that it is configured with. A session with one that
    /// the agent cannot reach is refused. Claude Code has them in its arguments, which every user of the machine
    /// can read; [`AgentOptions::mcp_configs`] takes private files.
    pub mcp_servers: Vec<McpServer>,
    /// Whether messages are streamed while the model writes them.
    pub partial_messages: bool,
    /// Whether the host is asked for permissions; otherwise the agent denies what needs one.
    pub ask_permissions: bool,
    /// Rules that answer permission requests before a user is asked. They hold for the requests that the agent
    /// sends, so only with `ask_permissions`; a session at a runner that its daemon drives has its own.
    pub policy: Policy,
    /// What the session may use before it pauses and asks, by a permission request with a question. It is kept by
    /// the driver of the session; a session at a runner that its daemon drives has its own.
    pub budget: Budget,
    /// A budget that the session shares with others, at whichever runner they are. It is kept by this host.
    pub shared_budget: Option<SharedBudget>,
    /// The prompt with which the session continues after a turn that met a usage limit of the agent's account, once the
    /// limit resets. Until then prompts wait, and a permission request with the tool name `usage_limit` says for how
    /// long. Without a prompt the session waits for its host. It is kept by the driver of the session, as the budget.
    pub resume_at_reset: Option<String>,
    /// Whether the session begins with an `initialize` request. It also asks for the text of sub-agents
    /// in the foreground, which an agent that cannot send it ignores.
    pub initialize: bool,
    /// Longest line of the agent that is parsed, in bytes.
    pub max_line: usize,
    /// The part of the transcript that is kept in memory; all of it when absent.
    pub window: Option<Window>,
    /// Bytes of the agent's standard error that are kept: one half from its beginning, the other from
    /// its end.
    pub stderr_bytes: usize,
    /// Bytes of the agent's output that are kept in memory for a [`RawOutput`](crate::RawOutput) or a recording
    /// that begins later, and as many of its standard error and of the input. With 0 none are kept: a late
    /// reader gets a gap.
    pub kept_output: usize,
    /// Timeout of a control request.
    pub control_timeout: Duration,
    /// Time that an agent has to finish its turn and exit before it is terminated.
    pub end_grace: Duration,
    /// How long it may take to exit once its turn is finished. The time counts towards `end_grace`.
    pub exit: ExitPolicy,
    /// What is done about a silent agent.
    pub watchdog: WatchdogPolicy,
    /// How the agent is terminated.
    pub termination: TerminationPolicy,
    /// A program that begins with a call of [`run_guard`](crate::run_guard), such as the host itself.
    /// It terminates the agent and its descendants if the host is killed. The default is
    /// [`default_guard`](crate::default_guard): `bowline`, if it is installed. Without a guard they
    /// survive a SIGKILL of the host, and those that do not read their input any exit of it.
    pub guard: Option<PathBuf>,
    /// Whether `DialogueSession::attach` joins the host that drives a session,
    /// instead of taking over from it. Both write whole lines, each once. A session that a daemon drives is always
    /// joined.
    pub joins: bool,
    /// A file to record the agent's output in, byte for byte; or, if its name ends in `.bjl`, a
    /// journal of output, standard error and input. It must not exist.
    pub record: Option<PathBuf>,
}

/// Where the agent runs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum AgentLocation {
    /// As a child of this process, which ends with its session.
    #[default]
    Local,
    /// At a runner, where it outlives its hosts. Paths in the configuration refer to the runner's
    /// machine.
    #[cfg(feature = "remote")]
    Runner(bowline_transport::Remote),
}

/// The type of the agent's standard streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DialogueStdio {
    /// Pipes: bytes arrive unchanged, and the input can be closed.
    #[default]
    Pipes,
    /// A terminal in raw mode. The agent refuses a terminal as its input, so the input passes through
    /// `cat`; standard error is part of the output.
    Pty,
}

impl Default for DialogueConfiguration {
    fn default() -> Self {
        Self {
            program: "claude".into(),
            dialect: DialectName::Claude,
            leading_args: Vec::new(),
            args: Vec::new(),
            options: AgentOptions::default(),
            env: Environment::inherited(),
            location: AgentLocation::Local,
            name: None,
            labels: BTreeMap::new(),
            hooks: None,
            cwd: None,
            stdio: DialogueStdio::default(),
            pty_backend: PtyBackend::default(),
            conversation: Conversation::default(),
            history: None,
            agent_directory: None,
            model: None,
            permission_mode: None,
            allowed_tools: Vec::new(),
            mcp_servers: Vec::new(),
            partial_messages: true,
            ask_permissions: true,
            policy: Policy::default(),
            budget: Budget::default(),
            shared_budget: None,
            resume_at_reset: None,
            initialize: true,
            max_line: bowline_jsonl::DEFAULT_MAX_LINE,
            kept_output: KEPT_OUTPUT,
            window: None,
            stderr_bytes: 64 << 10,
            control_timeout: CONTROL_TIMEOUT,
            end_grace: END_GRACE,
            exit: ExitPolicy::default(),
            watchdog: WatchdogPolicy::default(),
            termination: TerminationPolicy::default(),
            guard: None,
            joins: false,
            record: None,
        }
    }
}

impl DialogueConfiguration {
    /// Sets the program, its protocol and the arguments that select the protocol. By default a
    /// [known agent](KnownAgent), by its name or the path of its program, is driven by its preferred
    /// protocol, and any other by Claude Code's.
    pub fn set_agent(&mut self, program: impl Into<OsString>, dialect: Option<DialectName>) {
        self.program = program.into();
        let known = KnownAgent::find(&self.program);
        let preferred = known.map_or(DialectName::Claude, KnownAgent::dialect);
        self.dialect = dialect.unwrap_or(preferred);
        self.leading_args = known.map_or_else(Vec::new, |it| it.args(self.dialect));
    }

    /// Replaces the environment by that of a login shell, for a host that was not started from a shell
    /// and whose `PATH` lacks the agent. The environment is captured once for all sessions, see
    /// [`LoginShell::environment`]; if that fails, this process's environment is used.
    pub async fn with_login_environment(mut self, shell: &LoginShell) -> Self {
        self.env = shell.environment().await.environment();
        self
    }

    /// Returns the settings and limits for a report, without the environment and the conversation.
    pub(crate) fn summary(&self) -> Value {
        let text = |it: &OsString| it.to_string_lossy().into_owned();
        json!({
            "program": text(&self.program),
            "args": self.args.iter().map(text).collect::<Vec<_>>(),
            "cwd": self.cwd.as_ref().map(|cwd| cwd.display().to_string()),
            "model": self.model,
            "permission_mode": self.permission_mode,
            "partial_messages": self.partial_messages,
            "ask_permissions": self.ask_permissions,
            "is_local": matches!(self.location, AgentLocation::Local),
            "has_guard": self.guard.is_some(),
            "is_recorded": self.record.is_some(),
            "limits": {
                "max_line": self.max_line,
                "kept_output": self.kept_output,
                "stderr_bytes": self.stderr_bytes,
                "control_timeout_ms": self.control_timeout.as_millis() as u64,
                "end_grace_ms": self.end_grace.as_millis() as u64,
                "window": self.window.map(|window| format!("{window:?}")),
                "watchdog": format!("{:?}", self.watchdog),
                "termination": format!("{:?}", self.termination),
            },
        })
    }

    /// Returns whether the agent runs on this machine.
    pub(crate) const fn is_local(&self) -> bool {
        matches!(self.location, AgentLocation::Local)
    }

    /// Verifies the conversation, if the agent's folder is set and on this machine.
    pub(crate) fn verified(mut self) -> Result<Self, ResumeError> {
        if let (Some(folder), AgentLocation::Local, DialectName::Claude) =
            (&self.agent_directory, &self.location, self.dialect)
        {
            let cwd = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
            self.conversation = self.conversation.verified(folder, &cwd)?;
        }
        Ok(self)
    }

    /// Returns what a session with a handshake begins with.
    pub(crate) fn opening(&self) -> Opening {
        let current = || match self.location {
            AgentLocation::Local => std::env::current_dir().ok(),
            #[cfg(feature = "remote")]
            AgentLocation::Runner(_) => None,
        };
        let cwd = match &self.cwd {
            Some(cwd) if cwd.is_relative() => current().map(|it| it.join(cwd)),
            Some(cwd) => Some(cwd.clone()),
            None => current(),
        };
        Opening {
            cwd: cwd.map(|it| it.to_string_lossy().into_owned()),
            model: self.model.clone().or_else(|| self.options.model.clone()),
            mode: self
                .permission_mode
                .clone()
                .or_else(|| self.options.permission_mode.clone()),
            effort: self.options.effort.map(|it| it.word().to_owned()),
            conversation: self.conversation.clone(),
            has_past: self.history.is_some(),
            is_resumed: false,
            asks_permissions: self.ask_permissions,
            mcp_servers: self.mcp_servers.clone(),
        }
    }
}

impl From<&DialogueConfiguration> for Limits {
    fn from(configuration: &DialogueConfiguration) -> Self {
        Self {
            max_line: configuration.max_line,
            window: configuration.window,
            stderr_bytes: configuration.stderr_bytes,
            control_timeout: configuration.control_timeout,
            end_grace: configuration.end_grace,
            exit: configuration.exit,
            termination: configuration.termination,
            initialize: configuration.initialize,
            watchdog: configuration.watchdog,
        }
    }
}

impl SessionOpening {
    /// Returns the configuration with which a session is driven.
    #[must_use]
    pub fn configuration(&self) -> DialogueConfiguration {
        let mut configuration = DialogueConfiguration::default();
        let dialect: Option<DialectName> = self.dialect.parse().ok();
        configuration.set_agent(&self.program, dialect);
        configuration.cwd = Some(self.cwd.clone());
        configuration.model.clone_from(&self.model);
        configuration.permission_mode.clone_from(&self.mode);
        configuration.mcp_servers.clone_from(&self.mcp_servers);
        configuration.budget = self.budget.into();
        configuration
            .resume_at_reset
            .clone_from(&self.resume_at_reset);
        if let Some(policy) = &self.policy {
            // It was checked at the start. Where a later version cannot read it, a user is asked.
            configuration.policy = parse_policy(policy, SESSION_POLICY).unwrap_or_default();
        }
        if let Some(id) = self.resume.clone() {
            let fork = self.fork;
            configuration.conversation = Conversation::Resume { id, fork };
        }
        configuration
    }
}

#[cfg(test)]
mod tests {
    use bowline_transport::SpawnError;

    use super::*;
    use crate::error::StartError;

    fn line(configuration: &DialogueConfiguration) -> String {
        let args = configuration.terminal().expect("the agent is there").args;
        args.iter()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn configuration_becomes_arguments() {
        let configuration = DialogueConfiguration {
            leading_args: vec!["first".into()],
            args: vec!["last".into()],
            model: Some("-m".into()),
            permission_mode: Some("plan".into()),
            allowed_tools: vec!["Read".into(), "Bash(git:*)".into()],
            conversation: Conversation::Resume {
                id: "-x".into(),
                fork: true,
            },
            ..DialogueConfiguration::default()
        };
        assert_eq!(
            line(&configuration),
            "first --print --output-format=stream-json --verbose --input-format=stream-json \
             --replay-user-messages --include-partial-messages --model=-m \
             --permission-mode=plan --allowedTools=Read,Bash(git:*) --permission-prompt-tool=stdio \
             --resume=-x --fork-session last"
        );
    }

    #[test]
    fn terminal_input_passes_through_cat() {
        let mut configuration = DialogueConfiguration {
            program: "cat".into(),
            stdio: DialogueStdio::Pty,
            pty_backend: PtyBackend::Native,
            ..DialogueConfiguration::default()
        };
        let terminal = configuration.terminal().expect("every system has a cat");
        assert_eq!(terminal.program, "/bin/sh");
        assert_eq!(terminal.pty_backend, PtyBackend::Native);
        assert!(line(&configuration).starts_with("-c exec 3<&0; { cat <&3 3<&- & } | "));
        assert!(terminal.args[2].to_string_lossy().ends_with("/cat"));
        configuration.program = "no-such-agent-anywhere".into();
        assert!(matches!(
            configuration.terminal(),
            Err(StartError::Spawn(SpawnError::NotFound { .. }))
        ));
    }
}
