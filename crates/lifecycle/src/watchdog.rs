//! The watchdog: detects a silent agent and decides whether to terminate it.
//!
//! Silence alone proves nothing: a tool may compile for an hour, and a permission request may wait
//! overnight for the user. So each phase has its own limit, waiting for the user has none, and a
//! silence over the limit starts an inquiry before anything is terminated: the agent gets a control
//! request without side effects, and the resource usage of its processes is measured twice.
//!
//! Pure: time is an argument. It comes from the host's monotonic clock, so jumps of the wall clock do
//! not count; a gap between two checks that only a suspended machine explains does not count either.

mod activity;
mod check;
mod policy;
mod silence;

pub use self::activity::{Activity, ActivitySource, LastActivity, WorkPhase};
pub(crate) use self::check::{OpenWork, Watchdog, WatchdogAction};
pub use self::policy::{PhaseLimits, SilenceLimit, WatchdogPolicy};
pub use self::silence::{ProbeAnswer, Silence, SilenceCause};
