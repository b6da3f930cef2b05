//! The specification from which a session is started.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use bowline_hooks::HookSpec;
use bowline_transport::wire::SessionKind;
use bowline_transport::{
    Configuration, Environment, LogLimits, Overflow, PtyMode, SessionId, Stdio, WindowSize,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::scrollback::DEFAULT_SCROLLBACK_LINES;
use crate::session::Decision;

/// Bytes of each stream that a session keeps in memory by default: 1 MiB.
pub const DEFAULT_RING_BYTES: u64 = 1 << 20;

/// Variable with the bytes that a session keeps in memory if its specification does not set them.
pub const RING_VARIABLE: &str = "BOWLINE_RING_BYTES";

/// Variable with the lines above a terminal's screen that joining hosts receive, if its specification does
/// not set them.
pub const SCROLLBACK_VARIABLE: &str = "BOWLINE_SCROLLBACK_LINES";

/// Maximal bytes of a journal by default: 256 MiB.
const JOURNAL_BYTES: u64 = 256 << 20;

/// Bytes buffered between the child's descriptors and the session.
const BUFFER_BYTES: usize = 256 * 1024;

/// Everything needed to start a session. As JSON it is the body of `POST /api/sessions`, and is
/// passed to a shim over its standard input; never in arguments or variables, since it may contain
/// prompts and secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSpec {
    /// The session's id; random by default.
    #[serde(default = "SessionId::random")]
    pub id: SessionId,
    /// Its display name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its kind.
    pub kind: SessionKind,
    /// The program: a name to look up in the child's `PATH`, or a path.
    pub program: String,
    /// Arguments after the program's name.
    #[serde(default)]
    pub args: Vec<String>,
    /// The child's environment.
    #[serde(default)]
    pub env: SpecEnvironment,
    /// The child's working directory; `None` is that of the process that starts the shim.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The child's standard streams.
    #[serde(default)]
    pub stdio: SpecStdio,
    /// Bytes of each stream kept in memory; `None` is [`RING_VARIABLE`], else
    /// [`DEFAULT_RING_BYTES`].
    #[serde(default)]
    pub ring_bytes: Option<u64>,
    /// Lines above a terminal's screen that a host receives when it joins; `None` is
    /// [`SCROLLBACK_VARIABLE`], else [`DEFAULT_SCROLLBACK_LINES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrollback_lines: Option<u32>,
    /// What is recorded on disk.
    #[serde(default)]
    pub journal: JournalSpec,
    /// Labels set by the host, to find the session by.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How long the exit is retained for a client to acknowledge it, in milliseconds; `None` is 24
    /// hours.
    #[serde(default)]
    pub exit_kept_ms: Option<u64>,
    /// The agent's hooks that the session serves and forwards to its hosts, of a dialogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HookSpec>,
    /// What the control stream begins with. Not part of a request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// The past of the conversation that the agent resumes, in its output format: transcripts of the session begin
    /// with it. Not part of a request.
    #[serde(skip)]
    pub history: Option<Bytes>,
}

/// The child's environment. Variables of an enclosing agent are never inherited.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecEnvironment {
    /// Whether it is based on the environment of the process that starts the shim; empty otherwise.
    #[serde(default = "yes")]
    pub inherit: bool,
    /// Variables to set.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Variables to remove.
    #[serde(default)]
    pub remove: BTreeSet<String>,
}

/// The child's standard streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum SpecStdio {
    /// Three pipes. For dialogues.
    #[default]
    Pipes,
    /// One pseudoterminal for all three (pty(7)).
    Pty {
        /// Its initial size; 24 rows of 80 columns by default.
        #[serde(default)]
        size: WindowSize,
        /// Its line discipline.
        #[serde(default)]
        mode: TerminalMode,
    },
}

/// The line discipline of a terminal (termios(3)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalMode {
    /// Echo, line editing and signals from keys, as at a login.
    #[default]
    Cooked,
    /// No processing.
    Raw,
}

/// What is recorded on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalSpec {
    /// Whether there is a journal.
    #[serde(default = "yes")]
    pub on: bool,
    /// Maximal bytes on disk.
    #[serde(default = "journal_bytes")]
    pub cap_bytes: u64,
}

impl SessionSpec {
    /// Creates the specification of a session on pipes, with a random id, the inherited environment
    /// and a journal.
    pub fn new(kind: SessionKind, program: impl Into<String>) -> Self {
        Self {
            id: SessionId::random(),
            name: None,
            kind,
            program: program.into(),
            args: Vec::new(),
            env: SpecEnvironment::default(),
            cwd: None,
            stdio: SpecStdio::default(),
            ring_bytes: None,
            scrollback_lines: None,
            journal: JournalSpec::default(),
            labels: BTreeMap::new(),
            exit_kept_ms: None,
            hooks: None,
            decisions: Vec::new(),
            history: None,
        }
    }

