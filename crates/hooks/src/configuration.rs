//! The configuration of a hook server.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use crate::{HookKind, HookReply};

/// The configuration of a [`HookServer`](crate::HookServer).
///
/// The default receives the [common](HookKind::COMMON) events over HTTP, without a gate or a
/// backend.
#[derive(Clone, Debug, Default)]
pub struct HookConfiguration {
    /// The events to receive. `None` for those of the [common](HookKind::COMMON) events that the agent
    /// knows; an event that is named here and that the agent does not know is an error.
    pub kinds: Option<Vec<HookKind>>,
    /// How the agent delivers them.
    pub route: HookRoute,
    /// The program for events that the agent does not post over HTTP (`SessionStart`, `Setup`).
    /// Without one, these events are left out.
    pub helper: Option<HookHelper>,
    /// The events that wait for the host's reply.
    pub gate: Option<HookGate>,
    /// The names of the variables for the agent and its hooks.
    pub variables: HookVariables,
    /// Whether the URL in the variables has a secret path, to which events are posted without a token, for
    /// existing hook scripts. Everything that reads the variable may post. The settings do not use it.
    pub secret_path: bool,
    /// Where events are forwarded to.
    pub backend: Option<HookBackend>,
    /// Limits for each connection.
    pub limits: HookLimits,
}

/// How the agent delivers events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookRoute {
    /// The agent posts them over HTTP, without a process for each event. An agent before 2.1.63 runs the
    /// helper instead.
    #[default]
    Http,
    /// The agent runs the helper for each event; for agents without HTTP hooks.
    Helper,
}

/// The program that posts an event for the agent, such as `bowline hook`. See
/// [`post_hook`](crate::post_hook).
#[derive(Clone, Debug)]
pub struct HookHelper {
    /// The program's path.
    pub program: PathBuf,
    /// Its arguments; the URL and the name of the token variable are appended.
    pub args: Vec<String>,
}

impl HookHelper {
    /// Creates the helper `bowline hook` for the command at this path.
    pub fn bowline(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: vec!["hook".to_owned()],
        }
    }
}

/// The events that wait for the host's reply.
#[derive(Clone, Debug)]
pub struct HookGate {
    /// The events; all of them among those of the [configuration](field@HookConfiguration::kinds), and known
    /// to the agent.
    pub kinds: Vec<HookKind>,
    /// How long the host may take; at most 24 days.
    pub deadline: Duration,
    /// The reply when the host takes longer, does not read the questions, or drops the server. If it
    /// refuses or asks, the agent also refuses when it cannot reach the server. An agent before
    /// 2.1.324 may not, so that [`settings_for`](crate::HookServer::settings_for) fails for it.
    pub default: HookReply,
}

/// Added to the host's deadline, in seconds, so that the default arrives before the agent's timeout:
/// after a timeout the agent continues as if the hook had allowed it.
pub(crate) const REPLY_MARGIN: u64 = 10;

/// The longest delay of the agent's timers, in seconds: 2³¹ - 1 ms, the limit of JavaScript's
/// `setTimeout`. A longer one fires at once.
const MAX_TIMER: u64 = 2_147_483;

impl HookGate {
    /// The host's deadline, so far below the agent's longest timer that the host is always first.
    pub(crate) fn capped_deadline(&self) -> Duration {
        let max = Duration::from_secs(MAX_TIMER - REPLY_MARGIN);
        self.deadline.min(max)
    }
}

/// The names of the environment variables for the agent and its hooks. An absent name is not set.
///
/// Everything that the agent starts inherits them, its tools included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookVariables {
    /// The URL that events are posted to.
    pub url: Option<String>,
    /// The token for that URL.
    pub token: String,
    /// The backend's URL.
    pub api_url: Option<String>,
    /// The backend's token.
    pub api_token: Option<String>,
    /// The backend's id of the session.
    pub session_id: Option<String>,
}

impl Default for HookVariables {
    fn default() -> Self {
        Self {
            url: Some("BOWLINE_HOOK_URL".to_owned()),
            token: "BOWLINE_HOOK_TOKEN".to_owned(),
            api_url: None,
            api_token: None,
            session_id: None,
        }
    }
}

