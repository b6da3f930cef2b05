//! Why a policy cannot be used.

use std::fmt;

/// Why a policy cannot be used: the place, what is wrong there, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyError {
    /// The file, or what else the text was read from.
    pub source: String,
    /// The line, from 1.
    pub line: usize,
    /// The key that is wrong, if it is one.
    pub key: Option<String>,
    /// The fact, then the remedy.
    pub reason: String,
}

impl std::error::Error for PolicyError {}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}: ", self.source, self.line)?;
        if let Some(key) = &self.key {
            write!(f, "`{key}` ")?;
        }
        f.write_str(&self.reason)
    }
}

/// Returns the candidate that is spelled most like a word, if one is.
pub(super) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let distances = candidates.iter().map(|it| (distance(word, it), *it));
    let (distance, nearest) = distances.min()?;
    (distance <= 2.max(nearest.len() / 3)).then_some(nearest)
}

/// Number of characters to insert, remove or replace (Levenshtein's distance).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}