    /// Returns whether the child runs on a terminal.
    pub fn is_on_terminal(&self) -> bool {
        matches!(self.stdio, SpecStdio::Pty { .. })
    }

    /// Returns the terminal's initial size.
    pub fn size(&self) -> Option<WindowSize> {
        match self.stdio {
            SpecStdio::Pipes => None,
            SpecStdio::Pty { size, .. } => Some(size),
        }
    }

    /// Whether the child is paused for a client that lags, rather than dropping the oldest bytes:
    /// for everything but terminals that are displayed.
    pub(crate) fn blocks(&self) -> bool {
        self.kind == SessionKind::Dialogue || !self.is_on_terminal()
    }

    /// Whether the terminal is displayed, so that a client may begin with a snapshot of the screen.
    pub(crate) fn has_screen(&self) -> bool {
        !self.blocks()
    }

    /// Returns the bytes of each stream kept in memory.
    pub(crate) fn ring(&self) -> usize {
        let variable = std::env::var(RING_VARIABLE).ok();
        let variable = variable.and_then(|text| text.parse().ok());
        let bytes = self.ring_bytes.or(variable).unwrap_or(DEFAULT_RING_BYTES);
        usize::try_from(bytes).unwrap_or(usize::MAX).max(1)
    }

    /// Returns how many lines above the screen joining hosts receive.
    pub(crate) fn scrollback(&self) -> u32 {
        let variable = std::env::var(SCROLLBACK_VARIABLE).ok();
        let variable = variable.and_then(|text| text.parse().ok());
        let lines = self.scrollback_lines.or(variable);
        lines.unwrap_or(DEFAULT_SCROLLBACK_LINES)
    }

    /// Returns the configuration of the terminal session. History is kept by the session itself, so
    /// this one only buffers what is in transit.
    pub(crate) fn configuration(&self, guard: Option<PathBuf>) -> Configuration {
        let mut configuration = Configuration::new(&self.program);
        configuration.args = self.args.iter().map(Into::into).collect();
        configuration.env = self.env.resolve();
        configuration.cwd = self.cwd.clone();
        configuration.stdio = match self.stdio {
            SpecStdio::Pipes => Stdio::Pipes,
            SpecStdio::Pty { size, mode } => Stdio::Pty {
                size,
                mode: mode.into(),
            },
        };
        configuration.limits = LogLimits {
            output_bytes: BUFFER_BYTES,
            errors_bytes: BUFFER_BYTES,
            history_bytes: 0,
            output_overflow: Some(Overflow::Block),
        };
        configuration.guard = guard;
        configuration
    }
}

impl SpecEnvironment {
    /// Returns the variables of the child.
    pub(crate) fn resolve(&self) -> Environment {
        let mut environment = if self.inherit {
            Environment::inherited()
        } else {
            Environment::empty()
        };
        for (name, value) in &self.set {
            environment.set(name, value);
        }
        for name in &self.remove {
            environment.remove(name);
        }
        environment
    }
}

impl Default for SpecEnvironment {
    fn default() -> Self {
        Self {
            inherit: true,
            set: BTreeMap::new(),
            remove: BTreeSet::new(),
        }
    }
}

/// Shows names only, since values may be secrets.
impl fmt::Debug for SpecEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpecEnvironment")
            .field("inherit", &self.inherit)
            .field("set", &self.set.keys().collect::<Vec<_>>())
            .field("remove", &self.remove)
            .finish()
    }
}

impl Default for JournalSpec {
    /// A journal of at most 256 MiB.
    fn default() -> Self {
        Self {
            on: true,
            cap_bytes: JOURNAL_BYTES,
        }
    }
}

impl From<TerminalMode> for PtyMode {
    fn from(mode: TerminalMode) -> Self {
        match mode {
            TerminalMode::Cooked => Self::Cooked,
            TerminalMode::Raw => Self::Raw,
        }
    }
}

const fn yes() -> bool {
    true
}

const fn journal_bytes() -> u64 {
    JOURNAL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_fields_have_defaults() {
        let text = r#"{"kind":"dialogue","program":"claude","later":1}"#;
        let spec: SessionSpec = serde_json::from_str(text).unwrap();
        let expected = SessionSpec {
            id: spec.id,
            ..SessionSpec::new(SessionKind::Dialogue, "claude")
        };
        assert_eq!(spec, expected);
        assert!(spec.journal.on && spec.env.inherit && spec.blocks());
    }

    #[test]
    fn specification_round_trips_through_json() {
        let mut spec = SessionSpec::new(SessionKind::Terminal, "sh");
        spec.args = vec!["-c".into(), "true".into()];
        spec.env.set.insert("A".into(), "secret".into());
        spec.stdio = SpecStdio::Pty {
            size: WindowSize::new(50, 132),
            mode: TerminalMode::Raw,
        };
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<SessionSpec>(&text).unwrap(), spec);
        assert!(!format!("{spec:?}").contains("secret"));
        assert!(!spec.blocks());
    }
}
