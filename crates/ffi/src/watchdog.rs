//! What is done about an agent that is silent.

use std::time::Duration;

use crate::core;

/// How long a phase may be silent.
#[derive(Clone, Copy, Debug, uniffi::Record)]
pub struct SilenceLimit {
    /// Then an inquiry begins, in milliseconds.
    pub silence_ms: u64,
    /// Then the agent is killed although its processes live, in milliseconds; absent, never.
    #[uniffi(default = None)]
    pub at_most_ms: Option<u64>,
}

/// What is done about an agent that is silent.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum WatchdogConfiguration {
    /// The limits that the lifecycle has by itself: nobody who shows any sign of life is killed.
    Standard,
    /// Nothing is looked at.
    Never,
    /// A look each 10 s, and the end for an agent that has been silent for so long, whatever it is
    /// doing. A person who is being asked does not count.
    KillAfter {
        /// How long, in milliseconds.
        silence_ms: u64,
    },
    /// Limits by phase; absent, for ever.
    Phases {
        /// Time between two looks, in milliseconds.
        check_ms: u64,
        /// How long an inquiry lasts, in milliseconds; absent, a silent agent is killed unasked.
        inquiry_ms: Option<u64>,
        /// How long an open permission request waits before it is denied, in milliseconds.
        permission_ms: Option<u64>,
        /// Something was asked of an agent that has said nothing yet.
        starting: Option<SilenceLimit>,
        /// The model works.
        model: Option<SilenceLimit>,
        /// A tool runs.
        tool: Option<SilenceLimit>,
        /// Only background tasks run.
        background: Option<SilenceLimit>,
        /// The agent was asked to end.
        post_result: Option<SilenceLimit>,
        /// How long an agent may live with its output closed, in milliseconds.
        draining_ms: Option<u64>,
    },
}

impl From<SilenceLimit> for core::SilenceLimit {
    fn from(limit: SilenceLimit) -> Self {
        Self {
            silence: Duration::from_millis(limit.silence_ms),
            at_most: limit.at_most_ms.map(Duration::from_millis),
        }
    }
}

impl From<WatchdogConfiguration> for core::WatchdogConfiguration {
    fn from(watchdog: WatchdogConfiguration) -> Self {
        use WatchdogConfiguration as W;
        match watchdog {
            W::Standard => Self::default(),
            W::Never => Self::never(),
            W::KillAfter { silence_ms } => Self::seed_001(Duration::from_millis(silence_ms)),
            W::Phases {
                check_ms,
                inquiry_ms,
                permission_ms,
                starting,
                model,
                tool,
                background,
                post_result,
                draining_ms,
            } => Self {
                check: Duration::from_millis(check_ms),
                inquiry: inquiry_ms.map(Duration::from_millis),
                permission: permission_ms.map(Duration::from_millis),
                limits: core::PhaseLimits {
                    starting: starting.map(Into::into),
                    model: model.map(Into::into),
                    tool: tool.map(Into::into),
                    background: background.map(Into::into),
                    post_result: post_result.map(Into::into),
                    draining: draining_ms.map(Duration::from_millis),
                },
            },
        }
    }
}
