//! Who is alive on this machine. A look at the whole process table costs milliseconds, so those who
//! ask at the same time share one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::platform;

/// The variable that every descendant of a session's child inherits. Its value is the session's
/// id, after those of the sessions around it, separated by colons.
pub const MARKER: &str = "BOWLINE_SESSION";

/// One line of the system's process table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// When it was started, in the platform's ticks: with the pid, this names a process for good.
    pub(crate) born: u64,
    /// Dead, and not yet reaped by its parent.
    pub(crate) zombie: bool,
    /// Value of [`MARKER`] in the environment that it was started with.
    pub(crate) marker: Option<Box<str>>,
}

impl Process {
    pub(crate) fn identity(&self) -> (i32, u64) {
        (self.pid, self.born)
    }
}

/// Birth of the oldest child of ours: nobody older can carry a marker of ours.
static OLDEST_CHILD: AtomicU64 = AtomicU64::new(u64::MAX);

static LAST: Mutex<Option<(Instant, Arc<Vec<Process>>)>> = Mutex::new(None);

/// When a new child of ours was started, in the platform's ticks; 0 if it is gone.
pub(crate) fn birth(child: i32) -> u64 {
    let born = platform::look_up(child).map_or(0, |process| process.born);
    OLDEST_CHILD.fetch_min(born, Ordering::Relaxed);
    born
}

/// The process table at some time after `since`. What ends while we look is left out.
pub(crate) fn census(since: Instant) -> Arc<Vec<Process>> {
    // Held while looking: who waits here gets this very look if it began after `since`.
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((began, census)) = &*last
        && *began >= since
    {
        return Arc::clone(census);
    }
    let began = Instant::now();
    let census = Arc::new(look());
    *last = Some((began, Arc::clone(&census)));
    census
}

fn look() -> Vec<Process> {
    let oldest = OLDEST_CHILD.load(Ordering::Relaxed);
    let mut all: Vec<Process> = platform::pids().filter_map(platform::look_up).collect();
    for process in all
        .iter_mut()
        .filter(|process| process.born >= oldest && !process.zombie)
    {
        process.marker = platform::variable(process.pid, MARKER);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_census_is_shared_but_never_older_than_asked_for() {
        let first = census(Instant::now());
        let asked = Instant::now();
        let second = census(asked);
        assert!(!Arc::ptr_eq(&first, &second));
        let third = census(asked);
        assert!(
            third
                .iter()
                .any(|process| process.pid == std::process::id().cast_signed())
        );
    }
}
