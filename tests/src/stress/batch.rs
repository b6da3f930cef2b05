//! One run of a campaign's deeds, all from one seed.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::campaign::{Campaign, Job, Random, Report};

/// What came of a batch.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) job: Job,
    pub(super) report: Report,
    /// How long it took.
    pub(super) seconds: f64,
}

impl Batch {
    /// Does it. A campaign that panics has not held what it promises, and does not take the others
    /// with it.
    pub(super) fn run(campaign: &Campaign, job: Job) -> Self {
        let start = Instant::now();
        let report = catch_unwind(AssertUnwindSafe(|| (campaign.run)(&job)));
        let report = report.unwrap_or_else(|panic| Report {
            violations: vec![format!("it panicked: {}", said(panic.as_ref()))],
            ..Report::default()
        });
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
        let batch = Batch::run(&campaign, Job { seed: 5, count: 1 });
        assert_eq!(batch.report.violations, ["it panicked: at 5"]);
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
