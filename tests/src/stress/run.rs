//! Runs what was asked for.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::arguments::{Arguments, any_seed};
use super::batch::{Batch, seed};
use super::list::list;
use super::progress::{keep, take_up};
use super::summary::Summary;
use crate::campaign::{Campaign, Job};

/// Runs what was asked for, and says what came of it: 0 for no violation, 1 for some, 2 if that
/// cannot be done.
#[must_use]
pub fn run(arguments: &Arguments) -> ExitCode {
    if arguments.list {
        return shown(&list(), ExitCode::SUCCESS);
    }
    match Run::begin(arguments).and_then(Run::finish) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(io::stderr().lock(), "stress: {error}");
            ExitCode::from(2)
        }
    }
}

fn shown(text: &str, code: ExitCode) -> ExitCode {
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
        let summary = file.map(|file| take_up(file, arguments.seed)).transpose()?;
        let anew = || Summary::new(arguments.seed.unwrap_or_else(any_seed));
        Ok(Self {
            arguments,
            summary: summary.flatten().unwrap_or_else(anew),
        })
    }

    /// Runs every campaign; the number of violations.
    fn finish(mut self) -> Result<u64, String> {
        let mut campaigns = self.arguments.campaigns()?;
        let end = self.arguments.time().map(|time| Instant::now() + time);
        campaigns.reverse();
        while let Some(campaign) = campaigns.pop() {
            // What one campaign leaves of its share is shared by those behind it.
            let share = |end: Instant| {
                let left = end.saturating_duration_since(Instant::now());
                Instant::now() + left / (campaigns.len() as u32 + 1)
            };
            self.campaign(campaign, end.map(share))?;
        }
        Ok(self.summary.violation_count())
    }

    /// Runs one campaign until its count or its time is over, and says what came of it.
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
                (None, _) if is_in_batches => left.min(campaign.first),
                _ => left,
            };
            let seed = seed(first, outcome.batches);
            let batch = Batch::run(campaign, Job { seed, count }, self.arguments.clock);
            // It did not even begin, or fell; it will again.
            let is_stuck = batch.report.done == 0;
            outcome.add(batch);
            if let Some(file) = &self.arguments.resume {
                keep(file, &self.summary)?;
            }
            if is_stuck || !is_in_batches || campaign.pace().is_some() {
                break;
            }
        }
        let text = self.summary.outcome(campaign, wanted).text(first);
        io::stdout()
            .write_all(text.as_bytes())
            .map_err(|error| format!("failed to say what came of it: {error}"))?;
        match &self.arguments.json {
            Some(file) => keep(file, &self.summary),
            None => Ok(()),
        }
    }
}

/// How many deeds fit into the time until then; one at least.
fn fitting(pace: Duration, end: Instant) -> u64 {
    let left = end.saturating_duration_since(Instant::now());
    (left.as_secs_f64() / pace.as_secs_f64()).round().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_all_the_time_there_is() {
        let end = Instant::now() + Duration::from_secs(1_800);
        assert_eq!(fitting(Duration::from_secs(2), end), 900);
        assert_eq!(fitting(Duration::from_secs(2), Instant::now()), 1);
    }
}
