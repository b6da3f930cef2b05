//! What a dialogue session is made from.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bowline_reducer::Window;
use bowline_transport::{
    Configuration, Environment, Ladder, LoginShell, Overflow, PtyMode, Remote, Stdio, WindowSize,
};

use crate::command::{AgentMode, AgentOptions};
use crate::error::ResumeError;
use crate::error::StartError;
use crate::watchdog::WatchdogConfiguration;

/// How long the agent may take to answer a control request: the default of the agent vendor's own
/// hosts (protocol, section B.3).
const CONTROL_TIMEOUT: Duration = Duration::from_secs(60);

/// How long an agent that was asked to end may go on with its turn.
const END_GRACE: Duration = Duration::from_secs(30);

/// What a dialogue session is made from: the agent, what it is told, and how it is held.
#[derive(Clone, Debug)]
pub struct DialogueConfiguration {
    /// The agent: a name that is looked up in `PATH`, or a path.
    pub program: OsString,
    /// Arguments in front of those that this crate adds.
    pub leading_args: Vec<OsString>,
    /// Arguments behind those that this crate adds.
    pub args: Vec<OsString>,
    /// What else the agent is told. Where a field of this structure says the same, that one counts.
    /// A private file among these is to be kept until the agent has been heard of.
    pub options: AgentOptions,
    /// The agent's environment.
    pub env: Environment,
    /// Where it runs.
    pub place: Place,
    /// The agent's working directory; the host's own when absent.
    pub cwd: Option<PathBuf>,
    /// What the agent's standard streams are.
    pub stdio: DialogueStdio,
    /// Which conversation the session is about.
    pub conversation: Conversation,
    /// The agent's own folder, such as [`agent_folder`](crate::agent_folder) finds it. The
    /// conversation is [verified](Conversation::verified) in it before anything is started; when
    /// absent, the agent's first turn tells whether it is there.
    pub agent_folder: Option<PathBuf>,
    /// The model; the agent's default when absent.
    pub model: Option<String>,
    /// The permission mode; the agent's default when absent.
    pub permission_mode: Option<String>,
    /// Tools that need no permission, as the agent's rules spell them (`Bash(git:*)`).
    pub allowed_tools: Vec<String>,
    /// Stream each message as it is written.
    pub partial_messages: bool,
    /// Ask the host for permissions; the agent denies what needs one otherwise.
    pub ask_permissions: bool,
    /// Register the host with an `initialize` request before anything else.
    pub initialize: bool,
    /// Longest line of the agent that is parsed, in bytes.
    pub max_line: usize,
    /// How much of the conversation is kept in memory; all of it when absent.
    pub window: Option<Window>,
    /// How much of the agent's standard error is kept, in bytes, half of it from the beginning.
    pub stderr_bytes: usize,
    /// How long the agent may take to answer a control request.
    pub control_timeout: Duration,
    /// How long an agent that was asked to end may go on before it is terminated.
    pub end_grace: Duration,
    /// What is done about an agent that is silent.
    pub watchdog: WatchdogConfiguration,
    /// How hard the agent is ended.
    pub ladder: Ladder,
    /// A program that calls [`run_guard`](crate::run_guard) first of all, such as the host itself:
    /// it ends the agent and all its tools if the host is killed. Without one they outlive a
    /// SIGKILL of the host.
    pub guard: Option<PathBuf>,
    /// A file that the agent's output is copied to, byte for byte; or, if its name ends in `.bjl`, a
    /// journal of that, of the agent's errors and of what it is sent. It must not exist yet.
    pub record: Option<PathBuf>,
}

/// Where the agent runs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Place {
    /// Here, as a child of this process. It ends with its session.
    #[default]
    Here,
    /// At a runner, which keeps it while hosts come and go. What the configuration says of files and
    /// folders is about the runner's machine.
    Runner(Remote),
}

/// What the agent's standard streams are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DialogueStdio {
    /// Pipes: bytes arrive as they were written and the end of input is a real one.
    #[default]
    Pipes,
    /// A terminal in raw mode. The agent refuses a terminal as its input, so a `cat` stands in
    /// front of it; standard error comes mixed with the output.
    Pty,
}

/// Which conversation a session is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Conversation {
    /// A new one.
    #[default]
    New,
    /// A new one under an id of the host's choice, a UUID that the agent has not seen.
    NewAs(String),
    /// One that the agent has on disk.
    Resume {
        /// Its id.
        id: String,
        /// Go on in a copy under a new id.
        fork: bool,
    },
    /// The newest one of the working directory.
    Continue,
}

