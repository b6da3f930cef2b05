//! The configuration of a hook server.

use std::fmt;
use std::sync::Arc;

use super::HookReply;
use crate::core::HookKind;
use crate::remote::TokenProvider;

/// The configuration of a hook server. By default it receives the common events over HTTP, decides
/// nothing and forwards nothing.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HookConfiguration {
    /// The events to receive, by the agent's names. When absent they are those of the common ones that the
    /// agent knows; with an event that is named here and that the agent does not know, `settingsFor` fails.
    #[uniffi(default = None)]
    pub kinds: Option<Vec<String>>,
    /// How the agent delivers events; over HTTP when absent.
    #[uniffi(default = None)]
    pub route: Option<HookRoute>,
    /// The helper program for events that the agent cannot post itself. Without one they are not
    /// received.
    #[uniffi(default = None)]
    pub helper: Option<HookHelper>,
    /// The events that wait for the host's decision.
    #[uniffi(default = None)]
    pub gate: Option<HookGate>,
    /// The names of the variables for the agent and its hooks.
    #[uniffi(default = None)]
    pub variables: Option<HookVariables>,
    /// Whether the URL in the variables has a secret path, to which events are posted without a token, for existing
    /// hook scripts. The agent's own settings do not use it.
    #[uniffi(default = false)]
    pub secret_path: bool,
    /// The backend that events are forwarded to.
    #[uniffi(default = None)]
    pub backend: Option<HookBackend>,
    /// Limits for clients.
    #[uniffi(default = None)]
    pub limits: Option<HookLimits>,
}

/// How the agent delivers events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum HookRoute {
    /// The agent posts them.
    Http,
    /// The agent runs the helper for each event.
    Helper,
}

/// The program that delivers an event from the agent to the server, usually `bowline hook`.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HookHelper {
    /// The program's path.
    pub program: String,
    /// Arguments before the server's URL and the name of the token variable; `hook` when absent.
    #[uniffi(default = None)]
    pub args: Option<Vec<String>>,
}

/// Events that wait for the host's decision.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HookGate {
    /// The events, by the agent's names.
    pub kinds: Vec<String>,
    /// How long the host may take, in milliseconds.
    pub deadline_ms: u64,
    /// The answer after the deadline, or if the question stream is not read.
    pub fallback: HookReply,
}

/// The names of the environment variables for the agent and its hooks. A variable without a name is
/// not set.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HookVariables {
    /// The variable for the URL that events are posted to.
    #[uniffi(default = Some("BOWLINE_HOOK_URL"))]
    pub url: Option<String>,
    /// The variable for the bearer token.
    #[uniffi(default = "BOWLINE_HOOK_TOKEN")]
    pub token: String,
    /// The variable for the backend's URL.
    #[uniffi(default = None)]
    pub api_url: Option<String>,
    /// The variable for the backend's token.
    #[uniffi(default = None)]
    pub api_token: Option<String>,
    /// The variable for the backend's session id.
    #[uniffi(default = None)]
    pub session_id: Option<String>,
}

/// A backend that hook events are forwarded to.
#[derive(Clone, uniffi::Record)]
pub struct HookBackend {
    /// The backend's URL: `https://`, or `http://` on this machine.
    pub url: String,
    /// The backend's session id.
    pub session_id: String,
    /// The bearer token.
    #[uniffi(default = None)]
    pub token: Option<String>,
    /// Provides the token for each attempt. Takes precedence over `token`.
    #[uniffi(default = None)]
    pub token_provider: Option<Arc<dyn TokenProvider>>,
    /// The path of a PEM file of certificate authorities to trust besides those of the web.
    #[uniffi(default = None)]
    pub authorities: Option<String>,
    /// Whether events and token may be sent to another machine without encryption.
    #[uniffi(default = false)]
    pub allow_clear_text: bool,
    /// The maximum number of attempts for an event.
    #[uniffi(default = 5)]
    pub attempts: u32,
    /// The time before the second attempt, in milliseconds. It doubles with each attempt.
    #[uniffi(default = 500)]
    pub backoff_ms: u64,
    /// The timeout of one attempt, in milliseconds.
    #[uniffi(default = 10000)]
    pub timeout_ms: u64,
    /// The maximum number of queued events.
    #[uniffi(default = 1024)]
    pub queue: u64,
    /// How long queued events are still sent when the server stops, in milliseconds.
    #[uniffi(default = 5000)]
    pub flush_ms: u64,
}

/// Does not print the credentials.
impl fmt::Debug for HookBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookBackend")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Limits for clients of a hook server.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct HookLimits {
    /// The maximum size of an event, in bytes.
    #[uniffi(default = 16777216)]
    pub body_bytes: u64,
    /// The maximum size of all headers, in bytes.
    #[uniffi(default = 16384)]
    pub header_bytes: u64,
    /// The timeout for the headers, in milliseconds.
    #[uniffi(default = 5000)]
    pub header_ms: u64,
    /// The timeout for the event, in milliseconds.
    #[uniffi(default = 30000)]
    pub body_ms: u64,
    /// The timeout for sending the answer, in milliseconds.
    #[uniffi(default = 10000)]
    pub answer_ms: u64,
    /// The maximum number of connections. Further ones wait.
    #[uniffi(default = 64)]
    pub connections: u64,
}

/// Returns the events that a hook server receives by default.
#[uniffi::export]
#[must_use]
pub fn common_hook_kinds() -> Vec<String> {
    HookKind::COMMON
        .iter()
        .map(|it| it.name().to_owned())
        .collect()
}
