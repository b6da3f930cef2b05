//! What a server for hooks is made from.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::{HookKind, HookReply};

/// What a server for hooks is made from. The default tells of the common events over HTTP, decides
/// nothing and forwards nothing.
#[derive(Clone, Debug)]
pub struct HookConfiguration {
    /// The events that the agent is to tell.
    pub kinds: Vec<HookKind>,
    /// How it tells them.
    pub route: HookRoute,
    /// The program for events that the agent does not post (`SessionStart`, `Setup`). Without one
    /// these are left out.
    pub helper: Option<HookHelper>,
    /// The events that wait for the host's decision.
    pub gate: Option<HookGate>,
    /// What the variables are called that the agent and its hooks find.
    pub variables: HookVariables,
    /// Where events are forwarded to.
    pub backend: Option<HookBackend>,
    /// What a client may take.
    pub limits: HookLimits,
}

/// How the agent tells events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookRoute {
    /// It posts them itself: no process for each event.
    #[default]
    Http,
    /// It runs the helper for each: for agents that know no hooks over HTTP.
    Helper,
}

/// The program that carries an event from the agent to the server: `bowline hook`.
#[derive(Clone, Debug)]
pub struct HookHelper {
    /// The program's path.
    pub program: PathBuf,
    /// Its arguments in front of the server's address and the token variable's name.
    pub args: Vec<String>,
}

impl HookHelper {
    /// The `bowline` command at a path.
    pub fn bowline(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: vec!["hook".to_owned()],
        }
    }
}

/// Events that wait for the host's decision.
#[derive(Clone, Debug)]
pub struct HookGate {
    /// The events.
    pub kinds: Vec<HookKind>,
    /// How long the host may take; 24 days at most.
    pub deadline: Duration,
    /// The answer when it takes longer, or nobody asks for the questions. When it refuses, the
    /// agent is told to refuse as well if the server cannot be reached: it lets pass otherwise.
    pub default: HookReply,
}

/// The longest time that the agent's timers count, in seconds: 2³¹ - 1 ms. A longer one is over at
/// once, and what waited for it passes.
const LONGEST_TIMER: u64 = 2_147_483;

impl HookGate {
    /// How long the host may take, so that the agent waits for longer.
    pub(super) fn patience(&self) -> Duration {
        let longest = Duration::from_secs(LONGEST_TIMER - super::settings::MARGIN);
        self.deadline.min(longest)
    }
}

/// What the variables are called that the agent and its hooks find. A name that is none is not set.
///
/// All that the agent starts inherits them, its tools too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookVariables {
    /// The address that an event is posted to.
    pub url: Option<String>,
    /// The token that must be shown there.
    pub token: String,
    /// The backend's address.
    pub api_url: Option<String>,
    /// The backend's token.
    pub api_token: Option<String>,
    /// The backend's name for the session.
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
    /// The four names of seed 003, for hooks that were written for them. The backend's token is in
    /// reach of every tool then.
    #[must_use]
    pub fn seed_003() -> Self {
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

/// Where events are forwarded to: each as `POST {url}/api/sessions/{session_id}/events` with the
/// body `{session_id, interaction_id, event_type, event_data, timestamp}`, in order of arrival.
#[derive(Clone, Debug)]
pub struct HookBackend {
    /// The address, `https://`, or `http://` where nobody listens on the way.
    pub url: String,
    /// A PEM file with certificates that vouch for the backend's own, beside those that the web
    /// trusts.
    pub authorities: Option<PathBuf>,
    /// Shown as a bearer token.
    pub token: Option<SecretString>,
    /// The backend's name for the session.
    pub session_id: String,
    /// Send events and token to another machine in clear text.
    pub allow_clear_text: bool,
    /// How often an event is offered: the first time and again.
    pub attempts: u32,
    /// The pause before the second time; it doubles from then on, up to 30 s.
    pub backoff: Duration,
    /// How long one try may take.
    pub timeout: Duration,
    /// Events that may wait; one more and it is dropped and counted.
    pub queue: usize,
    /// How long waiting events are still sent when the server is stopped.
    pub flush: Duration,
}

impl HookBackend {
    /// A backend with five tries, half a second apart at first, of ten seconds each.
    pub fn new(url: impl Into<String>, session_id: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            authorities: None,
            token: None,
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

/// What a client may take. A request has its own connection.
#[derive(Clone, Copy, Debug)]
pub struct HookLimits {
    /// Bytes of an event. Real ones reach 3.3 MB: a tool's input and its result.
    pub body_bytes: usize,
    /// Bytes of all headers.
    pub header_bytes: usize,
    /// How long the headers may take.
    pub header_time: Duration,
    /// How long the event may take.
    pub body_time: Duration,
    /// How long the answer may take to be read.
    pub answer_time: Duration,
    /// Clients at a time; more wait.
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

impl Default for HookConfiguration {
    fn default() -> Self {
        Self {
            kinds: HookKind::COMMON.to_vec(),
            route: HookRoute::default(),
            helper: None,
            gate: None,
            variables: HookVariables::default(),
            backend: None,
            limits: HookLimits::default(),
        }
    }
}
