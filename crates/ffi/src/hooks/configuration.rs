//! What a server for hooks is made from.

use std::time::Duration;

use crate::core::{self, HookKind};

use super::HookReply;
use crate::configuration::size;
use crate::error::{BowlineError, Outcome};

/// What a server for hooks is made from. The default tells of the common events over HTTP, decides
/// nothing and forwards nothing.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HookConfiguration {
    /// The events that the agent is to tell, by its own names; the common ones when absent.
    #[uniffi(default = None)]
    pub kinds: Option<Vec<String>>,
    /// How it tells them; over HTTP when absent.
    #[uniffi(default = None)]
    pub route: Option<HookRoute>,
    /// The program for events that the agent does not post; without one these are left out.
    #[uniffi(default = None)]
    pub helper: Option<HookHelper>,
    /// The events that wait for the host's decision.
    #[uniffi(default = None)]
    pub gate: Option<HookGate>,
    /// What the variables are called that the agent and its hooks find.
    #[uniffi(default = None)]
    pub variables: Option<HookVariables>,
    /// Where events are forwarded to.
    #[uniffi(default = None)]
    pub backend: Option<HookBackend>,
    /// What a client may take.
    #[uniffi(default = None)]
    pub limits: Option<HookLimits>,
}

/// How the agent tells events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum HookRoute {
    /// It posts them itself.
    Http,
    /// It runs the helper for each.
    Helper,
}

/// The program that carries an event from the agent to the server: `bowline hook`.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HookHelper {
    /// The program's path.
    pub program: String,
    /// Its arguments in front of the server's address and the token variable's name; `hook` when
    /// absent.
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
    /// The answer when it takes longer, or nobody reads the questions.
    pub fallback: HookReply,
}

/// What the variables are called that the agent and its hooks find. One without a name is not set.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HookVariables {
    /// The address that an event is posted to.
    #[uniffi(default = Some("BOWLINE_HOOK_URL"))]
    pub url: Option<String>,
    /// The token that must be shown there.
    #[uniffi(default = "BOWLINE_HOOK_TOKEN")]
    pub token: String,
    /// The backend's address.
    #[uniffi(default = None)]
    pub api_url: Option<String>,
    /// The backend's token.
    #[uniffi(default = None)]
    pub api_token: Option<String>,
    /// The backend's name for the session.
    #[uniffi(default = None)]
    pub session_id: Option<String>,
}

/// Where events are forwarded to.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HookBackend {
    /// The address, `http://` only in this version.
    pub url: String,
    /// The backend's name for the session.
    pub session_id: String,
    /// Shown as a bearer token.
    #[uniffi(default = None)]
    pub token: Option<String>,
    /// Send events and token to another machine in clear text.
    #[uniffi(default = false)]
    pub allow_clear_text: bool,
    /// How often an event is offered: the first time and again.
    #[uniffi(default = 5)]
    pub attempts: u32,
    /// The pause before the second time, in milliseconds; it doubles from then on.
    #[uniffi(default = 500)]
    pub backoff_ms: u64,
    /// How long one try may take, in milliseconds.
    #[uniffi(default = 10000)]
    pub timeout_ms: u64,
    /// Events that may wait.
    #[uniffi(default = 1024)]
    pub queue: u64,
    /// How long waiting events are still sent when the server is stopped, in milliseconds.
    #[uniffi(default = 5000)]
    pub flush_ms: u64,
}

/// What a client may take.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct HookLimits {
    /// Bytes of an event.
    #[uniffi(default = 16777216)]
    pub body_bytes: u64,
    /// Bytes of all headers.
    #[uniffi(default = 16384)]
    pub header_bytes: u64,
    /// How long the headers may take, in milliseconds.
    #[uniffi(default = 5000)]
    pub header_ms: u64,
    /// How long the event may take, in milliseconds.
    #[uniffi(default = 30000)]
    pub body_ms: u64,
    /// How long the answer may take to be read, in milliseconds.
    #[uniffi(default = 10000)]
    pub answer_ms: u64,
    /// Clients at a time; more wait.
    #[uniffi(default = 64)]
    pub connections: u64,
}

/// The events that a server tells of when a configuration names none.
#[uniffi::export]
#[must_use]
pub fn common_hook_kinds() -> Vec<String> {
    HookKind::COMMON
        .iter()
        .map(|it| it.name().to_owned())
        .collect()
}

fn kinds(names: Vec<String>) -> Vec<HookKind> {
    names.iter().map(|name| HookKind::of(name)).collect()
}

impl TryFrom<HookConfiguration> for core::HookConfiguration {
    type Error = BowlineError;

    fn try_from(it: HookConfiguration) -> Outcome<Self> {
        let plain = Self::default();
        Ok(Self {
            kinds: it.kinds.map_or(plain.kinds, kinds),
            route: match it.route {
                Some(HookRoute::Helper) => core::HookRoute::Helper,
                _ => core::HookRoute::Http,
            },
            helper: it.helper.map(|helper| match helper.args {
                None => core::HookHelper::bowline(helper.program),
                Some(args) => core::HookHelper {
                    program: helper.program.into(),
                    args,
                },
            }),
            gate: it.gate.map(TryInto::try_into).transpose()?,
            variables: it.variables.map_or(plain.variables, Into::into),
            backend: it.backend.map(Into::into),
            limits: it.limits.map_or(plain.limits, Into::into),
        })
    }
}

impl TryFrom<HookGate> for core::HookGate {
    type Error = BowlineError;

    fn try_from(gate: HookGate) -> Outcome<Self> {
        Ok(Self {
            kinds: kinds(gate.kinds),
            deadline: Duration::from_millis(gate.deadline_ms),
            default: gate.fallback.try_into()?,
        })
    }
}

impl From<HookVariables> for core::HookVariables {
    fn from(it: HookVariables) -> Self {
        Self {
            url: it.url,
            token: it.token,
            api_url: it.api_url,
            api_token: it.api_token,
            session_id: it.session_id,
        }
    }
}

impl From<HookBackend> for core::HookBackend {
    fn from(it: HookBackend) -> Self {
        Self {
            token: it.token.map(core::Secret::new),
            allow_clear_text: it.allow_clear_text,
            attempts: it.attempts,
            backoff: Duration::from_millis(it.backoff_ms),
            timeout: Duration::from_millis(it.timeout_ms),
            queue: size(it.queue),
            flush: Duration::from_millis(it.flush_ms),
            ..Self::new(it.url, it.session_id)
        }
    }
}

impl From<HookLimits> for core::HookLimits {
    fn from(it: HookLimits) -> Self {
        Self {
            body_bytes: size(it.body_bytes),
            header_bytes: size(it.header_bytes),
            header_time: Duration::from_millis(it.header_ms),
            body_time: Duration::from_millis(it.body_ms),
            answer_time: Duration::from_millis(it.answer_ms),
            connections: size(it.connections),
        }
    }
}
