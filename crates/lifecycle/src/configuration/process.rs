//! The agent's process and command line from a configuration, and what a dialect cannot do of it.

use bowline_reducer::dialect::DialectName;
use bowline_transport::{Configuration, Overflow, PtyMode, Stdio, WindowSize};

use super::{AgentLocation, DialogueConfiguration, DialogueStdio};
use crate::command::{AgentCommand, AgentDocument, AgentMode, AgentOptions};
use crate::conversations::Conversation;
use crate::error::StartError;
use crate::mcp;
use crate::shared_budget::SharedBudget;

/// A shell script that passes the terminal's input through `cat`. The `cat` runs in the background, so
/// that the shell exits with the agent's status; the hang-up of the terminal ends it.
const PIPED_INPUT: &str = r#"exec 3<&0; { cat <&3 3<&- & } | "$0" "$@" 3<&-"#;

impl DialogueConfiguration {
    /// Returns the configuration of the agent's process.
    ///
    /// # Errors
    ///
    /// The dialect cannot be driven, or lacks what the configuration asks for; the options contradict each other. On a terminal, also if the agent cannot be found, since the
    /// shell around it would start all the same.
    pub fn terminal(&self) -> Result<Configuration, StartError> {
        self.check_dialect()?;
        let command = self.command()?;
        let mut configuration = Configuration::new(command.program);
        configuration.guard.clone_from(&self.guard);
        configuration.env = command.env;
        configuration.cwd.clone_from(&self.cwd);
        match self.stdio {
            DialogueStdio::Pipes => configuration.args = command.args,
            DialogueStdio::Pty => {
                let agent = match self.location {
                    AgentLocation::Local => configuration.find_program()?.into_os_string(),
                    #[cfg(feature = "remote")]
                    AgentLocation::Runner(_) => configuration.program,
                };
                configuration.program = "/bin/sh".into();
                configuration.args = vec!["-c".into(), PIPED_INPUT.into(), agent];
                configuration.args.extend(command.args);
                let size = WindowSize::default();
                configuration.stdio = Stdio::Pty {
                    size,
                    mode: PtyMode::Raw,
                };
                configuration.pty_backend = self.pty_backend;
                // A terminal drops its oldest output by default, which would lose events.
                configuration.limits.output_overflow = Some(Overflow::Block);
            }
        }
        Ok(configuration)
    }

    /// Returns the agent's command line. Agents with a handshake take their settings in it.
    fn command(&self) -> Result<AgentCommand, StartError> {
        if self.dialect == DialectName::Claude {
            let options = self.agent_options();
            return Ok(options.command(&self.program, self.cwd.as_deref(), self.env.clone())?);
        }
        let own = self.leading_args.iter().chain(&self.args);
        let mut args: Vec<_> = own.cloned().collect();
        if self.dialect == DialectName::Qwen {
            let model = self.model.iter().map(|it| ("--model", it));
            let mode = self.permission_mode.iter();
            for (option, value) in model.chain(mode.map(|it| ("--approval-mode", it))) {
                args.push(format!("{option}={value}").into());
            }
        }
        Ok(AgentCommand {
            program: self.program.clone(),
            args,
            env: self.env.clone(),
        })
    }

    /// Checks that the dialect can be driven, and has what the configuration asks for.
    pub(crate) fn check_dialect(&self) -> Result<(), StartError> {
        let has_rules = self.dialect == DialectName::Claude;
        let is_resumed = self.conversation != Conversation::New;
        self.budget.check()?;
        let shared = self.shared_budget.as_ref().map(SharedBudget::budget);
        let limits_cost = [Some(self.budget), shared]
            .into_iter()
            .flatten()
            .any(|it| it.cost_usd.is_some());
        if limits_cost && self.dialect == DialectName::Codex {
            return Err(self.unsupported("a limit of the cost, which the agent does not report,"));
        }
        if let Some(what) = mcp::unsupported(self.dialect, &self.mcp_servers) {
            return Err(self.unsupported(what));
        }
        if let Some(what) = self.unsupported_hooks() {
            return Err(self.unsupported(what));
        }
        let what = match self.dialect {
            DialectName::Claude => return Ok(()),
            DialectName::Codex | DialectName::Acp | DialectName::Qwen => {
                if !has_rules && !self.allowed_tools.is_empty() {
                    "a list of allowed tools"
                } else if is_resumed && self.dialect == DialectName::Qwen {
                    "resuming a conversation"
                } else {
                    return Ok(());
                }
            }
            _ => "writing to the agent",
        };
        Err(self.unsupported(what))
    }

    /// Returns what the hooks of the configuration lack to be served, if anything.
    fn unsupported_hooks(&self) -> Option<&'static str> {
        self.hooks.as_ref()?;
        if matches!(self.location, AgentLocation::Local) {
            return Some("serving hooks for an agent of this machine, whose settings have them,");
        }
        if self.dialect != DialectName::Claude {
            return Some("hooks at a runner");
        }
        let has_settings = self.options.settings.is_some();
        has_settings.then_some("a settings document beside hooks at a runner")
    }

    fn unsupported(&self, what: impl Into<String>) -> StartError {
        StartError::Unsupported {
            dialect: self.dialect.as_str(),
            what: what.into(),
        }
    }

    /// Returns the agent's options for a dialogue with complete output.
    fn agent_options(&self) -> AgentOptions {
        let mut options = self.options.clone();
        options.mode = AgentMode::Dialogue;
        options.replay_user_messages = true;
        options.conversation.clone_from(&self.conversation);
        options.leading_args.clone_from(&self.leading_args);
        options.trailing_args.clone_from(&self.args);
        options.partial_messages = self.partial_messages;
        options.model = self.model.clone().or(options.model);
        options.permission_mode = self.permission_mode.clone().or(options.permission_mode);
        if !self.allowed_tools.is_empty() {
            options.allowed_tools.clone_from(&self.allowed_tools);
        }
        if !self.mcp_servers.is_empty() {
            let servers = AgentDocument::Json(mcp::claude(&self.mcp_servers));
            options.mcp_configs.push(servers);
        }
        #[cfg(feature = "remote")]
        if self.hooks.is_some() {
            // Two words, for older agents.
            let settings = ["--settings", bowline_transport::HOOK_SETTINGS];
            let own = settings.into_iter().map(std::ffi::OsString::from);
            options.trailing_args.splice(0..0, own);
        }
        if self.ask_permissions {
            options.permission_prompt_tool = Some("stdio".to_owned());
        }
        options
    }
}
