//! Sessions of an agent whose protocol makes sense only beside its input: every reader sees the same.

use std::collections::BTreeMap;

use bowline_jsonl::{Framer, RawJson};
use bowline_reducer::dialect::recognize;
use bowline_reducer::{Meta, Schema, Transcript};
use bowline_runner::wire::{ARRIVALS, Lease, Message, StreamId};
use bowline_transport::Piece;
use bowline_transport::journal::{
    Arrival, Arrived, Folder, InputLines, JournalReader, Merge, Merged,
};
use serde_json::{Value, json};

use crate::support::{Frames, TestRunner};

/// A recorded conversation: whether the host wrote a line, and the line.
fn trace(name: &str) -> Vec<(bool, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/agents");
    let text = std::fs::read_to_string(format!("{folder}/{name}.trace.jsonl")).unwrap();
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["dir"] == "host>", line["msg"].to_string())
    });
    lines.collect()
}

/// A program that writes the agent's lines, each after the host's lines before it.
fn agent(trace: &[(bool, String)]) -> String {
    let steps = trace.iter().map(|(is_host, line)| match is_host {
        true => "read -r x\n".to_owned(),
        false => format!("cat <<'END'\n{line}\nEND\n"),
    });
    steps.chain(["read -r x\n".to_owned()]).collect()
}

/// A host's transcript.
struct Fold {
    transcript: Transcript,
    framer: Framer,
    input: InputLines,
    has_dialect: bool,
    /// Offsets of the next output and input.
    next: (u64, u64),
}

impl Fold {
    fn new() -> Self {
        Self {
            transcript: Transcript::new(),
            framer: Framer::default(),
            input: InputLines::default(),
            has_dialect: false,
            next: (0, 0),
        }
    }

    fn recognize(transcript: &mut Transcript, has_dialect: &mut bool, line: RawJson<'_>) {
        if !*has_dialect && let Some(dialect) = recognize([line]) {
            transcript.set_dialect(dialect);
            *has_dialect = true;
        }
    }

    fn add(&mut self, is_input: bool, Arrived { arrival, piece }: &Arrived) {
        let at = Meta {
            at_ms: arrival.at_ms.expect("every piece has its time"),
        };
        let Piece::Bytes { offset, bytes } = piece else {
            panic!("{piece:?}");
        };
        let end = offset + bytes.len() as u64;
        if is_input {
            assert_eq!(*offset, self.next.1);
            self.next.1 = end;
            let (transcript, has_dialect) = (&mut self.transcript, &mut self.has_dialect);
            return self.input.push(bytes, |line| {
                Self::recognize(transcript, has_dialect, RawJson::parse(line).unwrap());
                transcript.apply_input(line, at);
            });
        }
        assert_eq!(*offset, self.next.0);
        self.next.0 = end;
        self.framer.push(bytes.clone());
        while let Some(frame) = self.framer.next_frame() {
            for item in frame.items() {
                let line = item.event.as_ref().unwrap().raw;
                Self::recognize(&mut self.transcript, &mut self.has_dialect, line);
                self.transcript.apply(&item, at);
            }
        }
    }

    fn json(&mut self) -> Value {
        let chunks: Vec<_> = self
            .transcript
            .snapshot()
            .json_chunks(Schema::Two)
            .flatten()
            .collect();
        serde_json::from_slice(&chunks).unwrap()
    }

    /// Attaches as a host that folds, receives until both streams reach these offsets, and cuts the link.
    async fn follow(&mut self, runner: &TestRunner, id: &str, until: (u64, u64)) {
        let mut frames = Frames::open(runner, id, runner.token()).await.unwrap();
        let cursors = [
            (StreamId::STDOUT, self.next.0),
            (StreamId::INPUT, self.next.1),
        ];
        let features = vec![ARRIVALS.to_owned()];
        let joined = frames.join_at(id, Lease::Read, cursors.into(), features);
        joined.await.unwrap();
        let mut arrivals = BTreeMap::new();
        while self.next.0 < until.0 || self.next.1 < until.1 {
            match frames.receive().await.expect("the session goes on") {
                Message::Arrival {
                    stream,
                    at_ms,
                    output,
                    ..
                } => {
                    arrivals.insert(stream, Arrival { at_ms, output });
                }
                Message::Data {
                    stream,
                    offset,
                    bytes,
                    ..
                } => {
                    let piece = Piece::Bytes { offset, bytes };
                    let arrival = arrivals[&stream];
                    self.add(stream == StreamId::INPUT, &Arrived { arrival, piece });
                }
                _ => {}
            }
        }
    }

