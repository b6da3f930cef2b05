use std::fs::{self, File};
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};

use bowline_jsonl::Framer;
use bowline_lifecycle::journal::Merged;
use bowline_lifecycle::{Piece, StreamId};
use bowline_reducer::{End, Meta};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Bundle, RecordedTranscript, RecordingSource, SessionStreams};

/// Secrets of each form, with what is around them. `{}` is the secret itself.
const PLANTED: [(&str, &str); 12] = [
    ("key {} end", "sk-ant-api03-Planted0123456789abcdef"),
    ("{}", "ghp_Planted0123456789abcdefABCDEF0123"),
    ("id={}", "AKIAPLANTED012345678"),
    (
        "jwt {}.",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.c2lnbmF0dXJl",
    ),
    (
        "curl -H 'Authorization: Bearer {}' x",
        "Planted+Bearer/42==",
    ),
    ("Authorization: Basic {}", "UGxhbnRlZDpTZWNyZXQ="),
    ("git clone https://{}@host/x", "me:Planted-p4ss"),
    ("export DB_PASSWORD={}", "Planted!pw7"),
    ("{{\"api_key\": \"{}\"}}", "PlantedJson99"),
    ("https://h/?access_token={}&x=1", "PlantedQuery7"),
    ("an environment has {} in it", "planted by value"),
    (
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
        "UGxhbnRlZEtleQ==",
    ),
];

/// The text in a test of content, which no recording has.
const CONTENT: &str = "zanzibarquilt";

/// Members that hold content in some dialect.
const CONTENT_KEYS: [&str; 20] = [
    "text",
    "content",
    "thinking",
    "prompt",
    "command",
    "stdout",
    "stderr",
    "path",
    "file_path",
    "title",
    "description",
    "cwd",
    "partial_json",
    "message",
    "old_string",
    "new_string",
    "result",
    "aggregatedOutput",
    "diff",
    "newText",
];

fn redactor(redaction: Redaction) -> Redactor {
    let secrets = Secrets::default().with_value("planted by value");
    Redactor::new(redaction, secrets)
}

/// Returns the recordings of all dialects.
fn fixtures() -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut folders = vec![root];
    let mut all = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of recordings") {
            let path = entry.expect("an entry").path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".jsonl") {
                all.push((path.clone(), fs::read(path).expect("a recording")));
            } else if name.ends_with(".jsonl.gz") {
                let (mut bytes, file) = (Vec::new(), File::open(&path).expect("a recording"));
                GzDecoder::new(file).read_to_end(&mut bytes).expect("gzip");
                all.push((path, bytes));
            }
        }
    }
    // Long lines take long, and are like others.
    all.iter_mut()
        .for_each(|(_, bytes)| bytes.truncate(100_000));
    assert!(all.len() > 80, "{} recordings", all.len());
    all
}

/// Changes each string that is a value, with the name of its member.
fn change(value: &mut Value, key: &str, with: &mut impl FnMut(&str, &mut String)) {
    match value {
        Value::String(text) => with(key, text),
        Value::Array(all) => all.iter_mut().for_each(|it| change(it, key, with)),
        Value::Object(members) => members
            .iter_mut()
            .for_each(|(key, it)| change(it, key, with)),
        _ => {}
    }
}

/// Changes each string of the lines that are JSON.
fn changed(lines: &[u8], mut with: impl FnMut(&str, &mut String)) -> Vec<u8> {
    let mut all = Vec::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        match serde_json::from_slice::<Value>(line) {
            Ok(mut value) => {
                change(&mut value, "", &mut with);
                all.extend(value.to_string().into_bytes());
                all.push(b'\n');
            }
            Err(_) => all.extend_from_slice(line),
        }
    }
    all
}

fn redacted(lines: &[u8], redaction: Redaction) -> Vec<u8> {
    let mut bytes = lines.to_vec();
    redactor(redaction).redact(&mut bytes);
    assert_eq!(bytes.len(), lines.len());
    let ends = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(ends(&bytes), ends(lines));
    bytes
}

