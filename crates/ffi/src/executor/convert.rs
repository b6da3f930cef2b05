//! Starts executors of the core, and converts their commands and results.

use std::sync::Arc;

use super::{
    CommandOutcome, ExecutorCommand, ExecutorConfiguration, HostTerminal, HostTerminalBridge,
    TerminalExecutor,
};
use crate::core;
use crate::counters::ObjectKind;
use crate::error::Result;
use crate::hooks::OpenQuestions;
use crate::limits::duration;
use crate::outcome::millis;
use crate::runtime::Tracked;

impl TerminalExecutor {
    pub(crate) async fn start(
        it: ExecutorConfiguration,
        agent: Option<String>,
        terminal: Option<Arc<dyn HostTerminal>>,
    ) -> Result<Arc<Self>> {
        let mut configuration = core::ExecutorConfiguration::new(it.session.clone());
        let agent = it.agent.or(agent).unwrap_or_else(|| "claude".to_owned());
        configuration.agent = agent.clone().into();
        configuration.env = it.environment.unwrap_or_default().into();
        configuration.conversation = it.conversation;
        configuration.hooks = match it.hooks {
            Some(hooks) => hooks.try_into()?,
            None => core::HookConfiguration::default(),
        };
        if let Some(max_run) = it.max_run_ms {
            configuration.longest_run = (max_run > 0).then(|| duration(max_run));
        }
        configuration.exit_grace = duration(it.exit_grace_ms);
        configuration.hook_grace = duration(it.hook_grace_ms);
        configuration.end_grace = duration(it.end_grace_ms);
        let size = it.size.map(Into::into).unwrap_or_default();
        let bridge = terminal.map(HostTerminalBridge::new);
        let (visible, pty): (Arc<dyn core::VisibleTerminal>, _) = match &bridge {
            Some(bridge) => (Arc::clone(bridge) as _, None),
            None => {
                let pty = Arc::new(core::PtyTerminal::new(size));
                (Arc::clone(&pty) as _, Some((it.session, pty)))
            }
        };
        let executor = core::TerminalExecutor::start(configuration, visible).await?;
        Ok(Arc::new(Self {
            executor: Tracked::new(ObjectKind::Executor, Arc::new(executor)),
            agent,
            pty,
            bridge,
            questions: OpenQuestions::default(),
        }))
    }

    pub(super) fn command(&self, it: ExecutorCommand) -> Result<core::ExecutorCommand> {
        let mut options: core::AgentOptions = it.options.unwrap_or_default().try_into()?;
        options.mode = if it.is_print {
            core::AgentMode::Print(core::PrintFormat::Text)
        } else {
            core::AgentMode::Interactive
        };
        options.conversation = it.conversation.map(Into::into).unwrap_or_default();
        let secret = |(name, value)| (name, core::SecretString::from(value));
        Ok(core::ExecutorCommand {
            program: it.program.unwrap_or_else(|| self.agent.clone()).into(),
            prompt: it.prompt.map(core::SecretString::from),
            options,
            cwd: it.cwd.map(Into::into),
            variables: it.variables.into_iter().map(secret).collect(),
            ..core::ExecutorCommand::new(it.interaction, "")
        })
    }
}

impl From<core::CommandResult> for CommandOutcome {
    fn from(it: core::CommandResult) -> Self {
        Self {
            stdout: it.stdout,
            dropped_bytes: it.dropped_bytes,
            stderr: it.stderr,
            exit_code: it.exit_code,
            duration_ms: millis(it.duration),
            evidence: it.evidence.into(),
            session_end: it.session_end,
            conversation: it.conversation,
        }
    }
}