impl HookVariables {
    /// Returns the names `CODE_MY_SPEC_CALLBACK_URL`, `…_API_URL`, `…_API_TOKEN` and
    /// `…_SESSION_ID`, for existing hook scripts that read these. They put the backend's token
    /// within reach of every tool.
    #[must_use]
    pub fn legacy_names() -> Self {
        let name = |name: &str| Some(format!("CODE_MY_SPEC_{name}"));
        Self {
            url: name("CALLBACK_URL"),
            api_url: name("API_URL"),
            api_token: name("API_TOKEN"),
            session_id: name("SESSION_ID"),
            ..Self::default()
        }
    }
}

/// A backend that events are forwarded to, each as `POST {url}/api/sessions/{session_id}/events`
/// with the body `{session_id, interaction_id, event_type, event_data, timestamp}`, in order of
/// arrival.
#[derive(Clone, Debug)]
pub struct HookBackend {
    /// The base URL: `https://` (feature `https`), or `http://` on this machine.
    pub url: String,
    /// A PEM file of certificate authorities to trust besides those of the web.
    pub authorities: Option<PathBuf>,
    /// The bearer token.
    pub token: Option<SecretString>,
    /// Provides the token of each attempt, in place of [`token`](field@Self::token).
    pub token_provider: Option<Arc<dyn HookTokenProvider>>,
    /// The backend's id of the session.
    pub session_id: String,
    /// Allows `http://` to another machine, which sends events and token in clear text.
    pub allow_clear_text: bool,
    /// Number of attempts for each event.
    pub attempts: u32,
    /// The pause before the second attempt; doubled before each further one, up to 30 s.
    pub backoff: Duration,
    /// Time limit of one attempt.
    pub timeout: Duration,
    /// Number of events that may be queued; more are dropped and counted.
    pub queue: usize,
    /// How long queued events are still sent after the server is stopped.
    pub flush: Duration,
}

/// A boxed future of a token, or why there is none.
pub type HookTokenFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<SecretString>, String>> + Send + 'a>>;

/// Provides tokens for a backend, one for each attempt to deliver an event.
pub trait HookTokenProvider: fmt::Debug + Send + Sync {
    /// Returns the token, or `None` to send none. `was_refused` says that the backend has answered the last one
    /// with 401: return another one if possible.
    ///
    /// # Errors
    ///
    /// Why no token is available, without the token. The attempt has failed then.
    fn token(&self, was_refused: bool) -> HookTokenFuture<'_>;
}

impl HookBackend {
    /// Creates a backend with five attempts of 10 s, half a second apart at first.
    pub fn new(url: impl Into<String>, session_id: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            authorities: None,
            token: None,
            token_provider: None,
            session_id: session_id.into(),
            allow_clear_text: false,
            attempts: 5,
            backoff: Duration::from_millis(500),
            timeout: Duration::from_secs(10),
            queue: 1024,
            flush: Duration::from_secs(5),
        }
    }
}

impl HookConfiguration {
    /// Returns the configuration for existing hook scripts: they read the [names](HookVariables::legacy_names) of
    /// their variables, and post without a token, to a [secret path](field@Self::secret_path).
    #[must_use]
    pub fn legacy() -> Self {
        Self {
            variables: HookVariables::legacy_names(),
            secret_path: true,
            ..Self::default()
        }
    }

    /// Returns the events to receive.
    pub(crate) fn kinds(&self) -> &[HookKind] {
        self.kinds.as_deref().unwrap_or(HookKind::COMMON)
    }
}

/// Limits for each connection. A connection carries one request.
#[derive(Clone, Copy, Debug)]
pub struct HookLimits {
    /// Size of an event, in bytes. Recorded ones reach 3.3 MB: a tool's input and its result.
    pub body_bytes: usize,
    /// Size of all headers, in bytes.
    pub header_bytes: usize,
    /// Time to receive the headers.
    pub header_time: Duration,
    /// Time to receive the event.
    pub body_time: Duration,
    /// Time for the client to read the reply.
    pub answer_time: Duration,
    /// Number of concurrent connections; more wait in the listen queue. Connections that wait for the
    /// host do not count.
    pub connections: usize,
}

impl Default for HookLimits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            header_bytes: 16 << 10,
            header_time: Duration::from_secs(5),
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(10),
            connections: 64,
        }
    }
}
