//! How long each phase may be silent.

use std::time::Duration;

use super::WorkPhase;

/// What is done about an agent that is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogConfiguration {
    /// Time between two looks. A silence is noticed at the first look behind its limit. Nothing is
    /// looked at while nothing is waited for.
    pub check: Duration,
    /// How long an inquiry lasts before it is decided; absent, a silent agent is killed unasked.
    pub inquiry: Option<Duration>,
    /// How long an open permission request waits before it is denied; absent, for ever. It is never
    /// a reason to kill.
    pub permission: Option<Duration>,
    /// How long each phase may be silent.
    pub limits: PhaseLimits,
}

/// How long each phase may be silent; absent, for ever. Waiting for the host or for a person has no
/// limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseLimits {
    /// [`WorkPhase::Starting`].
    pub starting: Option<SilenceLimit>,
    /// [`WorkPhase::Model`].
    pub model: Option<SilenceLimit>,
    /// [`WorkPhase::Tool`].
    pub tool: Option<SilenceLimit>,
    /// [`WorkPhase::Background`].
    pub background: Option<SilenceLimit>,
    /// [`WorkPhase::PostResult`].
    pub post_result: Option<SilenceLimit>,
    /// [`WorkPhase::Draining`]: how long an agent may live with its output closed. Such an agent
    /// cannot answer any more, so that it is not asked.
    pub draining: Option<Duration>,
}

/// How long a phase may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SilenceLimit {
    /// Then an inquiry begins, and again each time that the last one found life.
    pub silence: Duration,
    /// Then the agent is killed although its processes live; absent, never.
    pub at_most: Option<Duration>,
}

const fn after(seconds: u64) -> Option<SilenceLimit> {
    Some(SilenceLimit {
        silence: Duration::from_secs(seconds),
        at_most: None,
    })
}

/// Time between two looks (seed 001).
const CHECK: Duration = Duration::from_secs(10);

impl Default for WatchdogConfiguration {
    /// Kills nobody who shows any sign of life. The limits lie above what the agent bounds by
    /// itself: 60 s for its start (protocol, section B.3), 10 min for a call of the API and for a
    /// command; a process that has closed its output is gone in 43 ms, its hooks in 1.5 s
    /// (observed, 13; protocol, section D.1).
    fn default() -> Self {
        Self {
            check: CHECK,
            inquiry: Some(Duration::from_secs(20)),
            permission: None,
            limits: PhaseLimits {
                starting: after(120),
                model: after(660),
                tool: after(900),
                background: after(1800),
                post_result: after(30),
                draining: Some(Duration::from_secs(5)),
            },
        }
    }
}

impl WatchdogConfiguration {
    /// The watchdog of seed 001: a look each 10 s, and the end for an agent that has been silent for
    /// `timeout`, whatever it is doing. A person who is being asked does not count as silence.
    #[must_use]
    pub const fn seed_001(timeout: Duration) -> Self {
        let limit = Some(SilenceLimit {
            silence: timeout,
            at_most: None,
        });
        Self {
            check: CHECK,
            inquiry: None,
            permission: None,
            limits: PhaseLimits {
                starting: limit,
                model: limit,
                tool: limit,
                background: limit,
                post_result: limit,
                draining: Some(timeout),
            },
        }
    }

    /// Looks at nothing; an agent that has closed its output is ended all the same.
    #[must_use]
    pub fn never() -> Self {
        let it = Self::default();
        Self {
            limits: PhaseLimits {
                draining: it.limits.draining,
                ..PhaseLimits::default()
            },
            ..it
        }
    }

    pub(crate) const fn limit(&self, phase: WorkPhase) -> Option<SilenceLimit> {
        match phase {
            WorkPhase::Starting => self.limits.starting,
            WorkPhase::Model => self.limits.model,
            WorkPhase::Tool => self.limits.tool,
            WorkPhase::Background => self.limits.background,
            WorkPhase::PostResult => self.limits.post_result,
            // The machine ends an agent that has closed its output without a look at it.
            WorkPhase::Idle | WorkPhase::Permission | WorkPhase::Draining => None,
        }
    }

    /// Time between two looks in a phase: a limit below it is looked at in time.
    pub(crate) fn pace(&self, phase: WorkPhase) -> Duration {
        let limit = self.limit(phase).map(|limit| limit.silence);
        let pace = limit.map_or(self.check, |limit| limit.min(self.check));
        pace.max(Duration::from_millis(1))
    }
}
