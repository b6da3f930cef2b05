//! Recordings of Qwen Code 0.24.4, which finishes each block of a message under an id of its own.

use bowline_jsonl::{Framer, RawJson};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::dialect::{DialectName, recognize};
use crate::host::{End, Meta};
use crate::test_util::entry_lines;
use crate::transcript::Transcript;

const AT: Meta = Meta { at_ms: 0 };

macro_rules! recording {
    ($name:literal) => {
        include_bytes!(concat!(
            "../../../../../tests/fixtures/agents/qwen/stream-json.",
            $name,
            ".jsonl"
        ))
    };
}

const PLAIN: &[u8] = recording!("plain");
const TOOL: &[u8] = recording!("tool");
const EDIT: &[u8] = recording!("edit");

fn apply(transcript: &mut Transcript, stream: &'static [u8], from: usize, to: usize) {
    let mut framer = Framer::at(usize::MAX >> 1, from as u64, 1);
    framer.push(Bytes::from_static(&stream[from..to]));
    framer.finish();
    while let Some(frame) = framer.next_frame() {
        frame.items().for_each(|item| transcript.apply(&item, AT));
    }
}

fn fold(stream: &'static [u8]) -> Value {
    let mut transcript = Transcript::new();
    apply(&mut transcript, stream, 0, stream.len());
    transcript.end(End::Recording, AT);
    assert_eq!(transcript.dialect(), DialectName::Qwen);
    serde_json::to_value(&transcript).unwrap()
}

#[test]
fn each_block_stands_once() {
    let expected = [
        (
            PLAIN,
            vec![
                "75819064-e5e4-44e4-bc8c-cf97d2c6c067 complete: (Thinking about it. ) | Hello from the fake model API.",
                "result completed: Hello from the fake model API.",
            ],
        ),
        (
            TOOL,
            vec![
                "abfa7675-f84f-4a24-8c62-406d63897708 complete: (Thinking about it. ) | I will run a command. | @call_1_0",
                "3bb28363-149a-45a0-b9db-3f3cb44a2422 complete: Hello from the tool.",
                "result completed: Hello from the tool.",
            ],
        ),
        (
            EDIT,
            vec![
                "fbd9103e-cd02-4774-9913-c4af122dc4a8 complete: I will write a file. | @call_1_0",
                "e4476dc3-f9c8-4ea4-86bc-98e28e74f9aa complete: Hello from the tool.",
                "result completed: Hello from the tool.",
            ],
        ),
    ];
    for (stream, expected) in expected {
        let json = fold(stream);
        assert_eq!(entry_lines(&json), expected);
        assert_eq!(json["stats"]["unknown"], json!({}));
    }
}

#[test]
fn calls_and_session_have_their_neutral_fields() {
    let json = fold(EDIT);
    let call = &json["tool_calls"]["call_1_0"];
    assert_eq!(call["kind"], "edit");
    assert_eq!(
        call["content"],
        json!([{"type": "diff", "path": "/home/dev/project/hello.txt", "old": null, "new": "hello\nworld\n", "patch": null}])
    );
    assert_eq!(json["dialect"], "qwen");
    assert_eq!(json["agent"], json!({"name": "qwen", "version": "0.24.4"}));
    assert_eq!(json["permission_mode"], "yolo");
    assert_eq!(json["context"], json!({"used": 110, "size": null}));
    let command = &fold(TOOL)["tool_calls"]["call_1_0"];
    assert_eq!(command["kind"], "execute");
    assert_eq!(command["content"][0]["command"], "echo out-line; pwd");
}

#[test]
fn cut_and_overlapping_replay_give_same_transcript() {
    for stream in [PLAIN, TOOL, EDIT] {
        let whole = fold(stream);
        let starts: Vec<_> = (0..stream.len())
            .filter(|&at| at == 0 || stream[at - 1] == b'\n')
            .collect();
        for cut in 0..stream.len() {
            let known = starts.partition_point(|&start| start <= cut);
            for from in [starts[cut % known], starts[known - 1]] {
                let mut transcript = Transcript::new();
                apply(&mut transcript, stream, 0, cut);
                apply(&mut transcript, stream, from, stream.len());
                transcript.end(End::Recording, AT);
                let again = serde_json::to_value(&transcript).unwrap();
                assert_eq!(again, whole, "cut at {cut}, from {from}");
            }
        }
    }
}

#[test]
fn recording_is_recognized() {
    for stream in [PLAIN, TOOL, EDIT] {
        let lines = std::str::from_utf8(stream).unwrap().lines();
        let found = recognize(lines.filter_map(RawJson::parse));
        assert_eq!(found, Some(DialectName::Qwen));
    }
}
