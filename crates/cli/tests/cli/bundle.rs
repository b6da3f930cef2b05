//! `bowline bundle`.

use bowline_transport::journal::{Arrival, Folder, JournalLimits, JournalWriter};
use bowline_transport::wire::{Epoch, StreamId};
use serde_json::{Value, json};

use crate::support::{bowline, fixture, json};
use crate::test_runner::TestRunner;

const SECRET: &str = "sk-ant-api03-Planted0123456789abcdef";

const SCENARIO: &str = r#"
[[turn]]
steps = [ { text = "The key is sk-ant-api03-Planted0123456789abcdef, for zanzibar." } ]
"#;

fn kinds(transcript: &Value) -> Vec<Value> {
    let entries = transcript["entries"].as_array().expect("entries").iter();
    entries
        .map(|entry| json!([entry["kind"], entry["at_ms"], entry["bytes"]]))
        .collect()
}

#[test]
fn bundle_of_a_session_is_replayed_without_secrets() {
    let served = TestRunner::start();
    let id = served.dialogue(SCENARIO);
    let prompt = json!({"text": format!("go with {SECRET}")});
    served.json("POST", &format!("/api/sessions/{id}/prompt"), Some(&prompt));
    let path = format!("/api/sessions/{id}/transcript?schema=2");
    let live = served.until(&path, |it| {
        let entries = it["entries"].as_array().expect("entries").iter();
        entries.filter(|entry| entry["kind"] == "result").count() == 1
    });
    assert!(live.to_string().contains(SECRET));
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();

    let running = file("running.tar.gz");
    let printed = served.bowline(&["bundle", id.get(..8).expect("an id"), "--output", &running]);
    assert_eq!(printed.ok(), format!("{running}\n"));
    let replayed = bowline(&["replay", &running, "--output", "transcript"]);
    assert!(
        replayed.stderr.contains("is still being written"),
        "{replayed:?}"
    );
    let replayed = json(&replayed.stdout);
    // It ends with the entry that says so.
    assert_eq!(
        kinds(&replayed)[..kinds(&live).len()],
        kinds(&live),
        "times and offsets stay"
    );
    let text = replayed.to_string();
    assert!(
        !text.contains(SECRET) && text.contains("zanzibar"),
        "{text}"
    );
    let inspected = bowline(&["inspect", &running]);
    assert!(inspected.stdout.contains("input"), "{inspected:?}");
    let again = served
        .bowline(&["bundle", &id, "--output", &running])
        .failed(1);
    assert!(again.contains("exists; remove it"), "{again}");

    served.bowline(&["kill", &id]).ok();
    let ended = file("ended.tar.gz");
    let args = ["bundle", &id, "--redact", "content", "--output", &ended];
    served.bowline(&args).ok();
    let replayed = bowline(&["replay", &ended, "--output", "transcript", "--strict"]);
    let replayed = json(&replayed.ok());
    assert_eq!(kinds(&replayed)[..kinds(&live).len()], kinds(&live));
    let text = replayed.to_string();
    assert!(
        !text.contains("Planted") && !text.contains("zanzibar"),
        "{text}"
    );
    let unknown = served.bowline(&["bundle", "nothing"]).failed(1);
    assert!(unknown.contains("no session id starts with"), "{unknown}");
}

#[test]
fn bundle_of_a_recording_has_the_same_transcript() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["tool_bash.jsonl", "sub_nest_fg.jsonl", "big.jsonl.gz"] {
        let file = folder.path().join(format!("{name}.tar.gz"));
        let file = file.display().to_string();
        bowline(&["bundle", &fixture(name), "--output", &file]).ok();
        let transcript = |file: &str| bowline(&["replay", file, "--output", "transcript"]).ok();
        assert_eq!(transcript(&file), transcript(&fixture(name)), "{name}");
    }
}

/// A later segment says where the streams are that have no record in it.
#[test]
fn bundle_of_a_later_segment_keeps_the_gap_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = JournalLimits {
        segment_bytes: 600,
        ..JournalLimits::default()
    };
    let disk = Folder::at(folder.path());
    let mut journal = JournalWriter::create(disk, limits, Epoch(1), 0).expect("a journal");
    let mut append = |stream, bytes: &'static [u8]| {
        let (at, now) = (journal.end(stream), std::time::Instant::now());
        journal.append(stream, at, bytes.into(), Arrival::at(1), now)
    };
    append(StreamId::STDERR, b"warning\n").expect("a record");
    let segment = folder.path().join("00000001.bjl");
    while !segment.exists() {
        append(StreamId::STDOUT, b"{\"type\":\"system\"}\n").expect("a record");
    }
    let segment = segment.display().to_string();
    let bundle = folder.path().join("report.tar.gz").display().to_string();
    bowline(&["bundle", &segment, "--output", &bundle]).ok();
    let inspected = |file: &str| json(&bowline(&["inspect", file, "--json"]).stdout);
    assert_eq!(inspected(&segment), inspected(&bundle));
}
