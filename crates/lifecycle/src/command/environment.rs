//! The agent's switches that are variables.

use std::path::PathBuf;
use std::time::Duration;

use bowline_transport::Environment;
use secrecy::{ExposeSecret as _, SecretString};

use super::CommandError;

/// Most retries that the agent makes of one call of the API (protocol, section C).
const MOST_RETRIES: u8 = 15;

/// The shortest watchdog of a stream that the agent takes (protocol, section C).
const SHORTEST_STREAM_IDLE: Duration = Duration::from_secs(300);

/// Typed variables of the agent's environment (protocol, section C). What is not set is left as it
/// is; secrets travel here and never in arguments.
#[derive(Clone, Debug, Default)]
pub struct AgentEnvironment {
    /// Where the agent keeps settings, credentials and transcripts.
    pub config_dir: Option<PathBuf>,
    /// The key of the API.
    pub api_key: Option<SecretString>,
    /// A bearer token in place of a key.
    pub auth_token: Option<SecretString>,
    /// Where the API is.
    pub base_url: Option<String>,
    /// Tell on the output when the session becomes idle, running or waiting.
    pub state_events: bool,
    /// Tell on the output why a start failed.
    pub startup_failures: bool,
    /// Neither update nor call home.
    pub quiet_network: bool,
    /// How long background agents are waited for after the end of input; zero for ever.
    pub background_wait: Option<Duration>,
    /// How often a call of the API is tried again, 15 at most.
    pub max_retries: Option<u8>,
    /// How long a call of the API may take.
    pub api_timeout: Option<Duration>,
    /// How long a stream of the API may be silent, 300 s at least.
    pub stream_idle: Option<Duration>,
    /// How long all hooks of the end may take together.
    pub end_hooks: Option<Duration>,
    /// How often in a row a hook may refuse the end of a turn.
    pub stop_hook_cap: Option<u32>,
    /// No work in the background.
    pub without_background: bool,
}

impl AgentEnvironment {
    /// Sets the variables.
    ///
    /// # Errors
    ///
    /// A number that the agent does not take; nothing was set.
    pub fn apply(&self, env: &mut Environment) -> Result<(), CommandError> {
        self.check()?;
        let millis = |it: Option<Duration>| it.map(|it| it.as_millis().to_string());
        let on = |is_on: bool| is_on.then(|| "1".to_owned());
        let number = |it: Option<u32>| it.map(|it| it.to_string());
        let secret =
            |it: &Option<SecretString>| it.as_ref().map(|it| it.expose_secret().to_owned());
        for (name, value) in [
            ("ANTHROPIC_API_KEY", secret(&self.api_key)),
            ("ANTHROPIC_AUTH_TOKEN", secret(&self.auth_token)),
            ("ANTHROPIC_BASE_URL", self.base_url.clone()),
            (
                "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS",
                on(self.state_events),
            ),
            (
                "CLAUDE_CODE_STARTUP_FAILURE_RESULTS",
                on(self.startup_failures),
            ),
            ("DISABLE_AUTOUPDATER", on(self.quiet_network)),
            (
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                on(self.quiet_network),
            ),
            (
                "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS",
                millis(self.background_wait),
            ),
            (
                "CLAUDE_CODE_MAX_RETRIES",
                number(self.max_retries.map(u32::from)),
            ),
            ("API_TIMEOUT_MS", millis(self.api_timeout)),
            ("CLAUDE_STREAM_IDLE_TIMEOUT_MS", millis(self.stream_idle)),
            (
                "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS",
                millis(self.end_hooks),
            ),
            (
                "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP",
                number(self.stop_hook_cap),
            ),
            (
                "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
                on(self.without_background),
            ),
        ] {
            value.map(|value| env.set(name, value));
        }
        if let Some(folder) = &self.config_dir {
            env.set("CLAUDE_CONFIG_DIR", folder);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), CommandError> {
        let refuse = |flag, reason: &str| {
            let reason = reason.to_owned();
            Err(CommandError::Value { flag, reason })
        };
        if self.max_retries.is_some_and(|it| it > MOST_RETRIES) {
            return refuse(
                "CLAUDE_CODE_MAX_RETRIES",
                "the agent tries again 15 times at most",
            );
        }
        if self.stream_idle.is_some_and(|it| it < SHORTEST_STREAM_IDLE) {
            return refuse(
                "CLAUDE_STREAM_IDLE_TIMEOUT_MS",
                "the agent takes 300 s or more",
            );
        }
        Ok(())
    }
}
