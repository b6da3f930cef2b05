//! What a dialogue session is made from.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bowline_transport::{
    Configuration, Environment, Ladder, Overflow, PtyMode, SpawnError, Stdio, WindowSize,
};

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
    /// The agent's environment.
    pub env: Environment,
    /// The agent's working directory; the host's own when absent.
    pub cwd: Option<PathBuf>,
    /// What the agent's standard streams are.
    pub stdio: DialogueStdio,
    /// Which conversation the session is about.
    pub conversation: Conversation,
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
    /// How much of the agent's standard error is kept, in bytes, half of it from the beginning.
    pub stderr_bytes: usize,
    /// How long the agent may take to answer a control request.
    pub control_timeout: Duration,
    /// How long an agent that was asked to end may go on before it is terminated.
    pub end_grace: Duration,
    /// How hard the agent is ended.
    pub ladder: Ladder,
    /// A file that the agent's output is copied to, byte for byte. It must not exist yet.
    pub record: Option<PathBuf>,
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
            env: Environment::inherited(),
            cwd: None,
            stdio: DialogueStdio::default(),
            conversation: Conversation::default(),
            model: None,
            permission_mode: None,
            allowed_tools: Vec::new(),
            partial_messages: true,
            ask_permissions: true,
            initialize: true,
            max_line: bowline_jsonl::DEFAULT_MAX_LINE,
            stderr_bytes: 64 << 10,
            control_timeout: CONTROL_TIMEOUT,
            end_grace: END_GRACE,
            ladder: Ladder::default(),
            record: None,
        }
    }
}

/// Puts a `cat` between the terminal and the agent's input. The `cat` runs in the background, so
/// that the shell ends with the agent and with its status; the hang-up of the terminal ends it.
const CAT_IN_FRONT: &str = r#"exec 3<&0; { cat <&3 3<&- & } | "$0" "$@" 3<&-"#;

impl DialogueConfiguration {
    /// What the transport is asked to start.
    ///
    /// # Errors
    ///
    /// The agent is wrapped in a shell on a terminal, and cannot be found: the shell would start all
    /// the same.
    pub(crate) fn terminal(&self) -> Result<Configuration, SpawnError> {
        let mut configuration = Configuration::new(&self.program);
        configuration.env = self.env.clone();
        configuration.cwd.clone_from(&self.cwd);
        match self.stdio {
            DialogueStdio::Pipes => configuration.args = self.command_line(),
            DialogueStdio::Pty => {
                let agent = configuration.find_program()?.into_os_string();
                configuration.program = "/bin/sh".into();
                configuration.args = vec!["-c".into(), CAT_IN_FRONT.into(), agent];
                configuration.args.extend(self.command_line());
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

    /// The agent's arguments (protocol, section C). Values are joined with `=`, so that one that
    /// begins with a dash is never taken for a flag.
    fn command_line(&self) -> Vec<OsString> {
        let mut args = self.leading_args.clone();
        args.extend(
            [
                // Implied when stdin and stdout are pipes, and asked for on a terminal.
                "--print",
                "--output-format=stream-json",
                "--verbose",
                "--input-format=stream-json",
                "--replay-user-messages",
                "--forward-subagent-text",
            ]
            .map(OsString::from),
        );
        let mut flag = |name: &str, value: &str| args.push(format!("{name}={value}").into());
        if let Some(model) = &self.model {
            flag("--model", model);
        }
        if let Some(mode) = &self.permission_mode {
            flag("--permission-mode", mode);
        }
        if !self.allowed_tools.is_empty() {
            flag("--allowedTools", &self.allowed_tools.join(","));
        }
        if self.ask_permissions {
            flag("--permission-prompt-tool", "stdio");
        }
        match &self.conversation {
            Conversation::New => {}
            Conversation::NewAs(id) => flag("--session-id", id),
            Conversation::Resume { id, .. } => flag("--resume", id),
            Conversation::Continue => args.push("--continue".into()),
        }
        if matches!(self.conversation, Conversation::Resume { fork: true, .. }) {
            args.push("--fork-session".into());
        }
        if self.partial_messages {
            args.push("--include-partial-messages".into());
        }
        args.extend(self.args.iter().cloned());
        args
    }
}

#[cfg(test)]
mod tests {
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
             --replay-user-messages --forward-subagent-text --model=-m --permission-mode=plan \
             --allowedTools=Read,Bash(git:*) --permission-prompt-tool=stdio --resume=-x \
             --fork-session --include-partial-messages last"
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
            Err(SpawnError::NotFound { .. })
        ));
    }
}
