//! The limit on open descriptors (`RLIMIT_NOFILE`, getrlimit(2)): raised for the daemon, and as it
//! was for the sessions that it starts.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limit that the daemon requests, if the system permits it.
const MAX_DESCRIPTORS: u64 = 65_536;

/// The limit before it was raised.
static INITIAL: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit of this process as far as permitted.
pub(crate) fn raise() {
    let initial = INITIAL.get_or_init(|| getrlimit(Resource::Nofile));
    let wanted = initial.maximum.unwrap_or(MAX_DESCRIPTORS);
    let wanted = wanted.min(MAX_DESCRIPTORS);
    if initial.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: initial.maximum,
        };
        // Without it, fewer connections are accepted.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// Gives a process that was just started the limit from before it was raised, since programs may
/// depend on a low one, such as those that use select(2).
#[cfg(target_os = "linux")]
pub(crate) fn restore_for(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let (Some(initial), Some(pid)) = (INITIAL.get(), pid) {
        // A higher limit is no reason to fail.
        let _ = rustix::process::prlimit(Some(pid), Resource::Nofile, *initial);
    }
}

/// Only Linux can change the limit of another process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn restore_for(_pid: u32) {}

/// Returns how many descriptors this process may open.
pub(crate) fn current() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}
