//! What a dialogue is made from.

use std::time::Duration;

use crate::core::{self, reducer};

use crate::environment::{EndLadder, EnvironmentChanges};
use crate::error::{BowlineError, Outcome};
use crate::options::AgentOptions;
use crate::remote::RunnerConfiguration;
use crate::watchdog::WatchdogConfiguration;

/// What a dialogue is made from. Everything has a default.
#[derive(Clone, Debug, uniffi::Record)]
pub struct DialogueConfiguration {
    /// The agent: a name that is looked up in `PATH`, or a path. The engine's when absent.
    #[uniffi(default = None)]
    pub program: Option<String>,
    /// The runner that the agent is to run at; it runs here, as a child of this process, when absent.
    #[uniffi(default = None)]
    pub runner: Option<RunnerConfiguration>,
    /// Arguments in front of those that the library adds.
    #[uniffi(default)]
    pub leading_args: Vec<String>,
    /// Arguments behind those that the library adds.
    #[uniffi(default)]
    pub args: Vec<String>,
    /// What else the agent is told. Where a member of this record says the same, that one counts.
    #[uniffi(default = None)]
    pub options: Option<AgentOptions>,
    /// Changes of the host's environment for the agent.
    #[uniffi(default = None)]
    pub environment: Option<EnvironmentChanges>,
    /// The agent's working directory; the host's own when absent.
    #[uniffi(default = None)]
    pub cwd: Option<String>,
    /// The agent's own folder. The conversation is looked for in it before anything is started; when
    /// absent, the agent's first turn tells whether it is there.
    #[uniffi(default = None)]
    pub agent_folder: Option<String>,
    /// What the agent's standard streams are; pipes when absent.
    #[uniffi(default = None)]
    pub stdio: Option<DialogueStdio>,
    /// Which conversation it is about; a new one when absent.
    #[uniffi(default = None)]
    pub conversation: Option<Conversation>,
    /// The model; the agent's default when absent.
    #[uniffi(default = None)]
    pub model: Option<String>,
    /// The permission mode; the agent's default when absent.
    #[uniffi(default = None)]
    pub permission_mode: Option<String>,
    /// Tools that need no permission, as the agent's rules spell them (`Bash(git:*)`).
    #[uniffi(default)]
    pub allowed_tools: Vec<String>,
    /// Stream each message as it is written.
    #[uniffi(default = true)]
    pub partial_messages: bool,
    /// Ask the host for permissions; the agent denies what needs one otherwise.
    #[uniffi(default = true)]
    pub ask_permissions: bool,
    /// Register the host with an `initialize` request before anything else.
    #[uniffi(default = true)]
    pub initialize: bool,
    /// Longest line of the agent that is parsed, in bytes; 64 MiB when absent.
    #[uniffi(default = None)]
    pub max_line: Option<u64>,
    /// How much of the conversation is kept in memory; all of it when absent.
    #[uniffi(default = None)]
    pub window: Option<TranscriptWindow>,
    /// How much of the agent's standard error is kept, in bytes, half of it from the beginning.
    #[uniffi(default = 65536)]
    pub stderr_bytes: u64,
    /// How long the agent may take to answer a control request, in milliseconds.
    #[uniffi(default = 60000)]
    pub control_timeout_ms: u64,
    /// How long an agent that was asked to end may go on before it is terminated, in milliseconds.
    #[uniffi(default = 30000)]
    pub end_grace_ms: u64,
    /// What is done about an agent that is silent; the standard when absent.
    #[uniffi(default = None)]
    pub watchdog: Option<WatchdogConfiguration>,
    /// How hard the agent is ended.
    #[uniffi(default = None)]
    pub ladder: Option<EndLadder>,
    /// A program that ends the agent and all its tools if the host is killed: `bowline`, as a path.
    /// The engine's when absent.
    #[uniffi(default = None)]
    pub guard: Option<String>,
    /// A file that the agent's output is copied to, byte for byte; or, if its name ends in `.bjl`, a
    /// journal of everything. It must not exist yet.
    #[uniffi(default = None)]
    pub record: Option<String>,
}

/// What the agent's standard streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum DialogueStdio {
    /// Pipes: bytes arrive as they were written and the end of input is a real one.
    Pipes,
    /// A terminal in raw mode.
    Pty,
}

/// Which conversation a session is about.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Conversation {
    /// A new one.
    New,
    /// A new one under an id of the host's choice.
    NewAs {
        /// A UUID that the agent has not seen.
        id: String,
    },
    /// One that the agent has on disk.
    Resume {
        /// Its id.
        id: String,
        /// Go on in a copy under a new id.
        fork: bool,
    },
    /// The newest one of the working directory.
    Newest,
}

/// How much of a conversation is kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TranscriptWindow {
    /// Most entries, of all threads; any number when absent.
    #[uniffi(default = None)]
    pub entries: Option<u64>,
    /// Most text, in bytes; any amount when absent.
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

/// A number of things in memory.
pub(crate) fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl TryFrom<DialogueConfiguration> for core::DialogueConfiguration {
    type Error = BowlineError;

    fn try_from(it: DialogueConfiguration) -> Outcome<Self> {
        let plain = Self::default();
        Ok(Self {
            place: match it.runner {
                Some(runner) => core::Place::Runner(runner.try_into()?),
                None => core::Place::Here,
            },
            program: it.program.map_or(plain.program, Into::into),
            leading_args: it.leading_args.into_iter().map(Into::into).collect(),
            args: it.args.into_iter().map(Into::into).collect(),
            options: it.options.unwrap_or_default().try_into()?,
            env: it.environment.unwrap_or_default().into(),
            cwd: it.cwd.map(Into::into),
            agent_folder: it.agent_folder.map(Into::into),
            stdio: match it.stdio {
                Some(DialogueStdio::Pty) => core::DialogueStdio::Pty,
                _ => core::DialogueStdio::Pipes,
            },
            conversation: it.conversation.map(Into::into).unwrap_or_default(),
            model: it.model,
            permission_mode: it.permission_mode,
            allowed_tools: it.allowed_tools,
            partial_messages: it.partial_messages,
            ask_permissions: it.ask_permissions,
            initialize: it.initialize,
            max_line: it.max_line.map_or(plain.max_line, size),
            window: it.window.map(Into::into),
            stderr_bytes: size(it.stderr_bytes),
            control_timeout: Duration::from_millis(it.control_timeout_ms),
            end_grace: Duration::from_millis(it.end_grace_ms),
            watchdog: it.watchdog.map(Into::into).unwrap_or_default(),
            ladder: it.ladder.map(Into::into).unwrap_or_default(),
            guard: it.guard.map(Into::into),
            record: it.record.map(Into::into),
        })
    }
}
