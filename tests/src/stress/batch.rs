//! One batch: a number of runs of a campaign, all derived from one seed.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use clap::ValueEnum;

use crate::campaign::{Campaign, Job, Random, Report};

/// Results of a batch.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) job: Job,
    pub(super) report: Report,
    /// Duration, in seconds.
    pub(super) seconds: f64,
}

/// How missed deadlines are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Clock {
    /// A missed deadline is a violation.
    #[default]
    Enforce,
    /// A missed deadline is reported as a note.
    Report,
}

impl Batch {
    /// Runs a batch. A panic of the campaign becomes a violation, so that the other campaigns still
    /// run.
    pub(super) fn run(campaign: &Campaign, job: Job, clock: Clock) -> Self {
        let start = Instant::now();
        let report = catch_unwind(AssertUnwindSafe(|| (campaign.run)(&job)));
        let mut report = report.unwrap_or_else(|panic| Report {
            violations: vec![format!("panicked: {}", panic_message(panic.as_ref()))],
            ..Report::default()
        });
        let late = std::mem::take(&mut report.late);
        match clock {
            Clock::Enforce => report.violations.extend(late),
            Clock::Report => report.notes.extend(late),
        }
        Self {
            job,
            report,
            seconds: start.elapsed().as_secs_f64(),
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied())
        .unwrap_or("no message")
}

/// Returns the seed of a batch. The first batch uses the given seed unchanged, so that a batch can
/// be reproduced with `--seed`.
pub(super) fn seed(first: u64, number: u64) -> u64 {
    match number {
        0 => first,
        _ => Random::new(first ^ number.wrapping_mul(0xd134_2543_de82_ef95)).draw(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_is_a_violation() {
        let campaign = Campaign {
            name: "panics",
            what: "it panics",
            ci_count: 1,
            stress_count: 1,
            run: |job| panic!("at {}", job.seed),
        };
        let batch = Batch::run(&campaign, Job { seed: 5, count: 1 }, Clock::Report);
        assert_eq!(batch.report.violations, ["panicked: at 5"]);
    }

    #[test]
    fn missed_deadline_is_violation_or_note() {
        let campaign = Campaign {
            name: "late",
            what: "it is late",
            ci_count: 1,
            stress_count: 1,
            run: |_| Report {
                late: vec!["by an hour".to_owned()],
                ..Report::default()
            },
        };
        let run = |clock| Batch::run(&campaign, Job { seed: 5, count: 1 }, clock).report;
        assert_eq!(run(Clock::Enforce).violations, ["by an hour"]);
        let noted = run(Clock::Report);
        assert_eq!((noted.violations.len(), noted.notes.len()), (0, 1));
    }

    #[test]
    fn batch_seeds_are_distinct() {
        let mut seeds: Vec<u64> = (0..1000).map(|number| seed(7, number)).collect();
        assert_eq!(seeds.first(), Some(&7));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1000);
    }
}
