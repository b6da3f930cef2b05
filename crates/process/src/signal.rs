//! The signals that a host sends to a child.

use serde::{Deserialize, Serialize};

/// A signal that a host sends to a child. Delivered to the child's process group; on a PTY to the
/// group in the foreground, as the terminal's own keys do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Signal {
    /// SIGHUP: the terminal is gone.
    Hangup,
    /// SIGINT: what ^C sends.
    Interrupt,
    /// SIGQUIT: what ^\ sends.
    Quit,
    /// SIGTERM: please end.
    Terminate,
    /// SIGKILL: end. Reaches the group only; `terminate` reaches the tree.
    Kill,
    /// SIGSTOP: stand still.
    Stop,
    /// SIGCONT: go on.
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
