//! Failures of the machine: killed runners and shims, stopped processes, full disks, exhausted
//! memory, descriptors, terminals and threads, and clock steps.
//!
//! Everything is the production code except the child, whose output is known in advance and in
//! which every position is distinguishable.

mod clock;
mod damaged_journal;
mod descriptors;
mod disk;
mod driven;
mod editors;
mod faulty;
mod frames;
mod full_disk;
mod host;
mod lateness;
mod limited_group;
mod many;
mod oom;
mod outage;
mod output;
mod program;
#[cfg(target_os = "linux")]
mod prompt_files;
mod real_agent;
mod shim_killed;
mod soak;
mod station;
mod stopped;
mod threads;
mod tmpfs;
mod usage;

use std::process::ExitCode;

pub(super) use clock::run as clock;
pub(super) use damaged_journal::run as damaged_journal;
pub(super) use descriptors::run as descriptors;
pub(super) use disk::run as disk;
pub(super) use driven::run as daemon_driver;
pub(super) use editors::run as acp_kills;
pub(super) use full_disk::run as full_disk;
pub(super) use many::run as runner_sessions;
pub(super) use oom::run as oom;
pub(super) use outage::{run_killed as runner_killed, run_upgraded as upgrade};
pub(super) use output::OutputSequence;
pub(super) use program::SPEAK;
#[cfg(target_os = "linux")]
pub(super) use prompt_files::run as prompt_files;
pub(super) use real_agent::run as real_agent;
pub(super) use shim_killed::run as shim_killed;
pub(super) use soak::{EVERY as SOAK_EVERY, run as soak};
pub(super) use stopped::run as stopped;
pub(super) use threads::run as threads;

/// Runs the hidden mode that the arguments select, or returns `None` if they select none of these.
pub(super) fn hidden(args: &[String]) -> Option<ExitCode> {
    program::run(args)
}
