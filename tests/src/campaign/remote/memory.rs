//! Memory usage of other processes.

use std::fs;

/// Private memory of a process in bytes, without mapped files (proc_pid_statm(5): resident less
/// shared).
pub(super) fn private(pid: u32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let mut pages = statm.split(' ').skip(1).filter_map(|it| it.parse().ok());
    let resident: u64 = pages.next().unwrap_or(0);
    resident.saturating_sub(pages.next().unwrap_or(0)) * rustix::param::page_size() as u64
}
