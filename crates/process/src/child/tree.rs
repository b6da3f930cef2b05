//! The process tree of a child: finds and kills its members in repeated passes.
//!
//! A signal to the process group is not enough, since an agent starts each tool in a session of its
//! own. Members are the processes in the child's group or session (until the child is reaped),
//! those with the session's marker in their environment, those found before, and all of their
//! descendants.

use std::collections::HashSet;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::Signal;

use super::containment_handle::ContainmentHandle;
use super::leader::Leader;
use crate::containment::Containment;
use crate::members::Members;
use crate::session_id::SessionId;
use crate::sys::{self, Process};

/// Returns the marker of a session that runs inside the session marked by `outer`, if any.
pub(crate) fn marker(outer: Option<OsString>, id: SessionId) -> OsString {
    let mut marker = outer.filter(|outer| !outer.is_empty()).unwrap_or_default();
    if !marker.is_empty() {
        marker.push(":");
    }
    marker.push(id.to_string());
    marker
}

/// Placeholder start time of members of a control group, which are listed by pid only.
const ANY_START_TIME: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Tree {
    leader: Arc<Leader>,
    handle: ContainmentHandle,
    members: Members,
    signalled: HashSet<(i32, u64)>,
    killed: Vec<u32>,
    left: Vec<u32>,
    outside: Outside,
}

/// Whether members exist outside the control group; some tools move their processes to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outside {
    /// Not scanned since the group was killed.
    Unknown,
    Empty,
    Populated,
}

/// Result of a kill pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// No member is left.
    Empty,
    /// New members were found. The next pass follows at once, since they may be forking.
    Fresh,
    /// Only members that were sent SIGKILL before and have not ended yet.
    Dying,
}

/// Where a kill pass looks for members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KillScope {
    /// In the control group alone. A thousand sessions that end at once would otherwise scan the
    /// process table a thousand times.
    Group,
    /// In the process table as well.
    ProcessTable,
}

impl KillScope {
    /// A process outside of the control group is a descendant of the guard, which ends its
    /// descendants before it exits. One that was killed ends nothing any more.
    const fn of(has_group: bool, has_live_guard: bool) -> Self {
        if has_group && has_live_guard {
            Self::Group
        } else {
            Self::ProcessTable
        }
    }
}

impl Tree {
    pub(crate) fn new(leader: Arc<Leader>, handle: ContainmentHandle, id: SessionId) -> Self {
        // Registers the child's start time: only processes started later can carry the marker.
        sys::record_start_time(leader.pid().as_raw_nonzero().get());
        Self {
            leader,
            handle,
            members: Members::new(id.to_string()),
            signalled: HashSet::new(),
            killed: Vec::new(),
            left: Vec::new(),
            outside: Outside::Unknown,
        }
    }

    /// Returns the containment, for another tree of the same child.
    pub(crate) fn into_handle(self) -> ContainmentHandle {
        self.handle
    }

    pub(crate) fn level(&self) -> Containment {
        self.handle.level()
    }

    /// Kills every member that is alive at some time after `since`. Members outside the control
    /// group are found as without one. Members of a killed group can no longer fork, so the scan
    /// for processes outside runs while the kernel ends those inside.
    pub(crate) fn kill_pass(&mut self, since: Instant) -> Round {
        let round = self.kill_group();
        if self.scope() == KillScope::Group {
            return round;
        }
        match (round, self.outside) {
            (Round::Empty, Outside::Empty) => Round::Empty,
            (Round::Empty, _) => self.kill_found(since),
            // Killed before `since`.
            (Round::Dying, Outside::Unknown) => {
                self.outside = self.scan_outside(since);
                Round::Dying
            }
            (round, _) => round,
        }
    }

    fn scope(&self) -> KillScope {
        let guard = self.handle.guard();
        KillScope::of(
            self.handle.group().is_some(),
            guard.is_some_and(|guard| guard.is_alive()),
        )
    }

