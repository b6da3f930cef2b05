//! Resource usage of this process, from proc(5).

use std::fs;
use std::time::Duration;

/// Returns resident memory in bytes.
pub(super) fn resident() -> u64 {
    field("/proc/self/status", "VmRSS:") * 1024
}

/// Returns the number of threads.
pub(super) fn threads() -> u64 {
    field("/proc/self/status", "Threads:")
}

/// Returns how often this thread has slept.
pub(super) fn sleeps() -> u64 {
    field("/proc/thread-self/status", "voluntary_ctxt_switches:")
}

/// Returns how often this thread has called read(2).
pub(super) fn reads() -> u64 {
    field("/proc/thread-self/io", "syscr:")
}

/// Returns the number after `name`, or 0 if the system has no such file.
fn field(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

/// Returns how long this thread was runnable but not running.
pub(super) fn starved() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().nth(1);
    Duration::from_nanos(nanos.and_then(|it| it.parse().ok()).unwrap_or_default())
}