fn contains(bytes: &[u8], text: &str) -> bool {
    let found = bytes.windows(text.len()).any(|it| it == text.as_bytes());
    // As JSON writes it, in a string and in one in a string.
    let json = json!(text).to_string();
    let escaped = json.trim_matches('"');
    found
        || bytes
            .windows(escaped.len())
            .any(|it| it == escaped.as_bytes())
}

fn transcript(lines: &[u8]) -> Value {
    let source = RecordingSource::from_reader(Cursor::new(lines.to_vec()));
    let mut source = source.expect("lines");
    let mut recorded = RecordedTranscript::new(None);
    let mut framer = Framer::default();
    let fold = |framer: &mut Framer, recorded: &mut RecordedTranscript| {
        while let Some(frame) = framer.next_frame() {
            frame
                .items()
                .for_each(|item| recorded.apply(&item, Meta::default()));
        }
    };
    while let Some(piece) = source.next_piece().expect("lines") {
        if let Merged::Output(piece) = piece
            && let Piece::Bytes { bytes, .. } = piece.piece
        {
            framer.push(bytes);
        }
        fold(&mut framer, &mut recorded);
    }
    framer.finish();
    fold(&mut framer, &mut recorded);
    recorded
        .transcript_mut()
        .end(End::Recording, Meta::default());
    serde_json::from_str(&recorded.transcript().to_json()).expect("JSON")
}

