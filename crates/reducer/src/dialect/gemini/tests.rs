//! Recordings of the real program, version 0.61.0.

use bowline_jsonl::Framer;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::dialect::{DialectName, recognize};
use crate::host::{End, Meta};
use crate::segment::Window;
use crate::test_util::entry_lines;
use crate::transcript::Transcript;

const AT: Meta = Meta { at_ms: 0 };

macro_rules! recording {
    ($name:literal) => {
        include_bytes!(concat!(
            "../../../../../tests/fixtures/agents/gemini/stream-json.",
            $name,
            ".jsonl"
        ))
    };
}

const RECORDINGS: [&[u8]; 4] = [
    recording!("plain"),
    recording!("tool"),
    recording!("resume"),
    recording!("err"),
];

fn fold_from(transcript: &mut Transcript, stream: &'static [u8], from: usize, to: usize) {
    let mut framer = Framer::at(usize::MAX >> 1, from as u64, 1);
    framer.push(Bytes::from_static(&stream[from..to]));
    framer.finish();
    while let Some(frame) = framer.next_frame() {
        frame.items().for_each(|item| transcript.apply(&item, AT));
    }
}

fn fold(stream: &'static [u8]) -> Transcript {
    let mut transcript = Transcript::with_dialect(DialectName::GeminiStreamJson);
    fold_from(&mut transcript, stream, 0, stream.len());
    transcript.end(End::Recording, AT);
    transcript
}

fn json(transcript: &Transcript) -> Value {
    serde_json::to_value(transcript).unwrap()
}

#[test]
fn each_text_call_and_end_stands_once() {
    let expected = [
        vec![
            "user: SCENARIO:plain",
            " complete: Hello from the fake model API.",
            "result completed: -",
        ],
        vec![
            "user: SCENARIO:tool",
            " complete: I will run a command. | @run_shell_command__run_shell_command_1795411479220_0",
            " complete: Hello from the tool.",
            "result completed: -",
        ],
        vec![
            "user: SCENARIO:plain",
            " complete: I will run a command. | @run_shell_command__run_shell_command_1795413065046_0",
            " complete: Hello from the tool.",
            "result completed: -",
        ],
        vec![
            "user: SCENARIO:err",
            "result failed: [API Error: {\"error\":{\"code\":400,\"message\":\"scripted failure\",\"status\":\"INVALID_ARGUMENT\"}}]",
        ],
    ];
    for (stream, expected) in RECORDINGS.into_iter().zip(expected) {
        let json = json(&fold(stream));
        assert_eq!(entry_lines(&json), expected);
        assert_eq!(json["stats"]["unknown"], json!({}));
        assert_eq!(json["stats"]["parse_errors"], 0);
    }
}

#[test]
fn call_has_its_input_result_and_times() {
    let transcript = fold(RECORDINGS[1]);
    let call = transcript.main().tool_calls().iter().next().unwrap();
    let json = serde_json::to_value(call).unwrap();
    assert_eq!(json["input"]["command"], "echo out-line; pwd");
    assert_eq!(json["state"], "succeeded");
    assert_eq!(json["result"]["text"], "out-line\n/home/dev/project");
    assert_eq!(call.started_ms(), Some(1_795_411_479_239));
    assert_eq!(call.ended_ms(), Some(1_795_411_479_309));
    let bytes = call.bytes();
    let lines = &RECORDINGS[1][bytes.start as usize..bytes.end as usize];
    assert!(lines.starts_with(b"{\"type\":\"tool_use\"") && lines.ends_with(b"project\"}"));
}

#[test]
fn failed_call_keeps_its_error() {
    let transcript = fold(RECORDINGS[2]);
    let call = transcript.main().tool_calls().iter().next().unwrap();
    let json = serde_json::to_value(call).unwrap();
    assert_eq!(json["state"], "failed");
    let text = json["result"]["text"].as_str().unwrap();
    assert!(
        text.starts_with("Tool \"run_shell_command\" not found."),
        "{text}"
    );
}

#[test]
fn session_usage_and_turn_are_known() {
    let transcript = fold(RECORDINGS[0]);
    let session = transcript.session();
    assert_eq!(session.id(), Some("167099c4-c7d5-421e-8dc3-3a242969fa2e"));
    assert_eq!(session.model(), Some("gemini-2.5-flash"));
    assert_eq!(session.agent_name(), Some("gemini"));
    let (model, used) = transcript.usage().models().next().unwrap();
    assert_eq!(
        (model, used.input_tokens, used.output_tokens),
        ("rig", 100, 10)
    );
    assert!(
        transcript
            .entries()
            .all(|entry| entry.turn().as_deref() == Some("1"))
    );
    let ends: Vec<_> = transcript
        .entries()
        .map(|entry| entry.bytes().end)
        .collect();
    assert_eq!(ends.last(), Some(&(RECORDINGS[0].len() as u64 - 1)));
}

#[test]
fn cut_at_any_byte_and_overlapping_replay_give_same_transcript() {
    for stream in RECORDINGS {
        let whole = json(&fold(stream));
        let starts: Vec<_> = (0..stream.len())
            .filter(|&at| at == 0 || stream[at - 1] == b'\n')
            .collect();
        for cut in 0..stream.len() {
            for &from in starts.iter().filter(|&&start| start <= cut) {
                let mut transcript = Transcript::with_dialect(DialectName::GeminiStreamJson);
                fold_from(&mut transcript, stream, 0, cut);
                fold_from(&mut transcript, stream, from, stream.len());
                transcript.end(End::Recording, AT);
                assert_eq!(json(&transcript), whole, "cut at {cut}, from {from}");
            }
        }
    }
}

#[test]
fn windowed_transcript_reads_back_what_it_evicted() {
    let stream = RECORDINGS[1];
    let name = DialectName::GeminiStreamJson;
    let whole = fold(stream);
    let mut transcript = Transcript::with_dialect_and_window(name, Window::of_entries(1));
    fold_from(&mut transcript, stream, 0, stream.len());
    let evicted: Vec<_> = transcript.evicted().collect();
    assert!(!evicted.is_empty());
    for evicted in evicted {
        let mut page = transcript.page(evicted.first).unwrap();
        while let Some((_, range)) = page.next_range() {
            let mut framer = Framer::at(usize::MAX >> 1, range.start, 1);
            let lines = range.start as usize..range.end as usize;
            framer.push(Bytes::from_static(&stream[lines]));
            while let Some(frame) = framer.next_frame() {
                frame.items().for_each(|item| page.apply(&item, AT));
            }
        }
        for entry in page.entries() {
            let expected = whole.entry_by_id(entry.id()).unwrap();
            assert_eq!(
                serde_json::to_value(entry).unwrap(),
                serde_json::to_value(expected).unwrap()
            );
        }
    }
}

#[test]
fn recording_is_recognized() {
    for stream in RECORDINGS {
        let lines = std::str::from_utf8(stream).unwrap().lines();
        let found = recognize(lines.filter_map(bowline_jsonl::RawJson::parse));
        assert_eq!(found, Some(DialectName::GeminiStreamJson));
    }
}
