//! A terminal as the registry lists it, and its tombstone.

use std::fmt;
use std::time::SystemTime;

use bowline_transport::{
    ConnectionState, Containment, ExitStatus, Kind, SessionId, TerminalSession,
};
use tokio::sync::watch;

use crate::attention::Attention;

/// What a terminal is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TerminalTag {
    /// The agent of a dialogue.
    AgentDialogue,
    /// A shell or an interactive program.
    Shell,
    /// One command of a terminal executor.
    Executor,
}

impl TerminalTag {
    /// Returns the name in logs and protocols: `agent-dialogue`, `shell` or `executor`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AgentDialogue => "agent-dialogue",
            Self::Shell => "shell",
            Self::Executor => "executor",
        }
    }
}

impl fmt::Display for TerminalTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A running terminal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RegisteredTerminal {
    /// Id of the terminal, which all lists and events refer to.
    pub id: SessionId,
    /// What it is used for.
    pub tag: TerminalTag,
    /// The child's process id on its own machine.
    pub pid: Option<u32>,
    /// Where the child runs, and the type of its streams; absent for a terminal of the host.
    pub kind: Option<Kind>,
    /// How its descendants are contained; absent for a terminal of the host.
    pub containment: Option<Containment>,
    /// When it was started.
    pub started: SystemTime,
    connection: watch::Receiver<ConnectionState>,
}

/// How a terminal ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tombstone {
    /// Id of the terminal.
    pub id: SessionId,
    /// What it was used for.
    pub tag: TerminalTag,
    /// The child's process id; it may belong to another process by now.
    pub pid: Option<u32>,
    /// When it was started.
    pub started: SystemTime,
    /// When it ended.
    pub ended: SystemTime,
    /// The child's exit status; absent if the runtime of its host ended first.
    pub status: Option<ExitStatus>,
    /// Whether the host requested the end.
    pub expected: bool,
    /// A description of the end.
    pub reason: String,
    /// What of a dialogue needs attention after its end.
    pub attention: Option<Attention>,
}

impl RegisteredTerminal {
    pub(super) fn new(terminal: &TerminalSession, tag: TerminalTag) -> Self {
        Self {
            id: terminal.id(),
            tag,
            pid: terminal.pid(),
            kind: Some(terminal.kind()),
            containment: Some(terminal.containment()),
            started: SystemTime::now(),
            connection: terminal.connection(),
        }
    }

    /// Lists a terminal of the host, of which nothing but its use is known.
    pub(super) fn of_host(tag: TerminalTag) -> Self {
        Self {
            id: SessionId::random(),
            tag,
            pid: None,
            kind: None,
            containment: None,
            started: SystemTime::now(),
            connection: watch::channel(ConnectionState::Connected).1,
        }
    }

    /// Returns the state of the connection to the child's machine.
    #[must_use]
    pub fn connection(&self) -> ConnectionState {
        self.connection.borrow().clone()
    }
}

/// Describes how a process ended.
pub(crate) fn describe(status: ExitStatus) -> String {
    match status {
        ExitStatus::Code(code) => format!("exit code {code}"),
        ExitStatus::Signal(signal) => format!("signal {signal}"),
        ExitStatus::Unknown => "unknown exit status".to_owned(),
    }
}
