//! Who is alive on this machine. A look at the whole process table costs milliseconds, so those who
//! ask at the same time share one.

use std::collections::{HashMap, HashSet};
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
    let all = closed(platform::pids, platform::look_up);
    // Parents before their children as a rule, so that a kill strikes a shell before what it waits
    // for.
    let mut all: Vec<Process> = all.into_values().collect();
    all.sort_unstable_by_key(|process| process.pid);
    for process in all
        .iter_mut()
        .filter(|process| process.born >= oldest && !process.zombie)
    {
        process.marker = platform::variable(process.pid, MARKER);
    }
    all
}

/// Passes over the table that one look may take: each is for those who were born during the last.
const PASSES: u32 = 16;

/// The table, and whoever was born while it was read. A process that forks and ends between the
/// listing and its own line would otherwise take its child out of sight. A parent that ended
/// meanwhile is asked for anew, so that every line of descent leads to somebody who is listed.
fn closed<P: Iterator<Item = i32>>(
    list: impl Fn() -> P,
    look_up: impl Fn(i32) -> Option<Process>,
) -> HashMap<i32, Process> {
    let mut all = HashMap::new();
    let mut gone = HashSet::new();
    for _ in 0..PASSES {
        let mut is_closed = true;
        for pid in list().filter(|pid| !gone.contains(pid)).collect::<Vec<_>>() {
            let known: Option<&Process> = all.get(&pid);
            if known.is_some_and(|known| !gone.contains(&known.parent)) {
                continue;
            }
            is_closed = false;
            match look_up(pid) {
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
            born: 0,
            zombie: false,
            marker: None,
        }
    }

    #[test]
    fn who_is_born_while_others_are_looked_at_is_seen() {
        // 7 forks 9 and ends after it was listed and before it is looked up; 9 falls to 2.
        let listed = Cell::new(0);
        let list = || {
            listed.set(listed.get() + 1);
            let pids: &[i32] = if listed.get() == 1 {
                &[1, 2, 7]
            } else {
                &[1, 2, 9]
            };
            pids.iter().copied()
        };
        let look_up = |pid| match pid {
            1 => Some(child(1, 0)),
            2 => Some(child(2, 1)),
            9 => Some(child(9, 2)),
            _ => None,
        };
        let mut seen: Vec<i32> = closed(list, look_up).into_keys().collect();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 9]);
    }

    #[test]
    fn who_loses_a_parent_meanwhile_is_asked_for_the_next() {
        // 9 is looked up as a child of 11, which has ended when its own turn comes.
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
        let all = closed(|| [1, 2, 9, 11].into_iter(), look_up);
        assert_eq!(all.get(&9).map(|one| one.parent), Some(2));
        assert!(!all.contains_key(&11));
    }

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
