//! What a session is made from, as it is handed over.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use bowline_transport::wire::SessionKind;
use bowline_transport::{
    Configuration, Environment, LogLimits, Overflow, PtyMode, SessionId, Stdio, WindowSize,
};
use serde::{Deserialize, Serialize};

/// Bytes of each stream that a session keeps in memory, unless said otherwise: 1 MiB (terminal
/// notes, section 5.2).
pub const DEFAULT_RING_BYTES: u64 = 1 << 20;

/// The variable that says how many bytes a session keeps in memory that does not say so itself.
pub const RING_VARIABLE: &str = "BOWLINE_RING_BYTES";

/// Bytes that a journal may have on disk, unless said otherwise: 256 MiB (terminal notes, section
/// 5.4).
const JOURNAL_BYTES: u64 = 256 << 20;

/// Bytes that wait between the child's descriptors and the session's log.
const UNDER_WAY_BYTES: usize = 256 * 1024;

/// Everything needed to start one session. As JSON it is what `POST /api/sessions` takes, and what
/// a shim is handed over its standard input; never in arguments or variables, since prompts and
/// secrets may be in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSpec {
    /// The session's name for programs. A fresh one if it is left out.
    #[serde(default = "SessionId::random")]
    pub id: SessionId,
    /// Its name for people.
    #[serde(default)]
    pub name: Option<String>,
    /// What it is for.
    pub kind: SessionKind,
    /// A name to look up in the child's `PATH`, or a path.
    pub program: String,
    /// Arguments after the program's name.
    #[serde(default)]
    pub args: Vec<String>,
    /// The child's environment.
    #[serde(default)]
    pub env: SpecEnvironment,
    /// The child's working directory; `None` is the one of whoever starts the shim.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// What the child's standard streams are.
    #[serde(default)]
    pub stdio: SpecStdio,
    /// Bytes of each stream kept in memory; `None` is [`RING_VARIABLE`], else
    /// [`DEFAULT_RING_BYTES`].
    #[serde(default)]
    pub ring_bytes: Option<u64>,
    /// What is kept on disk.
    #[serde(default)]
    pub journal: JournalSpec,
    /// Whatever the host wants to find it by.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How long the exit is kept for somebody to acknowledge it, in milliseconds; `None` is 24
    /// hours.
    #[serde(default)]
    pub exit_kept_ms: Option<u64>,
}

/// The child's environment. An outer agent's variables are never inherited.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecEnvironment {
    /// Whether it begins with that of whoever starts the shim, and not empty.
    #[serde(default = "yes")]
    pub inherit: bool,
    /// Variables that are set.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Variables that are taken away.
    #[serde(default)]
    pub remove: BTreeSet<String>,
}

/// What the child's standard streams are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum SpecStdio {
    /// Three pipes. For dialogues.
    #[default]
    Pipes,
    /// One terminal for all three.
    Pty {
        /// Its size at birth; 24 rows of 80 columns if left out.
        #[serde(default)]
        size: WindowSize,
        /// What it does to the bytes.
        #[serde(default)]
        mode: TerminalMode,
    },
}

/// What a terminal does to the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalMode {
    /// Echo, line editing, signals from keys: as a login has it.
    #[default]
    Cooked,
    /// Nothing.
    Raw,
}

/// What is kept on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalSpec {
    /// Whether anything is.
    #[serde(default = "yes")]
    pub on: bool,
    /// Bytes on disk at most.
    #[serde(default = "journal_bytes")]
    pub cap_bytes: u64,
}

impl SessionSpec {
    /// A session of a fresh name on pipes, with the inherited environment and a journal.
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
            journal: JournalSpec::default(),
            labels: BTreeMap::new(),
            exit_kept_ms: None,
        }
    }

    /// Whether the child is on a terminal.
    pub fn is_on_terminal(&self) -> bool {
        matches!(self.stdio, SpecStdio::Pty { .. })
    }

    /// The terminal's size at birth, if there is one.
    pub fn size(&self) -> Option<WindowSize> {
        match self.stdio {
            SpecStdio::Pipes => None,
            SpecStdio::Pty { size, .. } => Some(size),
        }
    }

    /// Whether the child is held back for a client that lacks bytes, and not the oldest ones
    /// dropped: for everything but what a person looks at.
    pub(crate) fn blocks(&self) -> bool {
        self.kind == SessionKind::Dialogue || !self.is_on_terminal()
    }

    /// Whether a person looks at it, so that a client may begin with the screen.
    pub(crate) fn has_screen(&self) -> bool {
        !self.blocks()
    }

    /// Bytes of each stream kept in memory.
    pub(crate) fn ring(&self) -> usize {
        let said = std::env::var(RING_VARIABLE).ok();
        let said = said.and_then(|text| text.parse().ok());
        let bytes = self.ring_bytes.or(said).unwrap_or(DEFAULT_RING_BYTES);
        usize::try_from(bytes).unwrap_or(usize::MAX).max(1)
    }

    /// What the terminal session is made from. The session's own log keeps the history, so this one
    /// keeps only what is under way.
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
            output_bytes: UNDER_WAY_BYTES,
            errors_bytes: UNDER_WAY_BYTES,
            history_bytes: 0,
            output_overflow: Some(Overflow::Block),
        };
        configuration.guard = guard;
        configuration
    }
}

impl SpecEnvironment {
    fn resolve(&self) -> Environment {
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

/// Names only: values may be secrets.
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
    /// On, 256 MiB.
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
    fn what_is_left_out_has_its_default() {
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
    fn a_spec_comes_back_as_it_was() {
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
