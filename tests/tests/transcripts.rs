//! Transcripts of every recorded stream: snapshots, comparison with an independent reading of the
//! stream, and properties that hold for every chunking, replay and reader.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "transcripts/fixture.rs"]
mod fixture;
#[path = "transcripts/older_agents.rs"]
mod older_agents;
#[path = "transcripts/oracle.rs"]
mod oracle;
#[path = "transcripts/properties.rs"]
mod properties;

use bowline_reducer::Schema;
use fixture::{Fixture, fixtures, fold, to_value};
use serde_json::Value;

/// Streams above this size are snapshot with their long strings shortened, in bytes.
const LARGE: usize = 500_000;

/// Longest string of a shortened snapshot, in characters.
const SHORT: usize = 160;

#[test]
fn every_recording_has_its_transcript() {
    for fixture in fixtures() {
        let folded = fold(&fixture.bytes);
        let mut transcript = serde_json::to_value(folded.json(Schema::One)).unwrap();
        if fixture.bytes.len() > LARGE {
            shorten(&mut transcript);
        }
        let pretty = serde_json::to_string_pretty(&transcript).unwrap();
        insta::assert_snapshot!(fixture.name.as_str(), pretty);
    }
}

#[test]
fn transcript_has_every_message_once_in_order() {
    for fixture in fixtures() {
        let transcript = to_value(&fold(&fixture.bytes));
        oracle::compare(&fixture, &transcript);
    }
}

#[test]
fn terminal_gives_same_transcript_except_noise() {
    for (piped, terminal) in [
        ("partial", "pty_out_partial"),
        ("plain", "pty_out_default"),
        ("plain", "pty_out_raw"),
    ] {
        let [piped, terminal] = [piped, terminal].map(|name| {
            let fixture = fixtures().into_iter().find(|it| it.name == name).unwrap();
            to_value(&fold(&fixture.bytes))
        });
        assert_eq!(texts(&piped), texts(&terminal));
        let errors = terminal["stats"]["parse_errors"].as_u64().unwrap();
        assert!(errors >= 1, "the terminal's noise is counted");
    }
}

/// The kinds, texts, states and outcomes of a transcript, without ids, times and noise.
fn texts(transcript: &Value) -> Vec<String> {
    let entries = transcript["entries"].as_array().unwrap().iter();
    let entries = entries.filter(|entry| entry["kind"] != "error");
    let line = |entry: &Value| {
        let blocks = entry["blocks"].as_array().into_iter().flatten();
        let blocks: Vec<_> = blocks.map(|block| block["text"].to_string()).collect();
        format!(
            "{} {} {} {} {}",
            entry["kind"],
            entry["text"],
            entry["state"],
            entry["outcome"],
            blocks.join(" ")
        )
    };
    entries.map(line).collect()
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > SHORT => {
            let head: String = text.chars().take(SHORT).collect();
            *text = format!(
                "{head}… {} bytes, sum {:016x}",
                text.len(),
                fixture::sum(text)
            );
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        _ => {}
    }
}

#[test]
fn no_snapshot_is_unused() {
    let names: Vec<_> = fixtures().into_iter().map(|it: Fixture| it.name).collect();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        let name = file
            .strip_prefix("transcripts__")
            .and_then(|it| it.strip_suffix(".snap"));
        if let Some(name) = name {
            assert!(names.iter().any(|it| it == name), "{file} has no recording");
        }
    }
}
