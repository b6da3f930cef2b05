//! The child and all that came of it, found and killed round by round.
//!
//! A signal to the group is not enough: an agent gives each of its tools a session of its own.
//! Members are those in the child's group or session (while these numbers are its own), those that
//! carry the session's marker in their environment, those seen before, and all of their descendants.

use std::collections::HashSet;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::Signal;

use super::hold::Hold;
use super::leader::Leader;
use crate::containment::Containment;
use crate::session_id::SessionId;
use crate::sys::{self, Process};

pub use crate::sys::MARKER;

/// The marker of a session inside the one that `outer` marks, if any.
pub(super) fn marker(outer: Option<OsString>, id: SessionId) -> OsString {
    let mut marker = outer.filter(|outer| !outer.is_empty()).unwrap_or_default();
    if !marker.is_empty() {
        marker.push(":");
    }
    marker.push(id.to_string());
    marker
}

/// In place of a birth for members of a control group, which are listed by number alone.
const ANY_BIRTH: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Tree {
    leader: Arc<Leader>,
    hold: Hold,
    token: String,
    known: HashSet<(i32, u64)>,
    struck: HashSet<(i32, u64)>,
    killed: Vec<u32>,
    left: Vec<u32>,
    outside: Outside,
}

/// Whether anybody lives outside of the control group: some tools arrange that for theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outside {
    /// Nobody has looked since the group was killed.
    Unknown,
    Nobody,
    Somebody,
}

/// What a round found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// Nobody is left.
    Empty,
    /// Members that no round before had seen: go on at once, they may be multiplying.
    Fresh,
    /// Only members that have been killed and are not gone yet.
    Dying,
}

impl Tree {
    pub(crate) fn new(leader: Arc<Leader>, hold: Hold, id: SessionId) -> Self {
        // Makes it known as one whose descendants carry a marker.
        sys::birth(leader.pid().as_raw_nonzero().get());
        Self {
            leader,
            hold,
            token: id.to_string(),
            known: HashSet::new(),
            struck: HashSet::new(),
            killed: Vec::new(),
            left: Vec::new(),
            outside: Outside::Unknown,
        }
    }

    pub(super) fn level(&self) -> Containment {
        self.hold.level()
    }

    /// Kills every member that is alive at some time after `since`. Who has left the control group
    /// is found as everywhere else. Whoever is in a group that was killed can do nothing any more,
    /// so that the look for those outside is taken while the kernel buries those inside.
    pub(crate) fn strike(&mut self, since: Instant) -> Round {
        match (self.strike_group(), self.outside) {
            (Round::Empty, Outside::Nobody) => Round::Empty,
            (Round::Empty, _) => self.strike_found(since),
            // Killed before `since`.
            (Round::Dying, Outside::Unknown) => {
                self.outside = self.look_outside(since);
                Round::Dying
            }
            (round, _) => round,
        }
    }

    fn look_outside(&mut self, since: Instant) -> Outside {
        let found = self.members(since);
        let is_outside = |one: &Process| !self.struck.contains(&(one.pid, ANY_BIRTH));
        match found.iter().any(is_outside) {
            true => Outside::Somebody,
            false => Outside::Nobody,
        }
    }

    fn strike_group(&mut self) -> Round {
        let Some(group) = self.hold.group() else {
            return Round::Empty;
        };
        let members = group.members();
        if members.is_empty() && !group.is_populated() {
            return Round::Empty;
        }
        if let Err(error) = group.kill() {
            tracing::warn!(%error, "a control group cannot be killed");
        }
        self.left = members.iter().map(|pid| pid.cast_unsigned()).collect();
        let mut round = Round::Dying;
        for pid in members {
            if self.struck.insert((pid, ANY_BIRTH)) {
                self.killed.push(pid.cast_unsigned());
                round = Round::Fresh;
            }
        }
        round
    }

