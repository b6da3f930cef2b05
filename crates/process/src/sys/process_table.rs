//! The process table of this machine. A scan costs milliseconds, so concurrent callers share one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::platform;

/// Environment variable that every descendant of a child inherits. Its value is the session's id,
/// preceded by the ids of the enclosing sessions, separated by colons.
pub const MARKER: &str = "BOWLINE_SESSION";

/// An entry of the process table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// Start time in the platform's ticks; identifies a process uniquely together with the pid.
    pub(crate) start_time: u64,
    /// Ended, but not yet reaped by its parent.
    pub(crate) zombie: bool,
    /// Value of [`MARKER`] in the environment that the process was started with.
    pub(crate) marker: Option<Box<str>>,
}

impl Process {
    pub(crate) fn identity(&self) -> (i32, u64) {
        (self.pid, self.start_time)
    }
}

/// Start time of the oldest child: no older process can carry a marker of this one.
static OLDEST_CHILD: AtomicU64 = AtomicU64::new(u64::MAX);

static LAST: Mutex<Option<(Instant, Arc<Vec<Process>>)>> = Mutex::new(None);

/// Returns and records the start time of a new child, in the platform's ticks; 0 if it is gone.
pub(crate) fn record_start_time(child: i32) -> u64 {
    let start_time = platform::look_up(child).map_or(0, |process| process.start_time);
    OLDEST_CHILD.fetch_min(start_time, Ordering::Relaxed);
    start_time
}

/// Returns whether a process exists and has not ended.
pub(crate) fn is_running(pid: i32) -> bool {
    platform::look_up(pid).is_some_and(|process| !process.zombie)
}

/// Returns the process table as of some time after `since`. Processes that end during the scan are
/// omitted.
pub(crate) fn process_table(since: Instant) -> Arc<Vec<Process>> {
    // Held during the scan: a waiting caller gets the same result if the scan began after `since`.
    let mut last = LAST.lock();
    if let Some((began, process_table)) = &*last
        && *began >= since
    {
        return Arc::clone(process_table);
    }
    let began = Instant::now();
    let process_table = Arc::new(scan());
    *last = Some((began, Arc::clone(&process_table)));
    process_table
}

fn scan() -> Vec<Process> {
    let oldest = OLDEST_CHILD.load(Ordering::Relaxed);
    let all = read_all(platform::Listing::read);
    // Parents usually come before their children, so that a shell is killed before the processes it
    // waits for.
    let mut all: Vec<Process> = all.into_values().collect();
    all.sort_unstable_by_key(|process| process.pid);
    for process in all
        .iter_mut()
        .filter(|process| process.start_time >= oldest && !process.zombie)
    {
        process.marker = platform::variable(process.pid, MARKER);
    }
    all
}

/// The processes that existed at some time, as the platform lists them.
pub(super) trait Listing {
    fn pids(&self) -> Vec<i32>;

    /// Returns an entry without its marker; `None` if the process has ended and is reaped.
    fn look_up(&self, pid: i32) -> Option<Process>;
}

/// Maximum number of passes of a scan; each finds the processes started during the previous one.
const PASSES: u32 = 16;

/// Returns the process table, including processes started during the scan. Otherwise the child of a
/// process that forks and exits between the listing and its lookup would be missed. An entry whose
/// parent exited in the meantime is read again, so that every parent in the table is listed.
fn read_all<L: Listing>(list: impl Fn() -> L) -> HashMap<i32, Process> {
    let mut all = HashMap::new();
    let mut gone = HashSet::new();
    for _ in 0..PASSES {
        let mut is_closed = true;
        let listing = list();
        for pid in listing.pids() {
            if gone.contains(&pid) {
                continue;
            }
            let known: Option<&Process> = all.get(&pid);
            if known.is_some_and(|known| !gone.contains(&known.parent)) {
                continue;
            }
            is_closed = false;
            match listing.look_up(pid) {
                Some(process) => drop(all.insert(pid, process)),
                None => drop(gone.insert(pid)),
            }
        }
        if is_closed {
            break;
        }
    }
    all
}

