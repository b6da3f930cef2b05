//! Journals: written by `run --record`, read by `replay` and `inspect`.

use std::io::Write as _;
use std::process::Command;

use bowline_transport::journal::{
    Arrival, Body, Folder, JournalLimits, JournalWriter, Record, Stop, recover,
};
use bowline_transport::wire::{Epoch, StreamId};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::support::{BOWLINE, ScriptedAgent, bowline, bowline_reading, fixture, json};

/// The arrival of every record.
const AT: Arrival = Arrival::at(1_700_000_000_000);

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
        // Schema 2 has times, which a replay does not know.
        "--schema",
        "1",
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
    let form = ["--output", "transcript", "--schema", "1"];
    let replay = |file: &str| bowline(&[&["replay", file][..], &form].concat());
    let ways = [
        replay(&scripted.path("record.bjl")),
        replay(&renamed),
        replay(&zip),
        bowline_reading(&[&["replay", "-"][..], &form].concat(), &journal),
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
    for cut in [journal.len() - 1, journal.len() / 2] {
        let done = bowline_reading(&["inspect", "-", "--json"], &journal[..cut]);
        let counts = json(&done.stdout);
        assert_eq!(counts["journal"]["broken"], "the last record is cut");
        assert!(counts["bytes"].as_u64() <= live["stats"]["bytes"].as_u64());
        let offset = counts["journal"]["damage"][0]["offset"].to_string();
        let stderr = done.failed(0);
        let expected = format!("segment 0 is cut at byte {offset}, ");
        assert!(stderr.contains(&expected), "{stderr}");
    }
    let mut damaged = journal.clone();
    // The last record is the exit, after all output.
    *damaged.last_mut().unwrap() ^= 1;
    let counts = json(&bowline_reading(&["inspect", "-", "--json"], &damaged).stdout);
    assert_eq!(counts["journal"]["broken"], "what follows is damaged");
    let done = bowline_reading(&["inspect", "-"], &damaged);
    for line in [
        "\njournal        what follows is damaged\n",
        "\nstream         stdout, bytes 0 to ",
        "\ndamage         segment 0 is corrupt at byte ",
    ] {
        assert!(done.stdout.contains(line), "{}", done.stdout);
    }
    done.failed(0);
    let args = ["replay", "-", "--output", "transcript"];
    let replayed = json(&bowline_reading(&args, &damaged).stdout);
    assert_eq!(replayed["stats"]["damaged"], true);
    assert_eq!(replayed["stats"]["bytes"], live["stats"]["bytes"]);
}

/// Runs `replay` and `inspect` on a damaged journal; both must say so.
#[track_caller]
fn assert_reported(damaged: &[u8], what: &str) {
    for command in ["replay", "inspect"] {
        let done = bowline_reading(&[command, "-", "--strict"], damaged);
        assert_eq!(done.code, Some(1), "{command} of {what}: {done:?}");
        assert!(done.stderr.starts_with("bowline: "), "{what}: {done:?}");
    }
}

#[test]
fn cut_or_flip_of_any_byte_is_reported() {
    let scripted = ScriptedAgent::new(TOOL);
    let (_, journal) = recorded(&scripted);
    for command in ["replay", "inspect"] {
        bowline_reading(&[command, "-", "--strict"], &journal).ok();
    }
    // The ends of the records, where nothing but the missing exit shows that the file was cut.
    let mut ends = vec![44];
    let records = recover(&journal.clone().into()).records;
    for record in &records {
        let head = if record.arrival.output.is_some() {
            40
        } else {
            32
        };
        ends.push(ends[ends.len() - 1] + head + (record.end() - record.offset) as usize);
    }
    assert_eq!(ends.pop(), Some(journal.len()));
    let step = journal.len() / 40;
    for at in ends
        .into_iter()
        .chain((1..48).step_by(5))
        .chain((48..journal.len()).step_by(step))
    {
        assert_reported(&journal[..at], &format!("a cut at {at}"));
        let mut flipped = journal.clone();
        flipped[at] ^= 0x20;
        assert_reported(&flipped, &format!("a flip of {at}"));
    }
}

#[test]
fn output_that_ends_before_the_exit_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let disk = Folder::make(&path).unwrap();
    let limits = JournalLimits::default();
    let mut writer = JournalWriter::create(disk, limits, Epoch(1), 0).unwrap();
    let recorded = std::fs::read(fixture("plain.jsonl")).unwrap();
    let (now, end) = (std::time::Instant::now(), recorded.len());
    writer
        .append(StreamId::STDOUT, 0, recorded.into(), AT, now)
        .unwrap();
    let exit = format!("{{\"event\":\"exited\",\"ends\":{{\"1\":{}}}}}\n", end + 50);
    let exit = exit.into();
    writer
        .append(StreamId::LIFECYCLE, 0, exit, AT, now)
        .unwrap();
    for path in [path.clone(), path.join("00000000.bjl")] {
        let path = path.display().to_string();
        let done = bowline(&["replay", &path, "--output", "transcript"]);
        assert_eq!(json(&done.stdout)["stats"]["missing"], 50);
        let stderr = done.failed(0);
        let expected = format!("lacks bytes {end} to {} of stdout, its end\n", end + 50);
        assert!(stderr.ends_with(&expected), "{stderr}");
        let done = bowline(&["inspect", &path, "--json", "--strict"]);
        let missing = &json(&done.stdout)["missing"];
        assert_eq!(*missing, serde_json::json!([[end, end + 50]]));
        done.failed(1);
    }
}

