//! Results of a run, printed as text and stored as JSON.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::batch::Batch;
use crate::campaign::{Campaign, Job, Report};

/// Version of the JSON document; other versions are refused.
pub(super) const SCHEMA: u32 = 1;

/// Maximum number of violations stored for a campaign; further ones are only counted.
const MAX_VIOLATIONS: usize = 20;

/// Maximum number of different notes stored for a campaign; the oldest are dropped.
const MAX_NOTES: usize = 16;

/// Results of all campaigns of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Summary {
    /// Version of this document.
    pub schema: u32,
    /// The seed from which the seeds of all batches are derived.
    pub seed: u64,
    /// One entry for each campaign that was started, in the order of the list.
    pub campaigns: Vec<Outcome>,
}

/// Results of one campaign.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Outcome {
    /// Name of the campaign.
    pub name: String,
    /// What the campaign counts as a violation.
    pub what: String,
    /// Requested number of runs, or `None` if only the time is bounded.
    pub wanted: Option<u64>,
    /// Number of completed runs.
    pub done: u64,
    /// Number of batches.
    pub batches: u64,
    /// Total duration, in seconds.
    pub seconds: f64,
    /// Total number of violations.
    pub violation_count: u64,
    /// The first violations.
    pub violations: Vec<Violation>,
    /// Measurements of the last batches.
    pub notes: Vec<String>,
}

/// A violation, and the batch that reproduces it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Violation {
    /// The seed of its batch.
    pub seed: u64,
    /// Number of runs in its batch.
    pub count: u64,
    /// What happened, with the schedule that caused it.
    pub what: String,
}

impl Summary {
    pub(super) const fn new(seed: u64) -> Self {
        Self {
            schema: SCHEMA,
            seed,
            campaigns: Vec::new(),
        }
    }

    /// Returns the results of a campaign, adding an empty entry if needed, and sets its requested
    /// count.
    pub(super) fn outcome(&mut self, campaign: &Campaign, wanted: Option<u64>) -> &mut Outcome {
        let names = self.campaigns.iter();
        let at = names.enumerate().find(|(_, it)| it.name == campaign.name);
        let at = at.map_or(self.campaigns.len(), |(at, _)| at);
        if at == self.campaigns.len() {
            self.campaigns.push(Outcome::new(campaign));
        }
        let outcome = &mut self.campaigns[at];
        outcome.wanted = wanted;
        outcome
    }

    /// Number of violations of all campaigns.
    #[must_use]
    pub fn violation_count(&self) -> u64 {
        self.campaigns.iter().map(|it| it.violation_count).sum()
    }
}

impl Outcome {
    fn new(campaign: &Campaign) -> Self {
        Self {
            name: campaign.name.to_owned(),
            what: campaign.what.to_owned(),
            wanted: None,
            done: 0,
            batches: 0,
            seconds: 0.0,
            violation_count: 0,
            violations: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the results of a run that ended without any, as a violation.
    pub(super) fn without_results(campaign: &Campaign, seed: u64, what: String) -> Self {
        let count = campaign.ci_count;
        Self {
            wanted: Some(count),
            violation_count: 1,
            violations: vec![Violation { seed, count, what }],
            ..Self::new(campaign)
        }
    }

    /// Remaining number of runs, or `u64::MAX` if only the time is bounded.
    pub(super) fn left(&self) -> u64 {
        self.wanted
            .map_or(u64::MAX, |wanted| wanted.saturating_sub(self.done))
    }

    /// Adds the results of a batch.
    pub(super) fn add(&mut self, batch: Batch) {
        let Batch {
            job: Job { seed, count },
            report:
                Report {
                    done,
                    violations,
                    notes,
                    // `Batch::run` has already turned these into violations or notes.
                    late: _,
                },
            seconds,
        } = batch;
        self.done += done;
        self.batches += 1;
        self.seconds += seconds;
        self.violation_count += violations.len() as u64;
        let room = MAX_VIOLATIONS.saturating_sub(self.violations.len());
        let violations = violations.into_iter().take(room);
        self.violations
            .extend(violations.map(|what| Violation { seed, count, what }));
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let over = self.notes.len().saturating_sub(MAX_NOTES);
        self.notes.drain(..over);
    }

    /// Formats the counts, the notes, and each violation with the command that reproduces it.
    pub(super) fn text(&self, seed: u64) -> String {
        let Self {
            name,
            what,
            done,
            violation_count,
            seconds,
            batches,
            ..
        } = self;
        let mut text = format!(
            "{name}: {what}\nseed {seed}, count {done}, violations {violation_count}, \
             {seconds:.1} s, batches {batches}\n"
        );
        // Writing to a string cannot fail.
        for note in &self.notes {
            let _ = writeln!(text, "  {note}");
        }
        for Violation { seed, count, what } in &self.violations {
            let _ = writeln!(text, "  VIOLATION {what}");
            let _ = writeln!(
                text,
                "    reproduce: cargo stress {name} --seed {seed} --count {count}"
            );
        }
        text
    }
}