    fn strike_found(&mut self, since: Instant) -> Round {
        let members = self.members(since);
        self.left = members
            .iter()
            .map(|member| member.pid.cast_unsigned())
            .collect();
        let mut round = if members.is_empty() {
            Round::Empty
        } else {
            Round::Dying
        };
        for member in members {
            sys::kill(&member);
            if self.struck.insert(member.identity()) {
                self.killed.push(member.pid.cast_unsigned());
                round = Round::Fresh;
            }
        }
        // Where there is no census (no /proc, other systems) this is all the reach there is.
        self.leader.signal_both(Signal::KILL);
        round
    }

    /// Whether what the child leaves behind can only be told while its number is its own.
    pub(super) fn needs_memory(&self) -> bool {
        self.hold.level() == Containment::Group
    }

    /// Keeps in mind who is alive at some time after `since`. To be called while the child is dead
    /// but not reaped: its number names its group and session until then, and may be somebody
    /// else's afterwards.
    pub(super) fn remember(&mut self, since: Instant) {
        self.members(since);
    }

    /// Lets go of what held the tree; `false` while the kernel still has something of it.
    pub(super) fn let_go(&self) -> bool {
        self.hold.group().is_none_or(sys::Group::remove)
    }

    /// Who was killed, and who is alive all the same. Whom the last round had found may have ended
    /// since then, the child itself above all: its end is waited for after that round.
    pub(super) fn outcome(&mut self) -> (Vec<u32>, Vec<u32>) {
        if !self.left.is_empty() {
            self.left = self.alive();
        }
        (
            std::mem::take(&mut self.killed),
            std::mem::take(&mut self.left),
        )
    }

    fn alive(&mut self) -> Vec<u32> {
        let held = self.hold.group().map(sys::Group::members);
        let found = self.members(Instant::now());
        let mut alive: Vec<u32> = found
            .iter()
            .map(|member| member.pid)
            .chain(held.into_iter().flatten())
            .map(i32::cast_unsigned)
            .collect();
        alive.sort_unstable();
        alive.dedup();
        alive
    }

    /// Every member that is alive.
    fn members(&mut self, since: Instant) -> Vec<Process> {
        let all = sys::census(since);
        let leader = self
            .leader
            .is_ours()
            .then(|| self.leader.pid().as_raw_nonzero().get());
        let guard = self.hold.guard();
        let guard = guard.map(|guard| guard.pid().as_raw_nonzero().get());
        let is_root = |one: &Process| {
            if Some(one.pid) == guard {
                return false;
            }
            if Some(one.parent) == guard {
                return true;
            }
            leader.is_some_and(|leader| [one.pid, one.group, one.session].contains(&leader))
                || self.known.contains(&one.identity())
                || one
                    .marker
                    .as_ref()
                    .is_some_and(|value| value.split(':').any(|id| id == self.token))
        };
        let mut members = with_descendants(&all, is_root);
        members.retain(|member| !member.zombie && member.pid != own_pid());
        self.known.extend(members.iter().map(Process::identity));
        members
    }
}

fn own_pid() -> i32 {
    std::process::id().cast_signed()
}

/// The processes that are roots, and all whose parent is one of those found.
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
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
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
    fn descendants_are_found_in_any_order_and_strangers_are_not() {
        let all = [(9, 8), (8, 7), (3, 1), (7, 2), (4, 3), (2, 1), (1, 0)];
        let all = all.map(|(pid, parent)| process(pid, parent));
        let mut found: Vec<_> = with_descendants(&all, |one| one.pid == 2)
            .iter()
            .map(|one| one.pid)
            .collect();
        found.sort_unstable();
        assert_eq!(found, [2, 7, 8, 9]);
    }

    #[test]
    fn a_marker_names_the_sessions_around_it_too() {
        let (outer, inner) = (SessionId::random(), SessionId::random());
        let alone = marker(None, outer);
        assert_eq!(alone, OsString::from(outer.to_string()));
        assert_eq!(
            marker(Some(alone), inner),
            OsString::from(format!("{outer}:{inner}"))
        );
        assert_eq!(
            marker(Some("".into()), inner),
            OsString::from(inner.to_string())
        );
    }
}