#[test]
fn newer_journal_is_refused_with_both_versions() {
    let scripted = ScriptedAgent::new(TOOL);
    let (_, mut journal) = recorded(&scripted);
    journal[8] = 3;
    for command in ["replay", "inspect"] {
        let stderr = bowline_reading(&[command, "-"], &journal).failed(1);
        assert_eq!(
            stderr,
            "bowline: cannot read -: the journal has format version 3, and only versions up to 2 can be read; update bowline\n"
        );
    }
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
    let recorded = std::fs::read(fixture("plain.jsonl")).unwrap();
    let now = std::time::Instant::now();
    let exit = format!("{{\"exit\":{{\"ends\":{{\"1\":{}}}}}}}\n", recorded.len());
    writer
        .append(StreamId::LIFECYCLE, 0, exit.into(), AT, now)
        .unwrap();
    let lines: Vec<_> = recorded.split_inclusive(|byte| *byte == b'\n').collect();
    let mut at = 0;
    for (number, line) in lines.iter().enumerate() {
        if number != 1 {
            let line = bytes::Bytes::copy_from_slice(line);
            writer.append(StreamId::STDOUT, at, line, AT, now).unwrap();
        }
        at += line.len() as u64;
    }
    let path = path.display().to_string();
    let counts = json(&bowline(&["inspect", &path, "--json"]).ok());
    let missing = (lines[0].len(), lines[0].len() + lines[1].len());
    assert_eq!(counts["missing"], serde_json::json!([missing]));
    assert_eq!(
        counts["journal"]["streams"]["stdout"]["end"],
        recorded.len()
    );
    assert_eq!(counts["lines"], lines.len() - 1);
    let segments = std::fs::read_dir(&path)
        .unwrap()
        .map(|file| file.unwrap().path());
    let segment = segments.max().unwrap().display().to_string();
    // The exit is in another segment.
    let counts = json(&bowline(&["inspect", &segment, "--json"]).stdout);
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

#[test]
fn full_disk_stops_recording_not_dialogue() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nsteps = [ { many = { times = 2000, steps = [ { text = \"word\\n\" } ] } } ]",
    );
    // The file size limit acts as a full disk. At the lower one no line is recorded.
    for blocks in [2, 64] {
        records_up_to(blocks, &scripted);
    }
}

fn records_up_to(blocks: u32, scripted: &ScriptedAgent) {
    let record = scripted.path(&format!("{blocks}.bjl"));
    let line = scripted.line(&["--record", &record, "hi"]);
    let mut shell = Command::new("sh");
    let limited = format!("ulimit -f {blocks}; exec \"$BOWLINE\" \"$@\"");
    shell.args(["-c", &limited, "sh"]).args(line);
    let output = shell.env("BOWLINE", BOWLINE).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.starts_with("bowline: the recording is incomplete: File too large"),
        "{stderr}"
    );
    assert!(String::from_utf8(output.stdout).unwrap().contains("✓ done"));
    let journal = std::fs::read(&record).unwrap();
    assert!(journal.len() <= 64 << 10);
    assert_eq!(recover(&journal.into()).stop, Stop::End);
    // The exit was recorded, and so was the missing end of the output.
    let done = bowline(&["inspect", &record, "--json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let counts = json(&done.stdout);
    let missing = &counts["missing"][0];
    assert_eq!(missing[1], counts["journal"]["streams"]["stdout"]["end"]);
    assert!(
        missing[0].as_u64() < missing[1].as_u64() && missing[1].as_u64() > Some(100_000),
        "{missing}"
    );
    assert_eq!(counts["journal"]["exit"], true);
}

#[test]
fn zeroed_signature_is_damage() {
    let scripted = ScriptedAgent::new(TOOL);
    let (_, mut journal) = recorded(&scripted);
    for zeros in [3, 8, 64] {
        journal[..zeros].fill(0);
        for command in ["replay", "inspect"] {
            let stderr = bowline_reading(&[command, "-"], &journal).failed(0);
            assert!(
                stderr.contains("segment 0 is corrupt at byte 0, "),
                "{stderr}"
            );
        }
        assert_reported(&journal, "zeros");
    }
}

#[test]
fn empty_segment_is_damage_and_empty_recording_is_mentioned() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for name in ["00000000.bjl", "lines.jsonl"] {
        std::fs::write(path(name), "").unwrap();
    }
    for journal in [path("00000000.bjl"), path("")] {
        for command in ["replay", "inspect"] {
            let done = bowline(&[command, &journal, "--strict"]);
            assert_eq!(done.code, Some(1), "{command} {journal}: {done:?}");
            let line = "segment 0 is cut at byte 0, ";
            assert!(done.stderr.contains(line), "{done:?}");
        }
    }
    for command in ["replay", "inspect"] {
        let lines = path("lines.jsonl");
        let stderr = bowline(&[command, &lines, "--strict"]).failed(0);
        assert_eq!(
            stderr,
            format!("bowline: {lines}: the recording is empty\n")
        );
    }
}

/// A full disk can prevent the segment that would have recorded the exit.
#[test]
fn exit_outside_the_journal_makes_its_end_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let disk = Folder::make(&path).unwrap();
    let limits = JournalLimits::default();
    let mut writer = JournalWriter::create(disk, limits, Epoch(1), 0).unwrap();
    let recorded = std::fs::read(fixture("plain.jsonl")).unwrap();
    let (now, end) = (std::time::Instant::now(), recorded.len());
    writer
        .append(StreamId::STDOUT, 0, recorded.into(), AT, now)
        .unwrap();
    let info = format!(
        r#"{{"exit":{{"status":{{"code":0}},"drained":"all","ends":{{"1":{}}}}}}}"#,
        end + 50
    );
    std::fs::write(folder.path().join("info.json"), info).unwrap();
    let path = path.display().to_string();
    let done = bowline(&["replay", &path, "--output", "transcript"]);
    assert_eq!(json(&done.stdout)["stats"]["missing"], 50);
    let stderr = done.failed(0);
    let expected = format!("lacks bytes {end} to {} of stdout, its end\n", end + 50);
    assert!(stderr.ends_with(&expected), "{stderr}");
}

/// A journal of a recorded conversation of both directions. `input_last` writes all input after the output,
/// as for a journal that was written late.
fn write_both(path: &std::path::Path, lines: &[(u64, bool, String)], input_last: bool) {
    let disk = Folder::make(path).unwrap();
    let mut writer = JournalWriter::create(disk, JournalLimits::default(), Epoch(1), 0).unwrap();
    let mut put = |stream, line: &str, arrival| {
        let (offset, now) = (writer.end(stream), std::time::Instant::now());
        let bytes = line.as_bytes().to_vec().into();
        writer.append(stream, offset, bytes, arrival, now).unwrap();
    };
    let (mut output, mut late) = (0, Vec::new());
    for (at_ms, is_host, line) in lines {
        let arrival = Arrival::at(*at_ms);
        if !is_host {
            put(StreamId::STDOUT, line, arrival);
            output += line.len() as u64;
        } else if input_last {
            late.push((line, arrival.beside(output)));
        } else {
            put(StreamId::INPUT, line, arrival.beside(output));
        }
    }
    for (line, arrival) in late {
        put(StreamId::INPUT, line, arrival);
    }
    let exit = format!("{{\"exit\":{{\"ends\":{{\"1\":{output}}}}}}}\n");
    put(StreamId::LIFECYCLE, &exit, AT);
}

#[test]
fn input_is_folded_at_its_place_with_the_time_of_arrival() {
    let scratch = tempfile::tempdir().unwrap();
    let recorded = fixture("agents/codex/app-server.approve.trace.jsonl");
    let recorded = std::fs::read_to_string(recorded).unwrap();
    let (mut lines, mut trace) = (Vec::new(), String::new());
    for line in recorded.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if line["dir"] == "driver" {
            // What the recorder did.
            continue;
        }
        let seconds = line["t"].as_f64().unwrap() + 1.0;
        line["t"] = seconds.into();
        let message = format!("{}\n", line["msg"]);
        let at_ms = (seconds * 1_000.0) as u64;
        lines.push((at_ms, line["dir"] == "host>", message));
        trace.push_str(&format!("{line}\n"));
    }
    let file = scratch.path().join("trace.jsonl");
    std::fs::write(&file, trace).unwrap();
    let replay = |path: &std::path::Path| {
        let path = path.display().to_string();
        json(&bowline(&["replay", &path, "--output", "transcript"]).ok())
    };
    let expected = replay(&file);
    assert!(expected["entries"][0]["at_ms"].is_u64(), "{expected}");
    for input_last in [false, true] {
        let folder = scratch.path().join(format!("late-{input_last}"));
        write_both(&folder, &lines, input_last);
        for path in [folder.clone(), folder.join("00000000.bjl")] {
            assert_eq!(replay(&path), expected, "{}", path.display());
            let path = path.display().to_string();
            let counts = json(&bowline(&["inspect", &path, "--json"]).ok());
            let input = lines.iter().filter(|(_, is_host, _)| *is_host);
            assert_eq!(counts["input"]["lines"], input.count());
        }
    }
}
