//! Resource usage of a child and its descendants.

use std::time::Instant;

use rustix::process::Pid;

use super::tree::with_descendants;
use crate::session_id::SessionId;
use crate::sys;
use crate::vitals::Vitals;

/// Returns the sum over the child, the processes in its group or session, those with its marker,
/// and all of their descendants.
pub(super) fn of_tree(leader: Pid, id: SessionId) -> Option<Vitals> {
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
    let sum = used.fold(Vitals::default(), |sum, (cpu, io_bytes)| Vitals {
        processes: sum.processes + 1,
        cpu: sum.cpu + cpu,
        io_bytes: sum.io_bytes + io_bytes,
    });
    (sum.processes > 0).then_some(sum)
}
