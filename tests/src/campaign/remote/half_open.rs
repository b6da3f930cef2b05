//! Connections that are dead, and one side, or both, have not heard of it.
//!
//! Schedules in virtual time let what an old connection still had under way arrive when a new one
//! has long taken over: it must change nothing. Real links between network namespaces are taken down
//! and come back: both sides find out within 15 s, and the host is back within a second of the link.

mod links;
mod namespace;
mod stale;

use super::super::{Job, Report};

/// Schedules for each real link that goes down.
const EACH: u64 = 500;

/// Real links that go down at the most: each takes half a minute.
const MOST: u64 = 20;

pub(in crate::campaign) fn run(job: &Job) -> Report {
    let mut report = stale::run(job);
    let links = (job.count / EACH).clamp(1, MOST);
    if let Err(error) = links::run(links, &mut report) {
        report.violation(error);
    }
    report
}