    fn scan_outside(&mut self, since: Instant) -> Outside {
        let found = self.live_members(since);
        let is_outside = |one: &Process| !self.signalled.contains(&(one.pid, ANY_START_TIME));
        match found.iter().any(is_outside) {
            true => Outside::Populated,
            false => Outside::Empty,
        }
    }

    fn kill_group(&mut self) -> Round {
        let Some(group) = self.handle.group() else {
            return Round::Empty;
        };
        let members = group.members();
        if members.is_empty() && !group.is_populated() {
            self.left.clear();
            return Round::Empty;
        }
        if let Err(error) = group.kill() {
            tracing::warn!(%error, "cannot kill control group");
        }
        self.left = members.iter().map(|pid| pid.cast_unsigned()).collect();
        let mut round = Round::Dying;
        for pid in members {
            if self.signalled.insert((pid, ANY_START_TIME)) {
                self.killed.push(pid.cast_unsigned());
                round = Round::Fresh;
            }
        }
        round
    }

    fn kill_found(&mut self, since: Instant) -> Round {
        let members = self.live_members(since);
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
            if self.signalled.insert(member.identity()) {
                self.killed.push(member.pid.cast_unsigned());
                round = Round::Fresh;
            }
        }
        // Without a process table (no /proc, other systems) this is the only mechanism.
        self.leader.signal_both(Signal::KILL);
        round
    }

    /// Returns whether the descendants can be identified only until the child is reaped.
    pub(crate) fn needs_record(&self) -> bool {
        self.handle.level() == Containment::Group
    }

    /// Records the members that are alive at some time after `since`. Must be called between the
    /// child's end and its reaping: until then its pid identifies its group and session, afterwards
    /// the pid may be reused.
    pub(crate) fn record_members(&mut self, since: Instant) {
        self.live_members(since);
    }

    /// Releases the containment; returns `false` while the guard has not exited, or the kernel still
    /// holds a part of the control group.
    pub(crate) fn release(&self) -> bool {
        let guard = self.handle.guard();
        let is_guard_gone = guard.is_none_or(|guard| guard.has_shut_down());
        is_guard_gone && self.handle.group().is_none_or(sys::Group::remove)
    }

    /// Returns the killed and the surviving processes. Processes found in the last pass may have
    /// ended since, in particular the child, so survivors are checked again, unless the guard has
    /// ended them all; one that has not exited may have some.
    pub(crate) fn outcome(&mut self) -> (Vec<u32>, Vec<u32>) {
        let guard = self.handle.guard();
        if guard.is_some_and(|guard| guard.has_ended_all()) {
            self.left.clear();
        } else if !self.left.is_empty() || self.scope() == KillScope::Group {
            self.left = self.alive();
        }
        (
            std::mem::take(&mut self.killed),
            std::mem::take(&mut self.left),
        )
    }

    fn alive(&mut self) -> Vec<u32> {
        let held = self.handle.group().map(sys::Group::members);
        let found = self.live_members(Instant::now());
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

    /// Returns the members that are alive, and records them.
    fn live_members(&mut self, since: Instant) -> Vec<Process> {
        let all = sys::process_table(since);
        let leader = self
            .leader
            .is_ours()
            .then(|| self.leader.pid().as_raw_nonzero().get());
        let guard = self.handle.guard();
        let guard = guard.map(|guard| guard.pid().as_raw_nonzero().get());
        let except = [own_pid()].into_iter().chain(guard).collect::<Vec<_>>();
        self.members.find(&all, &except, |one| {
            Some(one.parent) == guard
                || leader.is_some_and(|leader| [one.pid, one.group, one.session].contains(&leader))
        })
    }
}

fn own_pid() -> i32 {
    std::process::id().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_table_is_scanned_without_group_or_live_guard() {
        let scopes = [(true, true), (true, false), (false, true), (false, false)]
            .map(|(has_group, has_live_guard)| KillScope::of(has_group, has_live_guard));
        let table = KillScope::ProcessTable;
        assert_eq!(scopes, [KillScope::Group, table, table, table]);
    }

    #[test]
    fn marker_includes_enclosing_sessions() {
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
