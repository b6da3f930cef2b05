//! Resource usage of a session's processes.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::session_id::SessionId;
use crate::sys::{self, with_descendants};

/// Resource usage of a session's processes, including ended children that were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// Number of live processes.
    pub processes: usize,
    /// Processor time in user and kernel mode.
    pub cpu: Duration,
    /// Bytes transferred by read and write calls, for files and sockets alike.
    pub io_bytes: u64,
}

impl ResourceUsage {
    /// Returns the sum over the child, the processes in its group or session, those with its marker,
    /// and all of their descendants.
    pub(crate) fn of_tree(leader: Pid, id: SessionId) -> Option<Self> {
        let leader = leader.as_raw_nonzero().get();
        let token = id.to_string();
        let all = sys::process_table(Instant::now());
        let members = with_descendants(&all, |one| {
            [one.pid, one.group, one.session].contains(&leader)
                || one
                    .marker
                    .as_ref()
                    .is_some_and(|marker| marker.split(':').any(|id| id == token))
        });
        let used = members
            .iter()
            .filter(|member| !member.zombie)
            .filter_map(|member| sys::usage(member.pid));
        let sum = used.fold(Self::default(), |sum, (cpu, io_bytes)| Self {
            processes: sum.processes + 1,
            cpu: sum.cpu + cpu,
            io_bytes: sum.io_bytes + io_bytes,
        });
        (sum.processes > 0).then_some(sum)
    }
}
