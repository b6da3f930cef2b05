//! Recorded counts, for comparison.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{CountError, Counter, Worker};
use crate::contenders::Contender;
use crate::corpus::Corpus;

/// Accepted relative difference of a count: the effect of a different order of functions in the
/// program.
pub const TOLERANCE: f64 = 0.05;

/// The recorded counts.
const RECORDED: [(Worker, Corpus); 4] = [
    (Worker::Contender(Contender::Bowline), Corpus::Partial),
    (Worker::Contender(Contender::Bowline), Corpus::Mixed),
    (Worker::Reducer, Corpus::Partial),
    (Worker::Reducer, Corpus::Mixed),
];

/// Instructions per line, by worker and corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Baseline(BTreeMap<String, f64>);

impl Baseline {
    /// Counts everything that is recorded.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Counter::count`].
    pub fn count(counter: &Counter) -> Result<Self, CountError> {
        let counts = RECORDED.map(|(worker, corpus)| {
            let count = counter.count(worker, corpus)?.per_event;
            let name = format!("{} {}", worker.name(), corpus.name());
            // The lines of these corpora are short, so that the longer piece has more of them.
            let rounded = (count.unwrap_or_default() * 10.0).round() / 10.0;
            Ok((name, rounded))
        });
        counts.into_iter().collect::<Result<_, _>>().map(Self)
    }

    /// Reads the recorded counts from `baseline.json` of this package.
    ///
    /// # Errors
    ///
    /// Fails if the file is missing or invalid.
    pub fn load() -> Result<Self, CountError> {
        let text = fs::read_to_string(file()).map_err(|it| CountError::Baseline(it.to_string()))?;
        serde_json::from_str(&text).map_err(|it| CountError::Baseline(it.to_string()))
    }

    /// Writes these counts to the file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn save(&self) -> io::Result<()> {
        fs::write(file(), serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns every count with its name and the recorded one; an unrecorded count has an infinite
    /// difference.
    pub fn beside<'a>(&'a self, recorded: &'a Self) -> impl Iterator<Item = (&'a str, f64, f64)> {
        self.0.iter().map(|(name, &count)| {
            let then = recorded.0.get(name).copied().unwrap_or_default();
            (name.as_str(), count, then)
        })
    }
}

fn file() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "baseline.json"]
        .iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_recorded() {
        let recorded = Baseline::load().unwrap();
        for (worker, corpus) in RECORDED {
            let name = format!("{} {}", worker.name(), corpus.name());
            assert!(
                recorded.0.get(&name).is_some_and(|&count| count > 0.0),
                "{name}"
            );
        }
        assert_eq!(recorded.0.len(), RECORDED.len());
    }

    #[test]
    fn unrecorded_count_is_out_of_tolerance() {
        let [now, then] = [[("a", 105.0)].into(), [("b", 1.0)].into()].map(|it: BTreeMap<_, _>| {
            Baseline(
                it.into_iter()
                    .map(|(name, it)| (name.to_owned(), it))
                    .collect(),
            )
        });
        let (_, count, recorded) = now.beside(&then).next().unwrap();
        assert!((count / recorded - 1.0).abs() > TOLERANCE);
        let (_, count, recorded) = now.beside(&now).next().unwrap();
        assert!((count / recorded - 1.0).abs() <= TOLERANCE);
    }
}
