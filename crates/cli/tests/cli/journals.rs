//! Journals: written by `run --record`, read by `replay` and `inspect`.

use std::io::Write as _;
use std::process::Command;

use bowline_transport::journal::{
    Body, Folder, JournalLimits, JournalWriter, Record, Stop, recover,
};
use bowline_transport::wire::{Epoch, StreamId};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::support::{BOWLINE, ScriptedAgent, bowline, bowline_reading, fixture, json};

const TOOL: &str = r#"
[[turn]]
steps = [
  { text = "I will look." },
  { tool = { name = "Bash", input = { command = "ls" }, result = "a\nb" } },
  { text = "Two files." },
]
"#;

/// Runs a dialogue; returns its transcript and its journal.
fn recorded(scripted: &ScriptedAgent) -> (Value, Vec<u8>) {
    let record = scripted.path("record.bjl");
    let options = [
        "--record",
        &record,
        "--output",
        "transcript",
        "What is here?",
    ];
    let live = json(&scripted.run(&options).ok());
    (live, std::fs::read(record).unwrap())
}

fn transcript(done: crate::support::CommandOutput) -> Value {
    json(&done.ok())
}

fn of_stream(records: &[Record], stream: StreamId) -> Vec<u8> {
    let of_stream = records.iter().filter(|record| record.stream == stream);
    let mut bytes = Vec::new();
    for record in of_stream {
        let Body::Bytes(more) = &record.body else {
            panic!("{record:?}")
        };
        assert_eq!(record.offset, bytes.len() as u64);
        bytes.extend_from_slice(more);
    }
    bytes
}

#[test]
fn journal_contains_output_and_input() {
    let scripted = ScriptedAgent::new(TOOL);
    let (live, journal) = recorded(&scripted);
    let recovered = recover(&journal.into());
    assert_eq!(recovered.stop, Stop::End);
    let output = of_stream(&recovered.records, StreamId::STDOUT);
    assert_eq!(output.len() as u64, live["stats"]["bytes"]);
    let input = String::from_utf8(of_stream(&recovered.records, StreamId::INPUT)).unwrap();
    assert!(
        input.lines().any(|line| line.contains("What is here?")),
        "{input}"
    );
    let lifecycle = of_stream(&recovered.records, StreamId::LIFECYCLE);
    let lifecycle: Value = serde_json::from_slice(&lifecycle).unwrap();
    assert_eq!(lifecycle["exit"]["status"]["code"], 0);
    assert_eq!(lifecycle["exit"]["ends"]["1"], output.len() as u64);
}

#[test]
fn journal_is_detected_by_content() {
    let scripted = ScriptedAgent::new(TOOL);
    let (live, journal) = recorded(&scripted);
    let zip = scripted.path("zipped");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&journal).unwrap();
    std::fs::write(&zip, encoder.finish().unwrap()).unwrap();
    let renamed = scripted.path("renamed.jsonl");
    std::fs::write(&renamed, &journal).unwrap();
    let form = ["--output", "transcript"];
    let ways = [
        bowline(&["replay", &scripted.path("record.bjl"), form[0], form[1]]),
        bowline(&["replay", &renamed, form[0], form[1]]),
        bowline(&["replay", &zip, form[0], form[1]]),
        bowline_reading(&["replay", "-", form[0], form[1]], &journal),
    ];
    for way in ways {
        let replayed = transcript(way);
        for part in [
            "schema",
            "session_id",
            "entries",
            "tool_calls",
            "usage",
            "stats",
        ] {
            assert_eq!(live[part], replayed[part], "{part}");
        }
    }
}

