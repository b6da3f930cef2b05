//! Half-open connections: one side, or neither, has noticed that the link is dead.
//!
//! Schedules in virtual time deliver the delayed data of an old connection after a new one has
//! taken over; it must have no effect. Real links between network namespaces go down and come back;
//! both sides must detect it within 15 s, and the host must reconnect within a second of the link.

mod links;
mod namespace;
mod stale;

use super::super::{Job, Report};

/// Number of schedules for each real link.
const EACH: u64 = 500;

/// Maximum number of real links; each takes half a minute.
const MOST: u64 = 20;

pub(in crate::campaign) fn run(job: &Job) -> Report {
    let mut report = stale::run(job);
    let links = (job.count / EACH).clamp(1, MOST);
    if let Err(error) = links::run(links, &mut report) {
        report.violation(error);
    }
    report
}
