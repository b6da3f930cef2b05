//! Watchdog settings for silent agents.

use crate::core;
use crate::limits::duration;

/// How long an agent may be silent in one phase.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct SilenceLimit {
    /// Silence in milliseconds after which the agent is probed.
    pub silence_ms: u64,
    /// Silence in milliseconds after which the agent is killed even if its processes are active;
    /// absent for no limit.
    #[uniffi(default = None)]
    pub max_silence_ms: Option<u64>,
}

/// What happens when an agent writes nothing for a long time.
///
/// A phase in which the agent waits for a permission answer never counts as silence.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum WatchdogPolicy {
    /// The default limits. An agent whose processes show any activity is not killed.
    Standard,
    /// No watchdog.
    Disabled,
    /// Kills an agent that is silent for a fixed time in any phase. Checked every 10 s.
    FixedTimeout {
        /// The time in milliseconds.
        timeout_ms: u64,
    },
    /// Limits by phase. A phase without a limit may be silent for ever.
    Phases {
        /// The time between two checks, in milliseconds.
        check_interval_ms: u64,
        /// How long the processes are observed for activity, in milliseconds; absent to kill a silent
        /// agent at once.
        probe_ms: Option<u64>,
        /// How long a permission request may be open before it is denied, in milliseconds.
        permission_timeout_ms: Option<u64>,
        /// The limit while the agent has not written anything in answer to the first prompt.
        starting: Option<SilenceLimit>,
        /// The limit while the model works.
        model: Option<SilenceLimit>,
        /// The limit while a tool runs.
        tool: Option<SilenceLimit>,
        /// The limit while only background tasks run.
        background: Option<SilenceLimit>,
        /// The limit after the agent was asked to exit.
        post_result: Option<SilenceLimit>,
        /// How long an agent may run after it closed its output, in milliseconds.
        draining_ms: Option<u64>,
    },
}

impl From<SilenceLimit> for core::SilenceLimit {
    fn from(limit: SilenceLimit) -> Self {
        Self {
            silence: duration(limit.silence_ms),
            max_silence: limit.max_silence_ms.map(duration),
        }
    }
}

impl From<WatchdogPolicy> for core::WatchdogPolicy {
    fn from(policy: WatchdogPolicy) -> Self {
        match policy {
            WatchdogPolicy::Standard => Self::default(),
            WatchdogPolicy::Disabled => Self::disabled(),
            WatchdogPolicy::FixedTimeout { timeout_ms } => {
                Self::fixed_timeout(duration(timeout_ms))
            }
            WatchdogPolicy::Phases {
                check_interval_ms,
                probe_ms,
                permission_timeout_ms,
                starting,
                model,
                tool,
                background,
                post_result,
                draining_ms,
            } => Self {
                check_interval: duration(check_interval_ms),
                probe: probe_ms.map(duration),
                permission_timeout: permission_timeout_ms.map(duration),
                limits: core::PhaseLimits {
                    starting: starting.map(Into::into),
                    model: model.map(Into::into),
                    tool: tool.map(Into::into),
                    background: background.map(Into::into),
                    post_result: post_result.map(Into::into),
                    draining: draining_ms.map(duration),
                },
            },
        }
    }
}
