//! What is known of a terminal, alive and dead.

use std::fmt;
use std::time::SystemTime;

use bowline_transport::{
    ConnectionState, Containment, ExitStatus, Kind, SessionId, TerminalSession,
};
use tokio::sync::watch;

/// What a terminal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TerminalTag {
    /// It holds a dialogue's agent.
    AgentDialogue,
    /// It holds a shell, or a program for people.
    Shell,
    /// It holds one command of a terminal executor.
    Executor,
}

impl TerminalTag {
    /// Its name in logs and on wires: `agent-dialogue`, `shell` or `executor`.
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

/// A terminal that lives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RegisteredTerminal {
    /// Names it, in every list and every event.
    pub id: SessionId,
    /// What it is for.
    pub tag: TerminalTag,
    /// The child's process id on its own machine.
    pub pid: Option<u32>,
    /// Where the child is, and what its streams are; absent for a terminal of the host's own.
    pub kind: Option<Kind>,
    /// How tightly its processes are held; absent for a terminal of the host's own.
    pub containment: Option<Containment>,
    /// When it was started.
    pub started: SystemTime,
    connection: watch::Receiver<ConnectionState>,
}

/// How a terminal ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tombstone {
    /// Its name.
    pub id: SessionId,
    /// What it was for.
    pub tag: TerminalTag,
    /// The child's process id; it may name another process by now.
    pub pid: Option<u32>,
    /// When it was started.
    pub started: SystemTime,
    /// When it ended.
    pub ended: SystemTime,
    /// How the child ended; absent when its host's runtime ended first.
    pub status: Option<ExitStatus>,
    /// Whether the host had asked for it.
    pub expected: bool,
    /// The end in words.
    pub reason: String,
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

    /// A terminal of the host's own, which is known by what runs in it alone.
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

    /// How the link to the child's machine stands now.
    #[must_use]
    pub fn connection(&self) -> ConnectionState {
        self.connection.borrow().clone()
    }
}

/// The end of a process in words.
pub(crate) fn describe(status: ExitStatus) -> String {
    match status {
        ExitStatus::Code(code) => format!("exit code {code}"),
        ExitStatus::Signal(signal) => format!("signal {signal}"),
        ExitStatus::Unknown => "unknown exit status".to_owned(),
    }
}
