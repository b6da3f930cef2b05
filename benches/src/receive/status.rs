//! What the kernel says about this process.

use std::fs;
use std::time::Duration;

/// Bytes of memory in use.
pub(super) fn resident() -> u64 {
    field("/proc/self/status", "VmRSS:") * 1024
}

/// Threads of this process.
pub(super) fn threads() -> u64 {
    field("/proc/self/status", "Threads:")
}

/// How often this thread went to sleep.
pub(super) fn sleeps() -> u64 {
    field("/proc/thread-self/status", "voluntary_ctxt_switches:")
}

/// How often this thread has called read(2).
pub(super) fn reads() -> u64 {
    field("/proc/thread-self/io", "syscr:")
}

/// A number behind a name, 0 where the system has no such file.
fn field(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

/// How long this thread has waited for a processor that others had.
pub(super) fn starved() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().nth(1);
    Duration::from_nanos(nanos.and_then(|it| it.parse().ok()).unwrap_or_default())
}
