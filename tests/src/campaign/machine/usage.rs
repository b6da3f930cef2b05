//! What processes use, from /proc.

use std::fs;
use std::time::Duration;

/// Open descriptors of some processes.
pub(super) fn descriptors(pids: &[u32]) -> u64 {
    let of = |pid: &u32| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    pids.iter().map(of).sum::<usize>() as u64
}

/// Their threads.
pub(super) fn threads(pids: &[u32]) -> u64 {
    let of = |pid: &u32| fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    pids.iter().map(of).sum::<usize>() as u64
}

/// Time that all of their threads had a processor (`schedstat`, sched-stats.rst).
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

/// Bytes in memory, with their part of what others have, too (`Pss` of proc_pid_smaps(5)).
pub(super) fn in_memory(pids: &[u32]) -> u64 {
    pids.iter().map(|pid| of_smaps(*pid, "Pss:")).sum()
}

/// Bytes in memory that are theirs alone and no file's.
pub(super) fn own_memory(pids: &[u32]) -> u64 {
    pids.iter().map(|pid| of_smaps(*pid, "Anonymous:")).sum()
}

fn of_smaps(pid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