    /// Folds the journal of a session, as `replay` does.
    fn of_journal(runner: &TestRunner, id: &str) -> Self {
        let folder = Folder::at(runner.folder(id).journal());
        let mut reader = JournalReader::open(folder).unwrap();
        let (mut fold, mut merge, mut input) = (Self::new(), Merge::default(), 0);
        loop {
            if merge.needs_input()
                && let Some(piece) = reader.read_arrived(StreamId::INPUT, input, 100).unwrap()
            {
                input = piece.end();
                merge.push_input(piece);
            }
            if merge.needs_output() {
                let at = merge.output_end();
                let piece = reader.read_arrived(StreamId::STDOUT, at, 1_000).unwrap();
                piece.into_iter().for_each(|piece| merge.push_output(piece));
            }
            match merge.next_piece() {
                Some(Merged::Output(piece)) => fold.add(false, &piece),
                Some(Merged::Input(piece)) => fold.add(true, &piece),
                None => return fold,
            }
        }
    }
}

#[tokio::test]
async fn second_host_rest_and_journal_see_the_same() {
    for name in [
        "codex/app-server.approve",
        "codex/app-server.two",
        "gemini/acp.tool",
    ] {
        every_reader_sees_the_same(name).await;
    }
}

async fn every_reader_sees_the_same(name: &str) {
    let trace = trace(name);
    let runner = TestRunner::start().await;
    let script = agent(&trace);
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", script]});
    let id = runner.create(&spec).await;
    let (mut writer, attached) = Frames::attach(&runner, &id, Lease::Write).await;
    assert!(attached.streams.contains_key(&StreamId::INPUT));
    let mut host = Fold::new();
    let (mut written, mut received, mut expected) = (0, 0, 0);
    for (number, (is_host, line)) in trace.iter().enumerate() {
        if !is_host {
            expected += line.len() as u64 + 1;
            continue;
        }
        // The host answers what it has received.
        while received < expected {
            let message = writer.receive().await.expect("the session goes on");
            if let Message::Data { bytes, .. } = message {
                received += bytes.len() as u64;
            }
        }
        let bytes = format!("{line}\n").into_bytes();
        let offset = written;
        written += bytes.len() as u64;
        let bytes = bytes.into();
        writer.send(Message::Input { offset, bytes }).await;
        // The second host comes and goes, within lines and between them.
        let to = received
            .saturating_sub(number as u64 * 7 % 50)
            .max(host.next.0);
        host.follow(&runner, &id, (to, 0)).await;
    }
    host.follow(&runner, &id, (expected, written)).await;
    let seen = host.json();
    assert_ne!(seen["dialect"], "claude", "{name}");
    assert!(seen["entries"].as_array().unwrap().len() > 1, "{seen}");
    let path = format!("/api/sessions/{id}/transcript?schema=2");
    let rest = runner.request("GET", &path, None).await.json();
    assert_eq!(rest, seen, "{name}: REST");
    let replayed = Fold::of_journal(&runner, &id).json();
    assert_eq!(replayed, seen, "{name}: journal");
    let log = format!("/api/sessions/{id}/log?stream=input");
    let input = runner.request("GET", &log, None).await;
    let host_lines = trace.iter().filter(|(is_host, _)| *is_host);
    let host_lines: String = host_lines.map(|(_, line)| format!("{line}\n")).collect();
    assert_eq!(input.text(), host_lines);
    let arrivals = format!("/api/sessions/{id}/arrivals?stream=input");
    let arrived = runner.request("GET", &arrivals, None).await.json();
    assert_eq!(arrived["next"], host_lines.len());
    let parts = arrived["arrivals"].as_array().unwrap();
    assert_eq!(parts[0]["offset"], 0);
    let places = parts.iter().map(|it| it["output"].as_u64().unwrap());
    assert!(places.clone().is_sorted() && places.max() <= Some(expected));
    assert!(parts.iter().all(|it| it["at_ms"].is_u64()));
    // From the journal, once the session is gone.
    let delete = format!("/api/sessions/{id}");
    assert_eq!(runner.request("DELETE", &delete, None).await.status, 200);
    let ended = runner.request("GET", &path, None).await.json();
    assert_eq!(ended["dialect"], seen["dialect"]);
    // The end may close what was open, but moves nothing.
    let places = |it: &Value| {
        let entries = it["entries"].as_array().unwrap().iter();
        let place = |entry: &Value| json!([entry["kind"], entry["at_ms"], entry["bytes"]]);
        entries.map(place).collect::<Vec<_>>()
    };
    let (before, after) = (places(&seen), places(&ended));
    assert_eq!(
        after.get(..before.len()),
        Some(&before[..]),
        "{name}: ended"
    );
    assert_eq!(runner.request("GET", &log, None).await.text(), host_lines);
    let ended = runner.request("GET", &arrivals, None).await.json();
    assert_eq!(ended["next"], arrived["next"]);
    assert_eq!(ended["arrivals"][0], arrived["arrivals"][0]);
}
