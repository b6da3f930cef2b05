//! Silence, and what is done about it.
//!
//! Silence alone proves nothing: a tool may compile for an hour, and somebody may think about a
//! permission over night. So each phase has a deadline of its own, a person is never waited for in
//! vain, and a silence that is too long starts an inquiry before anything is killed: the agent is
//! asked a harmless question, and its processes are looked at twice.
//!
//! Pure: time is an argument. The clock is the host's monotonic one, so that wall-clock jumps do not
//! count; a gap between two looks that nothing but a suspended machine explains does not either.

mod activity;
mod configuration;
mod guard;
mod silence;

pub use self::activity::{Activity, ActivitySource, WorkPhase};
pub use self::configuration::{PhaseLimits, SilenceLimit, WatchdogConfiguration};
pub(crate) use self::guard::{Facts, Guard, Step};
pub use self::silence::{ProbeAnswer, Silence};
