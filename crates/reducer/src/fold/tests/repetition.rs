//! Streams that are repeated from their beginning.

use bowline_jsonl::{DEFAULT_MAX_LINE, Framer};
use bytes::Bytes;
use serde_json::Value;

use crate::host::Meta;
use crate::segment::Window;
use crate::test_util::{TestSession, text, without_bytes};
use crate::transcript::Transcript;

/// The bytes of a stream with a draft, notices, an error, and lines with and without a uuid.
fn stream() -> String {
    let mut session = TestSession::new();
    session.raw("{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\"}}\n");
    session
        .line(r#""type":"system","subtype":"init","model":"m","cwd":"/p""#)
        .message_start("m1")
        .text_block("m1", 0, "one \\ud83d")
        .text_delta("m1", 0, "\\ude00 é");
    for word in ["a", "b", "b"] {
        session.raw(&format!("{{\"type\":\"stream_event\",\"event\":{{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{word}\"}}}},\"session_id\":\"s\",\"uuid\":\"\"}}\n"));
    }
    session
        .block_stop("m1", 0)
        .stream_event("m1", r#"{"type":"message_stop"}"#)
        .tool_use("null", "t1", "Bash")
        .tool_result("t1", "done", false, "")
        .raw("{\"bad\":}\n")
        .line(r#""type":"system","subtype":"informational","content":"hm""#);
    for _ in 0..2 {
        session.raw("{\"type\":\"odd\",\"text\":\"twice\",\"session_id\":\"s\"}\n");
    }
    session
        .message_start("m2")
        .text_block("m2", 0, "two")
        .line(r#""type":"result","is_error":false,"result":"ok","total_cost_usd":0.5"#);
    String::from_utf8(session.log().to_vec()).unwrap()
}

fn apply(transcript: &mut Transcript, framer: &mut Framer, bytes: &[u8]) {
    framer.push(Bytes::copy_from_slice(bytes));
    drain(transcript, framer);
}

fn drain(transcript: &mut Transcript, framer: &mut Framer) {
    while let Some(frame) = framer.next_frame() {
        let items = frame.items();
        items.for_each(|item| transcript.apply(&item, Meta { at_ms: 0 }));
    }
}

/// The transcript without what tells a repeated line from the first: the statistics count it, and
/// it is elsewhere in the stream.
fn json(transcript: &Transcript) -> Value {
    let mut json = serde_json::to_value(transcript).unwrap();
    json.as_object_mut().unwrap().remove("stats");
    without_bytes(json)
}

fn fold<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Value {
    let (mut transcript, mut framer) = (Transcript::new(), Framer::default());
    for part in parts {
        apply(&mut transcript, &mut framer, part);
    }
    json(&transcript)
}

#[test]
fn stream_repeated_at_any_byte_changes_nothing() {
    let stream = stream();
    let stream = stream.as_bytes();
    let expected = fold([stream]);
    for cut in 0..=stream.len() {
        let part = stream.get(..cut).unwrap();
        assert_eq!(fold([part, stream]), expected, "cut at {cut}");
        assert_eq!(fold([stream, part, stream]), expected, "cut at {cut}");
    }
}

#[test]
fn unnamed_beginning_may_come_twice_after_a_cut() {
    let stream = stream();
    let stream = stream.as_bytes();
    let expected = fold([stream]);
    let mut ends = (0..stream.len()).filter(|at| stream[*at] == b'\n');
    let (unnamed, named) = (ends.next().unwrap(), ends.next().unwrap());
    for cut in named + 1..=stream.len() {
        for again in [unnamed, unnamed + 1] {
            let found = fold([&stream[..cut], &stream[..again], stream]);
            assert_eq!(found, expected, "cut at {cut} and {again}");
        }
    }
}

#[test]
fn reader_that_begins_again_changes_nothing() {
    let stream = stream();
    let stream = stream.as_bytes();
    let expected = fold([stream]);
    for cut in 0..=stream.len() {
        let (mut transcript, mut framer) = (Transcript::new(), Framer::default());
        apply(&mut transcript, &mut framer, stream.get(..cut).unwrap());
        framer.finish();
        drain(&mut transcript, &mut framer);
        let mut again = Framer::at(DEFAULT_MAX_LINE, transcript.applied(), 1);
        apply(&mut transcript, &mut again, stream);
        assert_eq!(json(&transcript), expected, "cut at {cut}");
    }
}

#[test]
fn lines_before_the_first_uuid_are_repeated_with_it() {
    let banner = "Welcome\n{\"type\":\"odd\",\"text\":\"hm\",\"session_id\":\"s\"}\n";
    let rest = stream();
    let stream = [banner, &rest].concat();
    let expected = fold([stream.as_bytes()]);
    let known = banner.len() + rest.find("init").unwrap() + 80;
    let ends = stream.match_indices('\n').map(|(at, _)| at + 1);
    for cut in ends.filter(|cut| *cut > known) {
        let part = &stream.as_bytes()[..cut];
        assert_eq!(fold([part, stream.as_bytes()]), expected, "cut at {cut}");
    }
}

#[test]
fn long_stream_is_repeated_beyond_the_compared_lines() {
    let mut session = TestSession::new();
    session
        .line(r#""type":"system","subtype":"init""#)
        .message_start("m")
        .text_block("m", 0, "");
    for number in 0..3_000 {
        session.text_delta("m", 0, &format!("{number} "));
    }
    let stream = session.log().to_vec();
    let expected = fold([stream.as_slice()]);
    for cut in [100, stream.len() / 2, stream.len() - 5, stream.len()] {
        let part = &stream[..cut];
        assert_eq!(fold([part, &stream]), expected, "cut at {cut}");
    }
}

#[test]
fn line_without_uuid_is_never_a_duplicate() {
    for uuid in ["", r#","uuid":"""#] {
        let mut session = TestSession::new();
        session.line(r#""type":"system","subtype":"init""#);
        for _ in 0..3 {
            for line in [
                r#""type":"assistant","message":{"id":"m","content":[{"type":"text","text":"x"}]}"#,
                r#""type":"user","message":{"content":"go"}"#,
                r#""type":"system","subtype":"informational","content":"hm""#,
                r#""type":"result","is_error":false,"result":"ok""#,
            ] {
                session.raw(&format!("{{{line},\"session_id\":\"s\"{uuid}}}\n"));
            }
        }
        let json = session.json();
        assert_eq!(json["stats"]["duplicates"], 0);
        // One message of three blocks, and three of each other kind.
        assert_eq!(json["entries"].as_array().unwrap().len(), 1 + 3 * 3);
        assert_eq!(json["entries"][0]["blocks"].as_array().unwrap().len(), 3);
    }
}

#[test]
fn first_line_that_comes_alone_hides_no_other() {
    let init = "{\"type\":\"system\",\"subtype\":\"init\",\"uuid\":\"1\",\"session_id\":\"s\"}\n";
    let notice =
        |text: &str| format!("{{\"type\":\"odd\",\"text\":\"{text}\",\"session_id\":\"s\"}}\n");
    let mut session = TestSession::new();
    session
        .raw(init)
        .raw(&notice("one"))
        .raw(&notice("two"))
        .raw(init)
        .raw(&notice("six"))
        .raw(&notice("two"));
    assert_eq!(
        session.entry_lines(),
        ["one", "two", "six", "two"].map(|text| format!("notice odd: {text}"))
    );
}

#[test]
fn late_event_leaves_finished_message_finished() {
    let mut session = TestSession::new();
    session
        .message_start("m1")
        .text_block("m1", 0, "one")
        .block_stop("m1", 0)
        .stream_event("m1", r#"{"type":"message_stop"}"#);
    let before = session.entry_lines();
    session.text_delta("m1", 0, "one");
    session.message_start("m1").text_block("m1", 0, "one");
    assert_eq!(session.entry_lines(), before);
    session.message_start("m2").text_block("m2", 0, "two");
    session.text_delta("m1", 0, "one");
    assert_eq!(
        session.entry_lines(),
        ["m1 complete: one", "m2 streaming: two"]
    );
}

#[test]
fn evicted_part_of_a_repeated_stream_reloads() {
    let stream = stream();
    for cut in (0..stream.len())
        .filter(|cut| stream.is_char_boundary(*cut))
        .step_by(7)
    {
        let mut session = TestSession::with_window(Window::of_entries(2));
        session.raw(stream.get(..cut).unwrap()).raw(&stream);
        for n in 0..9 {
            session.raw(&format!(
                "{{\"type\":\"odd\",\"text\":\"{n}\",\"session_id\":\"s\"}}\n"
            ));
        }
        session.json();
        assert!(session.page_back() > 0);
    }
}

#[test]
fn second_run_after_a_cut_line_is_kept() {
    let mut session = TestSession::new();
    session
        .line(r#""type":"system","subtype":"init""#)
        .raw("{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"con")
        .assistant_block("m2", &text("two"));
    let lines = session.entry_lines();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("error parse: expected"), "{lines:?}");
    assert_eq!(lines[1], "m2 complete: two");
}
