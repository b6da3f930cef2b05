//! Signals that can be sent to a child.

use serde::{Deserialize, Serialize};

/// A signal for a child. Delivered to the child's process group; on a PTY to the foreground process
/// group, as for the terminal's own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Signal {
    /// SIGHUP: the terminal was closed.
    Hangup,
    /// SIGINT: sent by ^C.
    Interrupt,
    /// SIGQUIT: sent by ^\.
    Quit,
    /// SIGTERM: a request to exit.
    Terminate,
    /// SIGKILL: ends the process group only; `terminate` ends the whole process tree.
    Kill,
    /// SIGSTOP: suspends the processes.
    Stop,
    /// SIGCONT: resumes the processes.
    Continue,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
}

impl Signal {
    pub(crate) fn native(self) -> rustix::process::Signal {
        use rustix::process::Signal as Native;
        match self {
            Self::Hangup => Native::HUP,
            Self::Interrupt => Native::INT,
            Self::Quit => Native::QUIT,
            Self::Terminate => Native::TERM,
            Self::Kill => Native::KILL,
            Self::Stop => Native::STOP,
            Self::Continue => Native::CONT,
            Self::User1 => Native::USR1,
            Self::User2 => Native::USR2,
        }
    }
}
