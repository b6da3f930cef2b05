//! Normalization of transcripts of other agents.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

/// Members that depend on time.
const VARYING: [&str; 7] = [
    "at_ms",
    "bytes",
    "duration_ms",
    "ended_ms",
    "started_ms",
    "stats",
    "usage",
];

/// Shortest run of digits that is a time.
const TIME_DIGITS: usize = 12;

/// Replaces the agents' ids by numbers, in the order of appearance, and the paths of the run's home, and
/// removes times and byte counts.
///
/// # Panics
///
/// The path is not UTF-8.
#[must_use]
pub fn normalized(mut transcript: Value, home: &Path) -> Value {
    strip(&mut transcript);
    let home = home.to_str().expect("text").trim_start_matches('/');
    let text = transcript.to_string().replace(home, "home");
    let mut names = HashMap::new();
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let mut rest = text.as_str();
    let mut result = String::new();
    while !rest.is_empty() {
        let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if is_id(word) {
            let next = names.len();
            let number = *names.entry(word.to_owned()).or_insert(next);
            result.push_str(&format!("#{number}"));
        } else {
            result.push_str(word);
        }
        let (other, next) = after.split_at(after.find(is_part).unwrap_or(after.len()));
        result.push_str(other);
        rest = next;
    }
    serde_json::from_str(&result).expect("a transcript is JSON")
}

fn strip(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(strip),
        Value::Object(map) => {
            map.retain(|key, _| !VARYING.contains(&key.as_str()));
            map.values_mut().for_each(strip);
        }
        _ => {}
    }
}

/// Whether a word is an id: a UUID, one of opencode's, or one with a time.
fn is_id(word: &str) -> bool {
    let is_hex = |it: &str| it.bytes().all(|digit| digit.is_ascii_hexdigit());
    let is_uuid =
        word.len() == 36 && word.split('-').count() == 5 && is_hex(&word.replace('-', ""));
    let digits = word.split(|it: char| !it.is_ascii_digit());
    let has_time = digits.map(str::len).any(|it| it >= TIME_DIGITS);
    let prefixes = ["ses_", "msg_", "per_", "prt_"];
    is_uuid || has_time || prefixes.iter().any(|prefix| word.starts_with(prefix))
}
