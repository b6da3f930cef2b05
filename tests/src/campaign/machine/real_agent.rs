//! The real agent with a scripted model, while its environment is cut, killed, stopped or full.
//!
//! The transcript must equal that of an undisturbed run, or be a prefix with the reason of its end,
//! and no process may be left.

mod actions;
pub(super) mod host;
mod judge;
mod stage;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::campaign::support::in_lanes;
use crate::campaign::{Job, Report};
use crate::real_agent::{Agent, SKIP_VARIABLE};
use actions::Kind;
use parking_lot::Mutex;
use stage::Theatre;

/// Number of concurrent runs.
const LANES: u64 = 2;

pub(crate) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let agent = match Agent::unless_skipped() {
        Ok(Some(agent)) => agent,
        Ok(None) => {
            report.note(format!("skipped: {SKIP_VARIABLE} is set"));
            return report;
        }
        Err(error) => {
            report.violation(format!("failed to {error}"));
            return report;
        }
    };
    let theatre = Arc::new(Theatre::new(agent));
    let counts = Arc::new(Mutex::new(BTreeMap::new()));
    report.merge(in_lanes(job, LANES, |number, mut random| {
        let (theatre, counts) = (Arc::clone(&theatre), Arc::clone(&counts));
        let kind = Kind::ALL[(number % Kind::ALL.len() as u64) as usize];
        async move {
            let done = actions::one(kind, &theatre, &mut random).await;
            let how = done.map_err(|why| format!("{kind:?}, action {number}: {why}"))?;
            let mut counts = counts.lock();
            *counts.entry((kind, how)).or_insert(0_u64) += 1;
            Ok(())
        }
    }));
    let counts = counts.lock();
    let counts = counts.iter();
    let each: Vec<_> = counts
        .map(|((kind, how), count)| format!("{kind:?} {count} {how}"))
        .collect();
    report.note(each.join(", "));
    report
}
