//! Hosts that take a session's lease from each other, in every order that a scheduler can think of.
//!
//! Three hosts attach, type, and are cut off or leave, each twice; what they say goes through a
//! connection that delivers it at any time, its end too. The session's core is the real one, behind a
//! lock as its owner has it; `shuttle` decides at each lock, queue and bell who goes on. Checked for
//! each schedule:
//!
//! * no line is typed twice, in part, or behind one of a later lease;
//! * all lines of the last lease are typed, whatever ends of older connections come late;
//! * who is told of the lease is told of another one's, or keeps it; output comes in one piece.
//!
//! The same seed gives the same schedule.

mod world;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner};

use super::{Job, Report};

/// Changes of priority in a schedule of the second kind: few, at the worst places (PCT).
const DEPTH: usize = 4;

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    for number in 0..job.count {
        let seed = job.seed.wrapping_add(number);
        let held = catch_unwind(AssertUnwindSafe(|| match number % 2 {
            0 => one(RandomScheduler::new_from_seed(seed, 1)),
            _ => one(PctScheduler::new_from_seed(seed, DEPTH, 1)),
        }));
        let why = held.map_err(|panic| format!("schedule {seed}: {}", said(panic.as_ref())));
        report.one(why);
    }
    report
}

fn one(scheduler: impl Scheduler + 'static) {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    Runner::new(scheduler, config).run(world::schedule);
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied())
        .unwrap_or("without a word")
}
