//! Resource usage of processes, read from /proc.

use std::fs;
use std::time::Duration;

/// Open descriptors of some processes.
pub(super) fn descriptors(pids: &[u32]) -> u64 {
    let of = |pid: &u32| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    pids.iter().map(of).sum::<usize>() as u64
}

/// Threads of some processes.
pub(super) fn threads(pids: &[u32]) -> u64 {
    let of = |pid: &u32| fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    pids.iter().map(of).sum::<usize>() as u64
}

/// CPU time of all threads (`schedstat`, sched-stats.rst).
pub(super) fn on_processor(pids: &[u32]) -> Duration {
    let of = |pid: &u32| {
        let threads = fs::read_dir(format!("/proc/{pid}/task"));
        let times = threads
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|thread| {
                let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
                text.split(' ').next()?.parse::<u64>().ok()
            });
        times.sum::<u64>()
    };
    Duration::from_nanos(pids.iter().map(of).sum())
}

/// Proportional set size in bytes (`Pss` of proc_pid_smaps(5)).
pub(super) fn in_memory(pids: &[u32]) -> u64 {
    pids.iter().map(|pid| of_smaps(*pid, "Pss:")).sum()
}

/// Private anonymous memory, in bytes.
pub(super) fn own_memory(pids: &[u32]) -> u64 {
    pids.iter().map(|pid| of_smaps(*pid, "Anonymous:")).sum()
}

fn of_smaps(pid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
