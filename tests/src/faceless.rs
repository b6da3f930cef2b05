//! Transcripts of two runs of one conversation, held against each other.

use std::collections::HashMap;

use serde_json::Value;

/// Where two transcripts say something else first, in short; `None` if they say the same.
#[must_use]
pub fn difference(heard: &Value, expected: &Value, path: &str) -> Option<String> {
    match (heard, expected) {
        (Value::Object(heard), Value::Object(expected)) => {
            if !heard.keys().eq(expected.keys()) {
                let keys =
                    |it: &serde_json::Map<String, Value>| it.keys().cloned().collect::<Vec<_>>();
                return Some(format!(
                    "at {path}: {:?} is not {:?}",
                    keys(heard),
                    keys(expected)
                ));
            }
            let mut pairs = heard.iter().zip(expected.values());
            pairs.find_map(|((key, heard), expected)| {
                difference(heard, expected, &format!("{path}.{key}"))
            })
        }
        (Value::Array(heard), Value::Array(expected)) => {
            let mut pairs = heard.iter().zip(expected).enumerate();
            let found = pairs.find_map(|(at, (heard, expected))| {
                difference(heard, expected, &format!("{path}[{at}]"))
            });
            let (heard, expected) = (heard.len(), expected.len());
            let lengths = || format!("at {path}: {heard} of {expected}");
            found.or_else(|| (heard != expected).then(lengths))
        }
        (heard, expected) if heard != expected => {
            let short = |it: &Value| it.to_string().chars().take(200).collect::<String>();
            Some(format!(
                "at {path}: {} is not {}",
                short(heard),
                short(expected)
            ))
        }
        _ => None,
    }
}

/// Checks that two transcripts say the same.
///
/// # Panics
///
/// They do not.
pub fn same(heard: &Value, expected: &Value, path: &str) {
    if let Some(difference) = difference(heard, expected, path) {
        panic!("{difference}");
    }
}

/// A transcript without what is different in each run: names are numbered as they come, and times
/// and counts of bytes are left out.
#[must_use]
pub fn faceless(mut transcript: Value) -> Value {
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

/// A word, or the number of what it names.
fn named(word: &str, names: &mut HashMap<String, usize>) -> String {
    let name = word.trim_end();
    if !is_name(name) {
        return word.to_owned();
    }
    let next = names.len();
    let number = *names.entry(name.to_owned()).or_insert(next);
    word.replace(name, &format!("#{number}"))
}

/// Whether a word names something for one run: a UUID, an agent, or what the vendor's service names.
fn is_name(word: &str) -> bool {
    let is_hex = |it: &str| it.bytes().all(|digit| digit.is_ascii_hexdigit());
    let is_uuid =
        word.len() == 36 && word.split('-').count() == 5 && is_hex(&word.replace('-', ""));
    let is_agent = word.len() == 17 && is_hex(word);
    let prefixes = ["msg_", "toolu_", "req_"];
    is_uuid || is_agent || prefixes.iter().any(|prefix| word.starts_with(prefix))
}
