//! Counts that were recorded, to compare with.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{CountError, Counter, Worker};
use crate::contenders::Contender;
use crate::corpus::Corpus;

/// How far a count may move, as a share: what another order of functions in the program makes.
pub const TOLERANCE: f64 = 0.05;

/// What is recorded.
const RECORDED: [(Worker, Corpus); 4] = [
    (Worker::Contender(Contender::Bowline), Corpus::Partial),
    (Worker::Contender(Contender::Bowline), Corpus::Mixed),
    (Worker::Reducer, Corpus::Partial),
    (Worker::Reducer, Corpus::Mixed),
];

/// Instructions of one line, by worker and corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Baseline(BTreeMap<String, f64>);

impl Baseline {
    /// Counts what is recorded.
    ///
    /// # Errors
    ///
    /// What [`Counter::count`] says.
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

    /// The recorded counts, from `baseline.json` of this package.
    ///
    /// # Errors
    ///
    /// No file, or something else in it.
    pub fn load() -> Result<Self, CountError> {
        let text = fs::read_to_string(file()).map_err(|it| CountError::Baseline(it.to_string()))?;
        serde_json::from_str(&text).map_err(|it| CountError::Baseline(it.to_string()))
    }

    /// Records these counts.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn save(&self) -> io::Result<()> {
        fs::write(file(), serde_json::to_string_pretty(self)? + "\n")
    }

    /// Every count with its name and what is recorded for it; one that is not recorded is as far
    /// off as can be.
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
    fn everything_that_is_counted_is_recorded() {
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
    fn a_count_that_is_not_recorded_is_far_off() {
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
