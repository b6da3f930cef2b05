//! Runs the selected campaigns.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::arguments::{Arguments, seed_from_time};
use super::batch::{Batch, seed};
use super::ci;
use super::list::list;
use super::progress::{load, save};
use super::summary::Summary;
use crate::campaign::{Campaign, Job};

/// Runs the selected campaigns and prints their results. The exit code is 0 without violations, 1
/// with violations, and 2 for an error.
#[must_use]
pub fn run(arguments: &Arguments) -> ExitCode {
    if arguments.list {
        return print(&list(), ExitCode::SUCCESS);
    }
    let violations = if arguments.ci {
        arguments.campaigns().and_then(|it| ci::run(&it))
    } else {
        Run::begin(arguments).and_then(Run::finish)
    };
    match violations {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // Without stderr the error cannot be reported.
            let _ = writeln!(io::stderr().lock(), "stress: {error}");
            ExitCode::from(2)
        }
    }
}

fn print(text: &str, code: ExitCode) -> ExitCode {
    let written = io::stdout().lock().write_all(text.as_bytes());
    written.map_or(ExitCode::FAILURE, |()| code)
}

struct Run<'a> {
    arguments: &'a Arguments,
    summary: Summary,
}

impl<'a> Run<'a> {
    fn begin(arguments: &'a Arguments) -> Result<Self, String> {
        let file = arguments.resume.as_deref();
        let summary = file.map(|file| load(file, arguments.seed)).transpose()?;
        let anew = || Summary::new(arguments.seed.unwrap_or_else(seed_from_time));
        Ok(Self {
            arguments,
            summary: summary.flatten().unwrap_or_else(anew),
        })
    }

    /// Runs every campaign and returns the number of violations.
    fn finish(mut self) -> Result<u64, String> {
        let mut campaigns = self.arguments.campaigns()?;
        let end = self.arguments.time().map(|time| Instant::now() + time);
        campaigns.reverse();
        while let Some(campaign) = campaigns.pop() {
            // Time left by one campaign is divided between the following ones.
            let share = |end: Instant| {
                let left = end.saturating_duration_since(Instant::now());
                Instant::now() + left / (campaigns.len() as u32 + 1)
            };
            self.campaign(campaign, end.map(share))?;
        }
        Ok(self.summary.violation_count())
    }

    /// Runs one campaign up to its count or time limit and prints its results.
    fn campaign(&mut self, campaign: &Campaign, end: Option<Instant>) -> Result<(), String> {
        let (first, wanted) = (self.summary.seed, self.arguments.wanted(campaign));
        let is_in_batches = end.is_some() || self.arguments.resume.is_some();
        loop {
            let outcome = self.summary.outcome(campaign, wanted);
            let left = outcome.left();
            if left == 0 || end.is_some_and(|end| Instant::now() >= end) {
                break;
            }
            let count = match (campaign.pace(), end) {
                (Some(pace), Some(end)) => left.min(fitting(pace, end)),
                (None, _) if is_in_batches => left.min(batch_count(campaign, wanted)),
                _ => left,
            };
            let seed = seed(first, outcome.batches);
            let batch = Batch::run(campaign, Job { seed, count }, self.arguments.clock);
            // It panicked or could not start, and would again.
            let is_stuck = batch.report.done == 0;
            outcome.add(batch);
            if let Some(file) = &self.arguments.resume {
                save(file, &self.summary)?;
            }
            if is_stuck || !is_in_batches || campaign.pace().is_some() {
                break;
            }
        }
        let text = self.summary.outcome(campaign, wanted).text(first);
        io::stdout()
            .write_all(text.as_bytes())
            .map_err(|error| format!("failed to print the results: {error}"))?;
        match &self.arguments.json {
            Some(file) => save(file, &self.summary),
            None => Ok(()),
        }
    }
}

/// Number of runs in a batch of a run that can be interrupted.
fn batch_count(campaign: &Campaign, wanted: Option<u64>) -> u64 {
    match (campaign.is_single_batch(), wanted) {
        (true, Some(wanted)) => wanted,
        (true, None) => campaign.stress_count,
        (false, _) => campaign.ci_count,
    }
}

/// Number of steps that fit into the remaining time, at least one.
fn fitting(pace: Duration, end: Instant) -> u64 {
    let left = end.saturating_duration_since(Instant::now());
    (left.as_secs_f64() / pace.as_secs_f64()).round().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::ALL;

    #[test]
    fn sizes_are_not_divided_into_batches() {
        let named = |name| ALL.iter().find(|one| one.name == name).expect("listed");
        let scaling = named("scaling");
        assert_eq!(batch_count(scaling, Some(70)), 70);
        assert_eq!(batch_count(scaling, None), scaling.stress_count);
        let trees = named("trees");
        assert_eq!(batch_count(trees, Some(10_000)), trees.ci_count);
        let single = ALL.iter().filter(|one| one.is_single_batch());
        assert_eq!(single.count(), 9, "each name is listed");
    }

    #[test]
    fn long_run_uses_the_whole_time() {
        let end = Instant::now() + Duration::from_secs(1_800);
        assert_eq!(fitting(Duration::from_secs(2), end), 900);
        assert_eq!(fitting(Duration::from_secs(2), Instant::now()), 1);
    }
}
