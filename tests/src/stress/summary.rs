//! What came of some campaigns: printed, and kept as JSON.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::batch::Batch;
use crate::campaign::{Campaign, Job, Report};

/// What this program writes; another is refused when it is read again.
pub(super) const SCHEMA: u32 = 1;

/// Violations of a campaign that are kept and shown; the rest is counted.
const KEPT: usize = 20;

/// Measurements of a campaign that are kept: those of the last batches.
const NOTES: usize = 8;

/// What came of all that was asked for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Summary {
    /// The form of this document.
    pub schema: u32,
    /// Where the seeds of all batches come from.
    pub seed: u64,
    /// One for each campaign that was begun, in the order of the list.
    pub campaigns: Vec<Outcome>,
}

/// What came of one campaign.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// What a violation would be.
    pub what: String,
    /// How often it is to be done; none if time alone is the bound.
    pub wanted: Option<u64>,
    /// How often it was done.
    pub done: u64,
    /// In how many batches.
    pub batches: u64,
    /// How long that took, in seconds.
    pub seconds: f64,
    /// How many violations there were.
    pub violation_count: u64,
    /// The first of them.
    pub violations: Vec<Violation>,
    /// What was measured in the last batches.
    pub notes: Vec<String>,
}

/// One violation, with the batch that shows it again.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Violation {
    /// The seed of its batch.
    pub seed: u64,
    /// How often the deed was done in its batch.
    pub count: u64,
    /// What happened, and the schedule that made it happen.
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

    /// The outcome of a campaign so far; from now on it is to be done so often.
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

    /// Violations of all campaigns.
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

    /// How often the deed is still to be done; `u64::MAX` if time alone is the bound.
    pub(super) fn left(&self) -> u64 {
        self.wanted
            .map_or(u64::MAX, |wanted| wanted.saturating_sub(self.done))
    }

    /// Takes in what came of a batch.
    pub(super) fn add(&mut self, batch: Batch) {
        let Batch {
            job: Job { seed, count },
            report:
                Report {
                    done,
                    violations,
                    notes,
                    // The batch has made something else of it.
                    late: _,
                },
            seconds,
        } = batch;
        self.done += done;
        self.batches += 1;
        self.seconds += seconds;
        self.violation_count += violations.len() as u64;
        let room = KEPT.saturating_sub(self.violations.len());
        let violations = violations.into_iter().take(room);
        self.violations
            .extend(violations.map(|what| Violation { seed, count, what }));
        self.notes.extend(notes);
        let over = self.notes.len().saturating_sub(NOTES);
        self.notes.drain(..over);
    }

    /// For people: what was done, what was measured, and each violation with how to see it again.
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
                "    again: cargo stress {name} --seed {seed} --count {count}"
            );
        }
        text
    }
}