impl Default for DialogueConfiguration {
    fn default() -> Self {
        Self {
            program: "claude".into(),
            leading_args: Vec::new(),
            args: Vec::new(),
            options: AgentOptions::default(),
            env: Environment::inherited(),
            place: Place::Here,
            cwd: None,
            stdio: DialogueStdio::default(),
            conversation: Conversation::default(),
            agent_folder: None,
            model: None,
            permission_mode: None,
            allowed_tools: Vec::new(),
            partial_messages: true,
            ask_permissions: true,
            initialize: true,
            max_line: bowline_jsonl::DEFAULT_MAX_LINE,
            window: None,
            stderr_bytes: 64 << 10,
            control_timeout: CONTROL_TIMEOUT,
            end_grace: END_GRACE,
            watchdog: WatchdogConfiguration::default(),
            ladder: Ladder::default(),
            guard: None,
            record: None,
        }
    }
}

/// Puts a `cat` between the terminal and the agent's input. The `cat` runs in the background, so
/// that the shell ends with the agent and with its status; the hang-up of the terminal ends it.
const CAT_IN_FRONT: &str = r#"exec 3<&0; { cat <&3 3<&- & } | "$0" "$@" 3<&-"#;

impl DialogueConfiguration {
    /// Takes the environment that a login shell makes, in place of this process's own: for a host
    /// that was not started from a shell, whose `PATH` has no agent. The shell is asked once for
    /// all sessions, as [`LoginShell::environment`] has it; one that gives no answer leaves this
    /// process's own.
    pub async fn with_login_environment(mut self, shell: &LoginShell) -> Self {
        self.env = shell.environment().await.environment();
        self
    }

    /// What the transport is asked to start.
    ///
    /// # Errors
    ///
    /// The options contradict each other. The agent is wrapped in a shell on a terminal, and cannot
    /// be found: the shell would start all the same.
    pub(crate) fn terminal(&self) -> Result<Configuration, StartError> {
        let options = self.agent_options();
        let command = options.command(&self.program, self.cwd.as_deref(), self.env.clone())?;
        let mut configuration = Configuration::new(command.program);
        configuration.guard.clone_from(&self.guard);
        configuration.env = command.env;
        configuration.cwd.clone_from(&self.cwd);
        match self.stdio {
            DialogueStdio::Pipes => configuration.args = command.args,
            DialogueStdio::Pty => {
                let agent = match self.place {
                    Place::Here => configuration.find_program()?.into_os_string(),
                    Place::Runner(_) => configuration.program,
                };
                configuration.program = "/bin/sh".into();
                configuration.args = vec!["-c".into(), CAT_IN_FRONT.into(), agent];
                configuration.args.extend(command.args);
                let size = WindowSize::default();
                configuration.stdio = Stdio::Pty {
                    size,
                    mode: PtyMode::Raw,
                };
                // Events must not be dropped, on a terminal neither.
                configuration.limits.output_overflow = Some(Overflow::Block);
            }
        }
        Ok(configuration)
    }

    /// Looks for the conversation, where it is known where to look.
    pub(crate) fn verified(mut self) -> Result<Self, ResumeError> {
        if let (Some(folder), Place::Here) = (&self.agent_folder, &self.place) {
            let cwd = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
            self.conversation = self.conversation.verified(folder, &cwd)?;
        }
        Ok(self)
    }

    /// A dialogue in which the host hears of everything.
    fn agent_options(&self) -> AgentOptions {
        let mut options = self.options.clone();
        options.mode = AgentMode::Dialogue;
        options.replay_user_messages = true;
        options.forward_subagent_text = true;
        options.conversation.clone_from(&self.conversation);
        options.leading_args.clone_from(&self.leading_args);
        options.trailing_args.clone_from(&self.args);
        options.partial_messages = self.partial_messages;
        options.model = self.model.clone().or(options.model);
        options.permission_mode = self.permission_mode.clone().or(options.permission_mode);
        if !self.allowed_tools.is_empty() {
            options.allowed_tools.clone_from(&self.allowed_tools);
        }
        if self.ask_permissions {
            options.permission_prompt_tool = Some("stdio".to_owned());
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use bowline_transport::SpawnError;

    use super::*;

    fn line(configuration: &DialogueConfiguration) -> String {
        let args = configuration.terminal().expect("the agent is there").args;
        args.iter()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn the_command_line_says_what_was_configured() {
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
             --replay-user-messages --forward-subagent-text --include-partial-messages --model=-m \
             --permission-mode=plan --allowedTools=Read,Bash(git:*) --permission-prompt-tool=stdio \
             --resume=-x --fork-session last"
        );
    }

    #[test]
    fn a_terminal_gets_a_cat_in_front() {
        let mut configuration = DialogueConfiguration {
            program: "cat".into(),
            stdio: DialogueStdio::Pty,
            ..DialogueConfiguration::default()
        };
        let terminal = configuration.terminal().expect("every system has a cat");
        assert_eq!(terminal.program, "/bin/sh");
        assert!(line(&configuration).starts_with("-c exec 3<&0; { cat <&3 3<&- & } | "));
        assert!(terminal.args[2].to_string_lossy().ends_with("/cat"));
        configuration.program = "no-such-agent-anywhere".into();
        assert!(matches!(
            configuration.terminal(),
            Err(StartError::Spawn(SpawnError::NotFound { .. }))
        ));
    }
}
