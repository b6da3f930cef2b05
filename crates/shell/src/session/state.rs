//! The state of a session, derived from evidence by a pure function.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The state of a session, derived from its output and its processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionState {
    /// The program runs; there was no output and no input yet.
    #[default]
    Creating,
    /// The session works. A shell: there was recent output or input, or a program without bracketed
    /// paste is in the foreground. A dialogue: a turn is open, or it waits for a permission.
    Active,
    /// The session waits for input. A shell: there was no output for a while, and the shell itself, a
    /// program with bracketed paste or an unknown program is in the foreground. A dialogue: no turn
    /// is open.
    Idle,
    /// The program runs at a runner, and this host is not attached to it.
    Detached,
    /// The program has ended.
    Terminated,
}

/// The process group in the foreground (tcgetpgrp(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreground {
    /// The session's own program.
    Own,
    /// A program that it started.
    Other,
    /// Not known on this system.
    Unknown,
}

/// What the state of a running shell session is derived from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// Whether there was output or input.
    pub(super) has_begun: bool,
    /// Time since the last output or input.
    pub(super) silence: Duration,
    pub(super) foreground: Foreground,
    pub(super) wants_paste: bool,
}

impl Evidence {
    pub(super) fn state(self, idle_after: Duration) -> SessionState {
        let works = self.foreground == Foreground::Other && !self.wants_paste;
        if !self.has_begun {
            SessionState::Creating
        } else if self.silence < idle_after || works {
            SessionState::Active
        } else {
            SessionState::Idle
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE_AFTER: Duration = Duration::from_secs(1);

    const PROMPT: Evidence = Evidence {
        has_begun: true,
        silence: Duration::from_secs(2),
        foreground: Foreground::Own,
        wants_paste: false,
    };

    #[test]
    fn state_follows_from_evidence() {
        let states = [
            (
                Evidence {
                    has_begun: false,
                    ..PROMPT
                },
                SessionState::Creating,
            ),
            (PROMPT, SessionState::Idle),
            (
                Evidence {
                    silence: Duration::from_millis(999),
                    ..PROMPT
                },
                SessionState::Active,
            ),
            (
                Evidence {
                    silence: IDLE_AFTER,
                    ..PROMPT
                },
                SessionState::Idle,
            ),
            (
                Evidence {
                    foreground: Foreground::Other,
                    ..PROMPT
                },
                SessionState::Active,
            ),
            (
                Evidence {
                    foreground: Foreground::Other,
                    wants_paste: true,
                    ..PROMPT
                },
                SessionState::Idle,
            ),
            (
                Evidence {
                    foreground: Foreground::Unknown,
                    ..PROMPT
                },
                SessionState::Idle,
            ),
        ];
        for (evidence, state) in states {
            assert_eq!(evidence.state(IDLE_AFTER), state, "{evidence:?}");
        }
    }
}