#[test]
fn no_planted_secret_survives_in_any_field() {
    for (path, lines) in fixtures() {
        let mut number = 0;
        let planted = changed(&lines, |_, text| {
            let (around, secret) = PLANTED[number % PLANTED.len()];
            number += 1;
            *text = format!("{text} {}", around.replace("{}", secret));
        });
        for redaction in [Redaction::Secrets, Redaction::Content] {
            let clean = redacted(&planted, redaction);
            for (around, secret) in PLANTED {
                assert!(
                    !contains(&clean, secret),
                    "{secret} of {around} in {} ({redaction:?})",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn no_planted_secret_survives_in_a_transcript() {
    for (path, lines) in fixtures() {
        let mut number = path.to_string_lossy().len();
        // What the protocol needs stays, so that the lines still fold.
        let planted = changed(&lines, |key, text| {
            if CONTENT_KEYS.contains(&key) && text.len() > 1 {
                let (around, secret) = PLANTED[number % PLANTED.len()];
                number += 1;
                *text = format!("{text} {}", around.replace("{}", secret));
            }
        });
        let clean = redacted(&planted, Redaction::Secrets);
        let json = transcript(&clean).to_string();
        for (around, secret) in PLANTED {
            assert!(
                !contains(json.as_bytes(), secret),
                "{secret} of {around} in the transcript of {}",
                path.display()
            );
        }
    }
}

#[test]
fn secret_that_arrives_in_parts_is_removed() {
    let secret = "sk-ant-api03-Planted0123456789abcdef";
    let claude = |text: &str| {
        json!({"type": "stream_event", "event": {"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text}}, "session_id": "s", "uuid": text.len()})
    };
    let codex = |text: &str| {
        json!({"method": "item/agentMessage/delta",
            "params": {"threadId": "t", "turnId": "u", "itemId": "i", "delta": text}})
    };
    let acp = |text: &str| {
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}}})
    };
    let dialects: [&dyn Fn(&str) -> Value; 3] = [&claude, &codex, &acp];
    for line in dialects {
        for cut in 1..secret.len() {
            let (head, tail) = secret.split_at(cut);
            let parts = ["the key is ", head, tail, " as \"agreed\""];
            let lines: String = parts
                .iter()
                .map(|part| format!("{}\n", line(part)))
                .collect();
            let clean = String::from_utf8(redacted(lines.as_bytes(), Redaction::Secrets));
            let clean = clean.expect("UTF-8");
            assert!(
                !clean.contains("sk-ant") && !clean.contains("bcdef"),
                "{cut}: {clean}"
            );
            assert!(
                clean.contains("the key is ") && clean.contains("agreed"),
                "{clean}"
            );
        }
    }
}

/// The transcript without its texts.
fn shape(value: &Value, key: &str) -> Value {
    const KEPT: [&str; 12] = [
        "kind",
        "state",
        "type",
        "phase",
        "outcome",
        "subtype",
        "is_error",
        "dialect",
        "notice",
        "error",
        "priority",
        "session_id",
    ];
    match value {
        _ if matches!(key, "input" | "raw") && !value.is_null() => json!("present"),
        Value::String(_) if !KEPT.contains(&key) => json!(""),
        Value::Number(_) if matches!(key, "line" | "exit_code") => json!(0),
        Value::Array(all) => all.iter().map(|it| shape(it, key)).collect(),
        // The type of a sub-agent comes from the input of its tool.
        Value::Object(members) if key == "subagent" => {
            let shaped = members.iter().map(|(key, it)| match key.as_str() {
                "type" => (key.clone(), json!("")),
                _ => (key.clone(), shape(it, key)),
            });
            Value::Object(shaped.collect())
        }
        Value::Object(members) => {
            let shaped = members
                .iter()
                .map(|(key, it)| (key.clone(), shape(it, key)));
            Value::Object(shaped.collect())
        }
        other => other.clone(),
    }
}

#[test]
fn content_is_removed_and_the_transcript_keeps_its_shape() {
    let mut wrong = Vec::new();
    for (path, lines) in fixtures() {
        let clean = redacted(&lines, Redaction::Content);
        let (before, after) = (transcript(&lines), transcript(&clean));
        let (before, after) = (shape(&before, ""), shape(&after, ""));
        if before != after {
            wrong.push(format!(
                "{}: {}",
                path.display(),
                difference(&before, &after)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the first place where two values differ.
fn difference(one: &Value, other: &Value) -> String {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                match b.get(key) {
                    Some(other) if value != other => {
                        return format!(".{key}{}", difference(value, other));
                    }
                    None => return format!(".{key} is missing, of {a:?} in {b:?}"),
                    _ => {}
                }
            }
            format!(" has more: {b:?}")
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            let mut different = pairs.filter(|(_, (a, b))| a != b);
            different.next().map_or(String::new(), |(at, (a, b))| {
                format!("[{at}]{}", difference(a, b))
            })
        }
        _ => format!(": {one} is {other}"),
    }
}

#[test]
fn no_content_survives() {
    for (path, lines) in fixtures() {
        let planted = changed(&lines, |key, text| {
            if CONTENT_KEYS.contains(&key) {
                text.push_str(CONTENT);
            }
        });
        let clean = redacted(&planted, Redaction::Content);
        assert!(!contains(&clean, CONTENT), "{}", path.display());
    }
}

#[test]
fn text_of_a_terminal_keeps_its_control_sequences() {
    let mut bytes = b"\x1b[1mls\x1b[0m -l\r\nAPI_KEY=\xffsecret99 \x1b]0;title\x07\n".to_vec();
    redactor(Redaction::Secrets).redact(&mut bytes);
    assert!(bytes.starts_with(b"\x1b[1mls\x1b[0m -l\r\nAPI_KEY=*********"));
    redactor(Redaction::Content).redact(&mut bytes);
    assert!(bytes.starts_with(b"\x1b[1mxx\x1b[0m xx\r\nxxxxxxxx********* "));
    assert!(!contains(&bytes, "title"));
}

#[test]
fn bundle_is_read_as_a_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = "sk-ant-api03-Planted0123456789abcdef";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let lines = fs::read(root.join("tool_bash.jsonl")).expect("a recording");
    let expected = transcript(&lines);
    for is_journal in [false, true] {
        let mut streams = SessionStreams::default();
        if is_journal {
            let (offset, bytes) = (0, lines.clone().into());
            streams.push(StreamId::STDOUT, Piece::Bytes { offset, bytes }.into());
            let bytes = format!("token {secret}\n").into();
            streams.push(StreamId::STDERR, Piece::Bytes { offset: 7, bytes }.into());
        } else {
            streams = RecordingSource::open(&root.join("tool_bash.jsonl"))
                .and_then(RecordingSource::into_streams)
                .expect("lines");
        }
        let path = folder.path().join(format!("{is_journal}.tar.gz"));
        let bundle = Bundle::new(streams)
            .with_session(json!({"id": "s", "args": [format!("--token {secret}")]}))
            .with_log(format!("WARN the token {secret}\n"));
        let redactor = redactor(Redaction::Secrets);
        bundle.clone().create(&path, &redactor).expect("a bundle");
        let again = bundle
            .create(&path, &redactor)
            .map_err(|error| error.kind());
        assert_eq!(again, Err(std::io::ErrorKind::AlreadyExists));

        let mut entries = Vec::new();
        let file = GzDecoder::new(File::open(&path).expect("the bundle"));
        let mut archive = tar::Archive::new(file);
        for entry in archive.entries().expect("entries") {
            let mut entry = entry.expect("an entry");
            let name = entry.path().expect("a name").display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("its bytes");
            assert!(!contains(&bytes, secret), "{name}");
            if name == "transcript.json" {
                let json: Value = serde_json::from_slice(&bytes).expect("JSON");
                assert_eq!(json["entries"], expected["entries"]);
            }
            entries.push(name);
        }
        let session = if is_journal {
            "session.bjl"
        } else {
            "session.jsonl"
        };
        let names = ["bowline-bundle.json", session, "transcript.json", "log.txt"];
        assert_eq!(entries, names);

        let mut source = RecordingSource::open(&path).expect("a recording");
        let mut output = Vec::new();
        while let Some(piece) = source.next_piece().expect("a piece") {
            if let Merged::Output(piece) = piece
                && let Piece::Bytes { bytes, .. } = piece.piece
            {
                output.extend_from_slice(&bytes);
            }
        }
        assert_eq!(output, lines);
        // A bundle of a bundle is the same session.
        let source = RecordingSource::open(&path).expect("a recording");
        source.into_streams().expect("streams");
    }
}

#[test]
fn cut_bundle_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("whole.tar.gz");
    let streams = SessionStreams::default();
    let redactor = redactor(Redaction::Secrets);
    Bundle::new(streams)
        .create(&path, &redactor)
        .expect("a bundle");
    let whole = fs::read(&path).expect("the bundle");
    fs::write(&path, &whole[..whole.len() / 2]).expect("half of it");
    assert!(RecordingSource::open(&path).is_err());
}

proptest! {
    #[test]
    fn any_line_is_redacted_to_as_many_bytes(line in ".*", json in any::<bool>()) {
        let line = if json { json!({ "text": line, "input": { (line.as_str()): line } }).to_string() } else { line };
        for redaction in [Redaction::Secrets, Redaction::Content] {
            let mut bytes = line.clone().into_bytes();
            redactor(redaction).redact(&mut bytes);
            prop_assert_eq!(bytes.len(), line.len());
            if json {
                prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
            }
        }
    }
}

/// Standard error and terminals have lines that are no JSON.
#[test]
fn private_key_over_lines_of_text_is_removed() {
    let text = "before\r\n-----BEGIN RSA PRIVATE KEY-----\r\nProc-Type: 4,ENCRYPTED\r\n\r\nUGxhbnRlZEtleQ==\r\n12345678\r\n-----END RSA PRIVATE KEY-----\r\nafter it\r\n-----BEGIN PRIVATE KEY-----\nUGxhbnRlZEtleQ==\n{\"type\":\"result\"}\nUGxh";
    let mut bytes = text.as_bytes().to_vec();
    redactor(Redaction::Secrets).redact(&mut bytes);
    let redacted = String::from_utf8(bytes).expect("text");
    let lengths = |text: &str| text.lines().map(str::len).collect::<Vec<_>>();
    assert_eq!(lengths(&redacted), lengths(text));
    assert!(
        !redacted.contains("UGxhbnRl") && !redacted.contains("1234"),
        "{redacted}"
    );
    assert!(redacted.contains("\nafter it\r\n"), "{redacted}");
    assert!(
        redacted.ends_with("\n{\"type\":\"result\"}\nUGxh"),
        "{redacted}"
    );
}
