//! Normalization and comparison of transcripts from two runs of one conversation.

use std::collections::HashMap;

use serde_json::Value;

/// Describes the first difference between two transcripts, or returns `None` if they are equal.
#[must_use]
pub fn difference(actual: &Value, expected: &Value, path: &str) -> Option<String> {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => {
            if !actual.keys().eq(expected.keys()) {
                let keys =
                    |it: &serde_json::Map<String, Value>| it.keys().cloned().collect::<Vec<_>>();
                return Some(format!(
                    "at {path}: {:?} is not {:?}",
                    keys(actual),
                    keys(expected)
                ));
            }
            let mut pairs = actual.iter().zip(expected.values());
            pairs.find_map(|((key, actual), expected)| {
                difference(actual, expected, &format!("{path}.{key}"))
            })
        }
        (Value::Array(actual), Value::Array(expected)) => {
            let mut pairs = actual.iter().zip(expected).enumerate();
            let found = pairs.find_map(|(at, (actual, expected))| {
                difference(actual, expected, &format!("{path}[{at}]"))
            });
            let (actual, expected) = (actual.len(), expected.len());
            let lengths = || format!("at {path}: {actual} of {expected}");
            found.or_else(|| (actual != expected).then(lengths))
        }
        (actual, expected) if actual != expected => {
            let short = |it: &Value| it.to_string().chars().take(200).collect::<String>();
            Some(format!(
                "at {path}: {} is not {}",
                short(actual),
                short(expected)
            ))
        }
        _ => None,
    }
}

/// Asserts that two transcripts are equal.
///
/// # Panics
///
/// They differ.
pub fn same(actual: &Value, expected: &Value, path: &str) {
    if let Some(difference) = difference(actual, expected, path) {
        panic!("{difference}");
    }
}

/// Replaces names that vary between runs by numbers, in the order of appearance, and removes times
/// and byte counts.
#[must_use]
pub fn normalized(mut transcript: Value) -> Value {
    let mut names = HashMap::new();
    strip(&mut transcript, &mut names);
    transcript
}

fn strip(value: &mut Value, names: &mut HashMap<String, usize>) {
    match value {
        Value::String(text) => {
            let words = text.split_inclusive(char::is_whitespace);
            *text = words.map(|word| named(word, names)).collect();
        }
        Value::Array(all) => all.iter_mut().for_each(|it| strip(it, names)),
        Value::Object(map) => {
            for varying in ["duration_ms", "stats", "usage", "started_ms", "ended_ms"] {
                map.remove(varying);
            }
            let entries: Vec<_> = std::mem::take(map).into_iter().collect();
            for (key, mut value) in entries {
                strip(&mut value, names);
                map.insert(named(&key, names), value);
            }
        }
        _ => {}
    }
}

/// Replaces a name by its number; other words are unchanged.
fn named(word: &str, names: &mut HashMap<String, usize>) -> String {
    let name = word.trim_end();
    if !is_name(name) {
        return word.to_owned();
    }
    let next = names.len();
    let number = *names.entry(name.to_owned()).or_insert(next);
    word.replace(name, &format!("#{number}"))
}

/// Whether a word is a name that varies between runs: a UUID, an agent id, an id of the vendor's
/// service, or two of them with a colon between.
fn is_name(word: &str) -> bool {
    let is_hex = |it: &str| it.bytes().all(|digit| digit.is_ascii_hexdigit());
    let is_uuid =
        word.len() == 36 && word.split('-').count() == 5 && is_hex(&word.replace('-', ""));
    let is_agent = word.len() == 17 && is_hex(word);
    let prefixes = ["msg_", "toolu_", "req_"];
    let is_pair = || {
        let pair = word.split_once(':');
        pair.is_some_and(|(one, other)| is_name(one) && is_name(other))
    };
    is_uuid || is_agent || prefixes.iter().any(|prefix| word.starts_with(prefix)) || is_pair()
}
