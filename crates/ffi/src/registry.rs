//! Every terminal of this process that holds an agent or a shell.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::core;

use crate::events::ConnectionView;
use crate::outcome::{code_and_signal, millis};
use crate::permission::PermissionRecord;

/// A terminal that lives.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TerminalEntry {
    /// Names it, in every list and every event.
    pub id: String,
    /// What it is for: `agent-dialogue`, `shell` or `executor`.
    pub tag: String,
    /// The child's process id on its own machine.
    pub pid: Option<u32>,
    /// How tightly its processes are held: `group`, `subreaper` or `cgroup`; absent for a terminal of
    /// the host's own.
    pub containment: Option<String>,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// How the link to the child's machine stands.
    pub connection: ConnectionView,
}

/// How a terminal ended.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TombstoneEntry {
    /// Its name.
    pub id: String,
    /// What it was for.
    pub tag: String,
    /// The child's process id on its own machine; it may name another process by now.
    pub pid: Option<u32>,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: u64,
    /// The child's exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the host had asked for it.
    pub is_expected: bool,
    /// The end in words.
    pub reason: String,
}

/// A permission request and the session that asks.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct SessionPermission {
    /// The session's id.
    pub session: String,
    /// The request.
    pub record: PermissionRecord,
}

/// What all sessions of this process have done since it began.
#[derive(Clone, Copy, Debug, PartialEq, uniffi::Record)]
pub struct MetricsView {
    /// Terminals that live.
    pub terminals: u64,
    /// Dialogues among them.
    pub dialogues: u64,
    /// Permission requests that wait for an answer.
    pub open_permissions: u64,
    /// Terminals that were started.
    pub started: u64,
    /// Terminals that have ended.
    pub ended: u64,
    /// Terminals that ended without being asked to.
    pub unexpected_ends: u64,
    /// Dialogues that were started to go on with a conversation.
    pub restarts: u64,
    /// Turns of dialogues that have ended.
    pub turns: u64,
    /// Tokens sent to models.
    pub input_tokens: u64,
    /// Tokens received from models.
    pub output_tokens: u64,
    /// Tokens read from models' caches.
    pub cache_read_tokens: u64,
    /// Tokens written to models' caches.
    pub cache_creation_tokens: u64,
    /// Cost in US dollars, as the agents tell it.
    pub cost_usd: f64,
    /// Bytes of the agents' output.
    pub output_bytes: u64,
    /// Bytes of the agents' standard error.
    pub error_bytes: u64,
    /// Permission requests that were asked.
    pub permissions: u64,
    /// Events that subscribers were too slow for.
    pub lagged: u64,
    /// Times that a watchdog has looked for life.
    pub inquiries: u64,
    /// Agents that a watchdog has ended.
    pub timeouts: u64,
}

fn since_1970(time: SystemTime) -> u64 {
    millis(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

impl From<core::RegisteredTerminal> for TerminalEntry {
    fn from(it: core::RegisteredTerminal) -> Self {
        Self {
            id: it.id.to_string(),
            connection: it.connection().into(),
            tag: it.tag.to_string(),
            pid: it.pid,
            containment: it.containment.map(|it| it.to_string()),
            started_ms: since_1970(it.started),
        }
    }
}

impl From<core::Tombstone> for TombstoneEntry {
    fn from(it: core::Tombstone) -> Self {
        let (code, signal) = it.status.map_or((None, None), code_and_signal);
        Self {
            id: it.id.to_string(),
            tag: it.tag.to_string(),
            pid: it.pid,
            started_ms: since_1970(it.started),
            ended_ms: since_1970(it.ended),
            code,
            signal,
            is_expected: it.expected,
            reason: it.reason,
        }
    }
}

impl From<core::SessionPermission> for SessionPermission {
    fn from(it: core::SessionPermission) -> Self {
        Self {
            session: it.session.to_string(),
            record: (&*it.record).into(),
        }
    }
}

impl From<core::Metrics> for MetricsView {
    fn from(it: core::Metrics) -> Self {
        Self {
            terminals: it.terminals as u64,
            dialogues: it.dialogues as u64,
            open_permissions: it.open_permissions as u64,
            started: it.started,
            ended: it.ended,
            unexpected_ends: it.unexpected_ends,
            restarts: it.restarts,
            turns: it.turns,
            input_tokens: it.input_tokens,
            output_tokens: it.output_tokens,
            cache_read_tokens: it.cache_read_tokens,
            cache_creation_tokens: it.cache_creation_tokens,
            cost_usd: it.cost_usd,
            output_bytes: it.output_bytes,
            error_bytes: it.error_bytes,
            permissions: it.permissions,
            lagged: it.lagged,
            inquiries: it.inquiries,
            timeouts: it.timeouts,
        }
    }
}
