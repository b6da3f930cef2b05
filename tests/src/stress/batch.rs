//! One run of a campaign's deeds, all from one seed.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use clap::ValueEnum;

use crate::campaign::{Campaign, Job, Random, Report};

/// What came of a batch.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) job: Job,
    pub(super) report: Report,
    /// How long it took.
    pub(super) seconds: f64,
}

/// What the clock is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Clock {
    /// What is late is a violation.
    #[default]
    Judges,
    /// What is late is told.
    IsHeard,
}

impl Batch {
    /// Does it. A campaign that panics has not held what it promises, and does not take the others
    /// with it.
    pub(super) fn run(campaign: &Campaign, job: Job, clock: Clock) -> Self {
        let start = Instant::now();
        let report = catch_unwind(AssertUnwindSafe(|| (campaign.run)(&job)));
        let mut report = report.unwrap_or_else(|panic| Report {
            violations: vec![format!("it panicked: {}", said(panic.as_ref()))],
            ..Report::default()
        });
        let late = std::mem::take(&mut report.late);
        match clock {
            Clock::Judges => report.violations.extend(late),
            Clock::IsHeard => report.notes.extend(late),
        }
        Self {
            job,
            report,
            seconds: start.elapsed().as_secs_f64(),
        }
    }
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied())
        .unwrap_or("without a word")
}

/// The seed of a batch: the first has the seed that was asked for, so that a batch is repeated by
/// its own seed.
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
    fn a_panic_is_a_violation() {
        let campaign = Campaign {
            name: "falls",
            what: "it falls",
            first: 1,
            second: 1,
            run: |job| panic!("at {}", job.seed),
        };
        let batch = Batch::run(&campaign, Job { seed: 5, count: 1 }, Clock::IsHeard);
        assert_eq!(batch.report.violations, ["it panicked: at 5"]);
    }

    #[test]
    fn the_clock_judges_or_is_heard() {
        let campaign = Campaign {
            name: "dawdles",
            what: "it is late",
            first: 1,
            second: 1,
            run: |_| Report {
                late: vec!["by an hour".to_owned()],
                ..Report::default()
            },
        };
        let run = |clock| Batch::run(&campaign, Job { seed: 5, count: 1 }, clock).report;
        assert_eq!(run(Clock::Judges).violations, ["by an hour"]);
        let heard = run(Clock::IsHeard);
        assert_eq!((heard.violations.len(), heard.notes.len()), (0, 1));
    }

    #[test]
    fn every_batch_has_a_seed_of_its_own() {
        let mut seeds: Vec<u64> = (0..1000).map(|number| seed(7, number)).collect();
        assert_eq!(seeds.first(), Some(&7));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1000);
    }
}
