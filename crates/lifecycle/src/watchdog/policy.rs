//! How long each phase may be silent.

use std::time::Duration;

use super::WorkPhase;

/// What the watchdog does about a silent agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogPolicy {
    /// Time between two checks. A silence is noticed at the first check after its limit. There are
    /// no checks while nothing is awaited.
    pub check_interval: Duration,
    /// How long a silent agent and its processes are observed before the decision; when absent, a
    /// silent agent is terminated at once.
    pub probe: Option<Duration>,
    /// Time after which an open permission request is denied; when absent, never. It never leads to
    /// termination.
    pub permission_timeout: Option<Duration>,
    /// How long each phase may be silent.
    pub limits: PhaseLimits,
}

/// How long each phase may be silent; unlimited when absent. Waiting for the host or the user has no
/// limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseLimits {
    /// Limit of [`WorkPhase::Starting`].
    pub starting: Option<SilenceLimit>,
    /// Limit of [`WorkPhase::Model`].
    pub model: Option<SilenceLimit>,
    /// Limit of [`WorkPhase::Tool`].
    pub tool: Option<SilenceLimit>,
    /// Limit of [`WorkPhase::Background`].
    pub background: Option<SilenceLimit>,
    /// Limit of [`WorkPhase::PostResult`].
    pub post_result: Option<SilenceLimit>,
    /// How long an agent in [`WorkPhase::Draining`] may run with its output closed. It cannot answer,
    /// so there is no inquiry.
    pub draining: Option<Duration>,
}

/// How long a phase may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SilenceLimit {
    /// Silence after which an inquiry begins, and again after each one that found the agent alive.
    pub silence: Duration,
    /// Silence after which the agent is terminated although its processes work; never when absent.
    pub max_silence: Option<Duration>,
}

impl SilenceLimit {
    /// Creates a limit that starts an inquiry after this silence, and has no maximum.
    #[must_use]
    pub const fn new(silence: Duration) -> Self {
        Self {
            silence,
            max_silence: None,
        }
    }
}

const fn seconds(seconds: u64) -> Option<SilenceLimit> {
    Some(SilenceLimit::new(Duration::from_secs(seconds)))
}

const DEFAULT_CHECK_INTERVAL: Duration = Duration::from_secs(10);

impl Default for WatchdogPolicy {
    /// Returns a policy that terminates only agents without any sign of life. Its limits exceed those
    /// of the agent itself (`crates/jsonl/PROTOCOL.md`): 60 s for its start, 10 min for an API call
    /// and for a command. The agent exits within 43 ms of closing its output, and its hooks take
    /// 1.5 s.
    fn default() -> Self {
        Self {
            check_interval: DEFAULT_CHECK_INTERVAL,
            probe: Some(Duration::from_secs(20)),
            permission_timeout: None,
            limits: PhaseLimits {
                starting: seconds(120),
                model: seconds(660),
                tool: seconds(900),
                background: seconds(1800),
                post_result: seconds(30),
                draining: Some(Duration::from_secs(5)),
            },
        }
    }
}

impl WatchdogPolicy {
    /// Returns a policy that terminates an agent after one fixed time of silence, whatever it does,
    /// and checks every 10 s. Waiting for a permission does not count as silence.
    #[must_use]
    pub const fn fixed_timeout(timeout: Duration) -> Self {
        let limit = Some(SilenceLimit::new(timeout));
        Self {
            check_interval: DEFAULT_CHECK_INTERVAL,
            probe: None,
            permission_timeout: None,
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

    /// Returns a policy without checks. An agent that has closed its output and does not exit is
    /// terminated all the same.
    #[must_use]
    pub fn disabled() -> Self {
        let it = Self::default();
        Self {
            limits: PhaseLimits {
                draining: it.limits.draining,
                ..PhaseLimits::default()
            },
            ..it
        }
    }

    pub(super) const fn limit(&self, phase: WorkPhase) -> Option<SilenceLimit> {
        match phase {
            WorkPhase::Starting => self.limits.starting,
            WorkPhase::Model => self.limits.model,
            WorkPhase::Tool => self.limits.tool,
            WorkPhase::Background => self.limits.background,
            WorkPhase::PostResult => self.limits.post_result,
            // Draining has a deadline in the state machine, since it needs no inquiry.
            WorkPhase::Idle | WorkPhase::Permission | WorkPhase::Draining => None,
        }
    }

    /// Returns the time between two checks of a phase, which is at most its limit.
    pub(super) fn interval(&self, phase: WorkPhase) -> Duration {
        let limit = self.limit(phase).map(|limit| limit.silence);
        let interval = limit.map_or(self.check_interval, |limit| limit.min(self.check_interval));
        interval.max(Duration::from_millis(1))
    }
}
