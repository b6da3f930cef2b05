//! What a machine does to a session: it kills runners and shims, stops processes, fills disks, runs
//! out of memory, descriptors, terminals and threads, and steps its clocks.
//!
//! Everything is real but the child, which says what everybody knows beforehand, so that each byte
//! can be told from every other one.

mod clock;
mod descriptors;
mod disk;
mod faulty;
mod frames;
mod host;
mod journals;
mod lateness;
mod limited_group;
mod many;
mod oom;
mod outage;
mod program;
mod prompt_files;
mod real_agent;
mod shim_killed;
mod soak;
mod speech;
mod station;
mod stopped;
mod threads;
mod tmpfs;
mod usage;

use std::process::ExitCode;

pub(super) use clock::run as clock;
pub(super) use descriptors::run as descriptors;
pub(super) use disk::run as disk;
pub(super) use journals::run as journals;
pub(super) use many::run as runner_sessions;
pub(super) use oom::run as oom;
pub(super) use outage::{run_killed as runner_killed, run_upgraded as upgrade};
pub(super) use prompt_files::run as prompt_files;
pub(super) use real_agent::run as real_agent;
pub(super) use shim_killed::run as shim_killed;
pub(super) use soak::{EVERY as SOAK_EVERY, run as soak};
pub(super) use stopped::run as stopped;
pub(super) use threads::run as threads;

/// Does what a hidden mode says; `None` if the arguments name none of these.
pub(super) fn hidden(args: &[String]) -> Option<ExitCode> {
    program::run(args)
}
