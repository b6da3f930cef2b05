//! Hosts that take over a session's lease from each other, under arbitrary task schedules.
//!
//! Three hosts attach, type, and disconnect or detach, each twice. A connection delivers their
//! messages, and its own close, after an arbitrary delay. The session's core is the production
//! code, protected by a lock as in the session actor; `shuttle` chooses the next task at each lock,
//! queue and notification. Checked for each schedule:
//!
//! * no line is written twice, in part, or after one of a later lease;
//! * all lines of the last lease are written, however late older connections close;
//! * a host that was granted the lease keeps it or is notified of the next holder; its output has
//!   no gap.
//!
//! A seed determines the schedule.

mod model;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner};

use super::{Job, Report};

/// Number of priority changes in a PCT schedule (probabilistic concurrency testing).
const DEPTH: usize = 4;

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    for number in 0..job.count {
        let seed = job.seed.wrapping_add(number);
        let held = catch_unwind(AssertUnwindSafe(|| match number % 2 {
            0 => one(RandomScheduler::new_from_seed(seed, 1)),
            _ => one(PctScheduler::new_from_seed(seed, DEPTH, 1)),
        }));
        let why =
            held.map_err(|panic| format!("schedule {seed}: {}", panic_message(panic.as_ref())));
        report.one(why);
    }
    report
}

fn one(scheduler: impl Scheduler + 'static) {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    Runner::new(scheduler, config).run(model::schedule);
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied())
        .unwrap_or("no message")
}