/// Returns the processes that satisfy `is_root`, and all of their descendants.
pub(crate) fn with_descendants(
    all: &[Process],
    is_root: impl Fn(&Process) -> bool,
) -> Vec<Process> {
    let (mut found, mut others): (Vec<&Process>, Vec<&Process>) =
        all.iter().partition(|one| is_root(one));
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|one| one.pid) {
        others.retain(|one| {
            let is_child = one.parent == parent;
            if is_child {
                found.push(one);
            }
            !is_child
        });
        next += 1;
    }
    found.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn child(pid: i32, parent: i32) -> Process {
        Process {
            pid,
            parent,
            group: pid,
            session: pid,
            start_time: 0,
            zombie: false,
            marker: None,
        }
    }

    struct Fake<F>(&'static [i32], F);

    impl<F: Fn(i32) -> Option<Process>> Listing for Fake<F> {
        fn pids(&self) -> Vec<i32> {
            self.0.to_vec()
        }

        fn look_up(&self, pid: i32) -> Option<Process> {
            (self.1)(pid)
        }
    }

    #[test]
    fn descendants_are_found_in_any_order() {
        let all = [(9, 8), (8, 7), (3, 1), (7, 2), (4, 3), (2, 1), (1, 0)];
        let all = all.map(|(pid, parent)| child(pid, parent));
        let mut found: Vec<_> = with_descendants(&all, |one| one.pid == 2)
            .iter()
            .map(|one| one.pid)
            .collect();
        found.sort_unstable();
        assert_eq!(found, [2, 7, 8, 9]);
    }

    #[test]
    fn process_started_during_scan_is_found() {
        // 7 forks 9 and exits after it was listed and before it is looked up; 9 is reparented to 2.
        let listed = Cell::new(0);
        let look_up = |pid| match pid {
            1 => Some(child(1, 0)),
            2 => Some(child(2, 1)),
            9 => Some(child(9, 2)),
            _ => None,
        };
        let list = || {
            listed.set(listed.get() + 1);
            let pids: &[i32] = if listed.get() == 1 {
                &[1, 2, 7]
            } else {
                &[1, 2, 9]
            };
            Fake(pids, look_up)
        };
        let mut seen: Vec<i32> = read_all(list).into_keys().collect();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 9]);
    }

    #[test]
    fn orphaned_entry_is_read_again() {
        // 9 is looked up as a child of 11, which has exited when it is looked up itself.
        let looks = Cell::new(0);
        let look_up = |pid| match pid {
            1 => Some(child(1, 0)),
            2 => Some(child(2, 1)),
            9 => {
                looks.set(looks.get() + 1);
                Some(child(9, if looks.get() == 1 { 11 } else { 2 }))
            }
            _ => None,
        };
        let all = read_all(|| Fake(&[1, 2, 9, 11], look_up));
        assert_eq!(all.get(&9).map(|one| one.parent), Some(2));
        assert!(!all.contains_key(&11));
    }

    #[test]
    fn zombie_is_in_table_and_not_running() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id().cast_signed();
        crate::sys::await_end(rustix::process::Pid::from_child(&child)).unwrap();
        assert!(!is_running(pid));
        let all = process_table(Instant::now());
        let found = all.iter().find(|one| one.pid == pid).unwrap();
        let own = std::process::id().cast_signed();
        assert_eq!((found.zombie, found.parent), (true, own));
        assert!(found.start_time > 0);
        child.wait().unwrap();
        assert!(is_running(own) && platform::look_up(pid).is_none());
    }

    #[test]
    fn marker_parent_group_and_session_are_read() {
        let mut child = std::process::Command::new("sleep");
        let mut child = child.arg("1000").env(MARKER, "a:b").spawn().unwrap();
        let pid = child.id().cast_signed();
        // Markers of processes that are older than all children are not read.
        record_start_time(std::process::id().cast_signed());
        let own = platform::look_up(std::process::id().cast_signed()).unwrap();
        let all = process_table(Instant::now());
        let found = all.iter().find(|one| one.pid == pid).unwrap().clone();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found.marker.as_deref(), Some("a:b"));
        let place = (found.parent, found.group, found.session);
        assert_eq!(place, (own.pid, own.group, own.session));
        assert!(found.start_time >= own.start_time);
    }

    #[test]
    fn scan_is_not_older_than_requested() {
        let first = process_table(Instant::now());
        let since = Instant::now();
        let second = process_table(since);
        assert!(!Arc::ptr_eq(&first, &second));
        let third = process_table(since);
        assert!(
            third
                .iter()
                .any(|process| process.pid == std::process::id().cast_signed())
        );
    }
}
