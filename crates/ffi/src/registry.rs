//! The terminals and totals of this process.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::core;
use crate::events::ConnectionView;
use crate::outcome::{code_and_signal, millis};
use crate::permission::PermissionRecord;

/// A running terminal of this process.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TerminalEntry {
    /// The terminal's id. For a dialogue this is the session's id.
    pub id: String,
    /// The terminal's purpose: `agent-dialogue`, `shell` or `executor`.
    pub tag: String,
    /// The process id on the machine that the process runs on.
    pub pid: Option<u32>,
    /// The process containment: `group`, `subreaper` or `cgroup`; absent for a terminal of the host.
    pub containment: Option<String>,
    /// When the terminal was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// The connection to the machine that the process runs on.
    pub connection: ConnectionView,
}

/// How a terminal of this process ended.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TombstoneEntry {
    /// The terminal's id.
    pub id: String,
    /// The terminal's purpose.
    pub tag: String,
    /// The process id, which the system may have reused since.
    pub pid: Option<u32>,
    /// When the terminal was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// When the terminal ended, in milliseconds since 1970.
    pub ended_ms: u64,
    /// The exit code.
    pub code: Option<i32>,
    /// The signal that ended the process.
    pub signal: Option<i32>,
    /// Whether the host ended the terminal.
    pub is_expected: bool,
    /// A description of the end.
    pub reason: String,
}

/// A permission request and its session.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct SessionPermission {
    /// The session's id.
    pub session: String,
    /// The request.
    pub record: PermissionRecord,
}

/// Totals over all sessions since the process started.
#[derive(Clone, Copy, Debug, PartialEq, uniffi::Record)]
pub struct MetricsView {
    /// Running terminals.
    pub terminals: u64,
    /// Running terminals that are dialogues.
    pub dialogues: u64,
    /// Open permission requests.
    pub open_permissions: u64,
    /// Terminals that were started.
    pub started: u64,
    /// Terminals that ended.
    pub ended: u64,
    /// Terminals that ended without being asked to.
    pub unexpected_ends: u64,
    /// Dialogues that resumed a conversation.
    pub restarts: u64,
    /// Turns that ended.
    pub turns: u64,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Tokens read from prompt caches.
    pub cache_read_tokens: u64,
    /// Tokens written to prompt caches.
    pub cache_creation_tokens: u64,
    /// The cost in US dollars, as reported by the agents.
    pub cost_usd: f64,
    /// Bytes of the agents' output.
    pub output_bytes: u64,
    /// Bytes of the agents' standard error.
    pub error_bytes: u64,
    /// Permission requests.
    pub permissions: u64,
    /// Events that were dropped because a subscriber was too slow.
    pub lagged: u64,
    /// Probes of the watchdogs.
    pub inquiries: u64,
    /// Agents that a watchdog terminated.
    pub timeouts: u64,
}

fn unix_millis(time: SystemTime) -> u64 {
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
            started_ms: unix_millis(it.started),
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
            started_ms: unix_millis(it.started),
            ended_ms: unix_millis(it.ended),
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