#[test]
fn damaged_journal_is_read_to_the_damage() {
    let scripted = ScriptedAgent::new(TOOL);
    let (live, journal) = recorded(&scripted);
    for cut in [journal.len() - 1, journal.len() / 2, 60] {
        let args = ["inspect", "-", "--json"];
        let counts = bowline_reading(&args, &journal[..cut]);
        let counts = json(&if counts.code == Some(0) {
            counts.ok()
        } else {
            "{}".to_owned()
        });
        if cut > 60 {
            assert_eq!(
                counts["journal"]["broken"], "the last record is cut",
                "{counts}"
            );
            assert!(counts["bytes"].as_u64() <= live["stats"]["bytes"].as_u64());
        }
    }
    let mut damaged = journal.clone();
    // The last record is the exit, after all output.
    *damaged.last_mut().unwrap() ^= 1;
    let counts = json(&bowline_reading(&["inspect", "-", "--json"], &damaged).ok());
    assert_eq!(counts["journal"]["broken"], "what follows is damaged");
    let text = bowline_reading(&["inspect", "-"], &damaged).ok();
    assert!(
        text.contains("\njournal        what follows is damaged\n"),
        "{text}"
    );
    assert!(
        text.contains("\nstream         stdout, bytes 0 to "),
        "{text}"
    );
}

#[test]
fn segment_folder_is_read_with_its_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let limits = JournalLimits {
        segment_bytes: 2_000,
        ..JournalLimits::default()
    };
    let disk = Folder::make(&path).unwrap();
    let mut writer = JournalWriter::create(disk, limits, Epoch(1), 0).unwrap();
    let said = std::fs::read(fixture("plain.jsonl")).unwrap();
    let now = std::time::Instant::now();
    let lines: Vec<_> = said.split_inclusive(|byte| *byte == b'\n').collect();
    let mut at = 0;
    for (number, line) in lines.iter().enumerate() {
        if number != 1 {
            let line = bytes::Bytes::copy_from_slice(line);
            writer.append(StreamId::STDOUT, at, line, now).unwrap();
        }
        at += line.len() as u64;
    }
    let path = path.display().to_string();
    let counts = json(&bowline(&["inspect", &path, "--json"]).ok());
    let missing = (lines[0].len(), lines[0].len() + lines[1].len());
    assert_eq!(counts["missing"], serde_json::json!([missing]));
    assert_eq!(counts["journal"]["streams"]["stdout"]["end"], said.len());
    assert_eq!(counts["lines"], lines.len() - 1);
    let segments = std::fs::read_dir(&path)
        .unwrap()
        .map(|file| file.unwrap().path());
    let segment = segments.max().unwrap().display().to_string();
    let counts = json(&bowline(&["inspect", &segment, "--json"]).ok());
    let begin = &counts["journal"]["streams"]["stdout"];
    assert_eq!(
        counts["missing"][0][0], 0,
        "what came before one segment is missing in it: {begin}"
    );
    assert!(counts["missing"][0][1].as_u64() > Some(0), "{counts}");
    let replayed = transcript(bowline(&["replay", &path, "--output", "transcript"]));
    let kinds = replayed["entries"].as_array().unwrap().iter();
    let gaps = kinds.filter(|entry| entry["error"] == "gap");
    assert_eq!(gaps.count(), 1, "{replayed}");
}

/// The file size limit is one block.
#[test]
fn full_disk_stops_recording_not_dialogue() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nsteps = [ { many = { times = 2000, steps = [ { text = \"word\\n\" } ] } } ]",
    );
    let record = scripted.path("record.bjl");
    let line = scripted.line(&["--record", &record, "hi"]);
    let mut shell = Command::new("sh");
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$BOWLINE\" \"$@\"";
    shell.args(["-c", limited, "sh"]).args(line);
    let said = shell.env("BOWLINE", BOWLINE).output().unwrap();
    let told = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.code(), Some(1), "{told}");
    assert!(
        told.starts_with("bowline: the recording is incomplete: File too large"),
        "{told}"
    );
    assert!(String::from_utf8(said.stdout).unwrap().contains("✓ done"));
    let recovered = recover(&std::fs::read(record).unwrap().into());
    assert!(recovered.header.is_some() && recovered.valid_bytes <= 8 << 10);
}
