//! What a session is doing, from what is seen of it. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a session is doing. Nobody sets it: it follows from what is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionState {
    /// Its program runs, and neither has said a word nor been sent one.
    #[default]
    Creating,
    /// It works. A shell: output came lately, or something was typed lately, or a program is in
    /// the terminal's foreground that does not ask for a paste. A dialogue: a turn is open, or it
    /// waits for a permission.
    Active,
    /// It waits for somebody to type. A shell: its output has been quiet for a while, and the
    /// foreground is the shell itself, or a program that asks for a paste, or unknown. A dialogue:
    /// no turn is open.
    Idle,
    /// Its program has ended.
    Terminated,
}

/// Who may read what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreground {
    /// The session's own program.
    Own,
    /// A program that it started.
    Other,
    /// The system does not tell.
    Unknown,
}

/// What is seen of a living shell session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// Whether anything was said or typed.
    pub(super) has_begun: bool,
    /// Since the last output or the last bytes typed.
    pub(super) quiet: Duration,
    pub(super) foreground: Foreground,
    pub(super) wants_paste: bool,
}

impl Evidence {
    pub(super) fn state(self, idle_after: Duration) -> SessionState {
        let works = self.foreground == Foreground::Other && !self.wants_paste;
        if !self.has_begun {
            SessionState::Creating
        } else if self.quiet < idle_after || works {
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
        quiet: Duration::from_secs(2),
        foreground: Foreground::Own,
        wants_paste: false,
    };

    #[test]
    fn seed_004_session_state_follows_the_evidence() {
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
                    quiet: Duration::from_millis(999),
                    ..PROMPT
                },
                SessionState::Active,
            ),
            (
                Evidence {
                    quiet: IDLE_AFTER,
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
