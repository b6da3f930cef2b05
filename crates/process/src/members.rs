//! The processes of a session, found by evidence in the process table.

use std::collections::HashSet;

use crate::sys::{Process, with_descendants};

/// Finds the processes of one session in successive process tables.
#[derive(Debug)]
pub(crate) struct Members {
    /// The session's id in the marker.
    token: String,
    /// Every member that was found. A process keeps its identity when its parent exits, or when it
    /// creates a session of its own.
    known: HashSet<(i32, u64)>,
}

impl Members {
    pub(crate) fn new(token: String) -> Self {
        Self {
            token,
            known: HashSet::new(),
        }
    }

    /// Returns the live members: the processes that satisfy `is_root`, those with the session's marker,
    /// those found before, and the descendants of all of these, except the processes in `except`.
    pub(crate) fn find(
        &mut self,
        all: &[Process],
        except: &[i32],
        is_root: impl Fn(&Process) -> bool,
    ) -> Vec<Process> {
        let mut members = with_descendants(all, |one| {
            !except.contains(&one.pid)
                && (is_root(one) || self.known.contains(&one.identity()) || self.is_marked(one))
        });
        members.retain(|member| !member.zombie && !except.contains(&member.pid));
        self.known.extend(members.iter().map(Process::identity));
        members
    }

    fn is_marked(&self, one: &Process) -> bool {
        let marker = one.marker.as_deref();
        marker.is_some_and(|marker| marker.split(':').any(|id| id == self.token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process {
            pid,
            parent,
            group: pid,
            session: pid,
            start_time: 1,
            zombie: false,
            marker: None,
        }
    }

    fn found(members: &mut Members, all: &[Process]) -> Vec<i32> {
        let found = members.find(all, &[100], |one| one.pid == 7);
        found.iter().map(|one| one.pid).collect()
    }

    #[test]
    fn known_member_is_found_after_its_parents_exit() {
        let mut members = Members::new("s".into());
        let tree = [process(1, 0), process(7, 100), process(8, 7), process(9, 8)];
        assert_eq!(found(&mut members, &tree), [7, 8, 9]);
        // 7 and 8 have exited, so 9 is a child of init; 20 is a child of 9, and 8 is another process.
        let mut other = process(8, 1);
        other.start_time = 2;
        let later = [process(1, 0), other, process(9, 1), process(20, 9)];
        assert_eq!(found(&mut members, &later), [9, 20]);
        assert_eq!(found(&mut members, &later[..2]), [0; 0]);
    }

    #[test]
    fn marked_process_is_member_and_excepted_one_is_not() {
        let mut members = Members::new("s".into());
        let marked = |pid, marker: &str| Process {
            marker: Some(marker.into()),
            ..process(pid, 1)
        };
        let all = [marked(5, "outer:s"), marked(6, "ss"), marked(100, "s")];
        assert_eq!(found(&mut members, &all), [5]);
    }
}
