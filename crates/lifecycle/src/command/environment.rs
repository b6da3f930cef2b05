//! The agent's settings that are environment variables (`crates/jsonl/PROTOCOL.md`).

use std::path::PathBuf;
use std::time::Duration;

use bowline_transport::Environment;
use secrecy::{ExposeSecret as _, SecretString};

use super::error::CommandError;

/// Maximum number of retries of an API call that the agent accepts.
const MAX_RETRIES: u8 = 15;

/// Minimum idle timeout of an API stream that the agent accepts.
const MIN_STREAM_IDLE: Duration = Duration::from_secs(300);

/// Typed variables of the agent's environment. Unset fields leave the environment unchanged. Secrets
/// are passed here, never in arguments.
#[derive(Clone, Debug, Default)]
pub struct AgentEnvironment {
    /// The folder of the agent's settings, credentials and transcripts.
    pub config_dir: Option<PathBuf>,
    /// The API key.
    pub api_key: Option<SecretString>,
    /// A bearer token instead of a key.
    pub auth_token: Option<SecretString>,
    /// The URL of the API.
    pub base_url: Option<String>,
    /// Reports on the output when the session becomes idle, running or waiting.
    pub state_events: bool,
    /// Reports on the output why a start failed.
    pub startup_failures: bool,
    /// Disables updates and telemetry.
    pub quiet_network: bool,
    /// How long the agent waits for background agents after the end of input; zero for no limit.
    pub background_wait: Option<Duration>,
    /// Number of retries of an API call, at most 15.
    pub max_retries: Option<u8>,
    /// Timeout of an API call.
    pub api_timeout: Option<Duration>,
    /// Idle timeout of an API stream, at least 300 s.
    pub stream_idle: Option<Duration>,
    /// Timeout of all SessionEnd hooks together.
    pub end_hooks: Option<Duration>,
    /// How many times in a row a hook may refuse the end of a turn.
    pub stop_hook_cap: Option<u32>,
    /// Disables background tasks.
    pub without_background: bool,
}

impl AgentEnvironment {
    /// Sets the variables.
    ///
    /// # Errors
    ///
    /// The agent does not accept a value. Nothing was set.
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
        if self.max_retries.is_some_and(|it| it > MAX_RETRIES) {
            return refuse(
                "CLAUDE_CODE_MAX_RETRIES",
                "the agent retries at most 15 times",
            );
        }
        if self.stream_idle.is_some_and(|it| it < MIN_STREAM_IDLE) {
            return refuse("CLAUDE_STREAM_IDLE_TIMEOUT_MS", "the minimum is 300 s");
        }
        Ok(())
    }
}
