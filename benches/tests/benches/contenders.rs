//! Every contender decodes every corpus to the same values.

use std::time::Duration;

use bowline_benches::contenders::{Contender, Slice};
use bowline_benches::corpus::{Corpus, Source};
use bowline_benches::job::{Ends, EveryByte};
use bowline_benches::peers::{Mismatch, Plan, Row, Simdjson, check, fit, measure, slices};
use bytes::Bytes;

const SIZE: usize = 1 << 20;

fn slice(text: &'static str) -> Slice {
    Slice::new(Bytes::from_static(text.as_bytes()))
}

#[test]
fn contenders_decode_equal_values() {
    for corpus in Corpus::ALL {
        let bytes = corpus.generate(SIZE).unwrap();
        let (bytes, unfit) = fit(&bytes);
        if !corpus.is_recorded() {
            assert_eq!(unfit, 0, "{corpus:?}");
        }
        for mut slice in slices(bytes) {
            check(&mut slice).unwrap_or_else(|error| panic!("{corpus:?}: {error}"));
        }
    }
}

#[test]
fn nearly_all_recorded_lines_are_accepted() {
    let bytes = Corpus::Realloop.generate(6 << 20).unwrap();
    let (kept, unfit) = fit(&bytes);
    let lines = kept.iter().filter(|&&byte| byte == b'\n').count();
    assert!(unfit * 100 < lines, "{unfit} of {lines} left out");
}

#[test]
fn lone_surrogate_is_skipped_and_counted() {
    let lines =
        "{\"type\":\"user\",\"uuid\":\"\\ud83d\",\"message\":{}}\n{\"type\":\"keep_alive\"}\n";
    let (kept, unfit) = fit(lines.as_bytes());
    assert_eq!((&kept[..], unfit), (&b"{\"type\":\"keep_alive\"}\n"[..], 1));
}

/// One line for each member of the job: changing it changes the hash of every contender.
#[test]
fn every_member_changes_every_hash() {
    const LINES: [(&str, &str); 15] = [
        (
            r#"{"type":"system","uuid":"a"}"#,
            r#"{"type":"system","uuid":"b"}"#,
        ),
        (
            r#"{"type":"system","session_id":"a"}"#,
            r#"{"type":"system","session_id":"b"}"#,
        ),
        (
            r#"{"type":"user","parent_tool_use_id":"a","message":{}}"#,
            r#"{"type":"user","parent_tool_use_id":"b","message":{}}"#,
        ),
        (
            r#"{"type":"system","subtype":"a"}"#,
            r#"{"type":"system","subtype":"b"}"#,
        ),
        (
            r#"{"type":"result","is_error":true}"#,
            r#"{"type":"result","is_error":false}"#,
        ),
        (
            r#"{"total_cost_usd":0.1,"type":"result"}"#,
            r#"{"total_cost_usd":0.2,"type":"result"}"#,
        ),
        (
            r#"{"num_turns":1,"type":"result"}"#,
            r#"{"num_turns":2,"type":"result"}"#,
        ),
        (
            r#"{"result":"a\n","type":"result"}"#,
            r#"{"result":"a\t","type":"result"}"#,
        ),
        (
            r#"{"type":"assistant","message":{"id":"a","model":"m"}}"#,
            r#"{"type":"assistant","message":{"id":"a","model":"n"}}"#,
        ),
        (
            r#"{"type":"assistant","message":{"usage":{"output_tokens":1}}}"#,
            r#"{"type":"assistant","message":{"usage":{"output_tokens":2}}}"#,
        ),
        (
            r#"{"type":"user","message":{"content":"a"}}"#,
            r#"{"type":"user","message":{"content":"b"}}"#,
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"a"}]}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"b"}]}]}}"#,
        ),
        (
            r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"a"}}}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"b"}}}"#,
        ),
        (
            r#"{"type":"stream_event","event":{"type":"content_block_stop","index":0}}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_stop","index":1}}"#,
        ),
        (
            r#"{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"a"},"usage":{}}}"#,
            r#"{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"b"},"usage":{}}}"#,
        ),
    ];
    for (one, other) in LINES {
        for contender in Contender::ALL {
            let [one, other] = [one, other].map(|line| {
                let mut slice = Slice::new(Bytes::from(format!("{line}\n")));
                contender.prepare(&mut slice);
                contender.run_decoded::<EveryByte>(&mut slice).unwrap()
            });
            assert_ne!(one.hash, other.hash, "{}: {LINES:?}", contender.name());
        }
    }
}

#[test]
fn tool_inputs_are_hashed_as_raw_values() {
    let line = |input: &str| {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\",\"input\":{input}}}]}}}}\n"
        )
    };
    for contender in Contender::ALL {
        let [one, other] = ["{}", "{ }"].map(|input| {
            let mut slice = Slice::new(Bytes::from(line(input)));
            contender.prepare(&mut slice);
            contender.run::<Ends>(&mut slice).unwrap().raws
        });
        assert_eq!(one != other, contender.has_raws(), "{}", contender.name());
    }
}

#[test]
fn refused_line_names_contender() {
    let Err(Mismatch::Refused(contender, refused)) = check(&mut slice("{\"type\":\"user\"\n"))
    else {
        panic!("a broken line was taken");
    };
    assert_eq!((contender, refused.line), (Contender::SerdeJson, 1));
}

#[test]
fn slices_have_whole_lines() {
    let bytes = Corpus::Partial.generate(9 << 20).unwrap();
    let slices = slices(bytes.clone());
    assert!(slices.len() >= 3);
    for slice in &slices {
        assert!(slice.bytes().ends_with(b"\n") && slice.bytes().len() <= 4 << 20);
    }
    let joined: Vec<u8> = slices.iter().flat_map(|it| it.bytes().to_vec()).collect();
    assert!(joined == bytes);
}

#[test]
fn missing_compiler_names_remedy() {
    let absent = Simdjson::compile("no-such-compiler").unwrap_err();
    let text = absent.to_string();
    assert!(text.contains("no-such-compiler"), "{text}");
    assert!(text.contains("install g++ and libsimdjson-dev"), "{text}");
}

/// The library is not installed everywhere; then there is nothing to compare.
#[test]
fn simdjson_decodes_equal_values() {
    let Ok(simdjson) = Simdjson::compile("g++") else {
        return;
    };
    for corpus in Corpus::ALL {
        let source = Source::Corpus(corpus, 1 << 20);
        let base = Row {
            corpus: corpus.name().into(),
            contender: "serde_json",
            mb_s: 1.0,
            ns_per_event: 1.0,
            ratio: 1.0,
        };
        let (rows, version) = simdjson.measure(&source, &base, Plan::QUICK).unwrap();
        let names: Vec<_> = rows.iter().map(|row| row.contender).collect();
        let expected = ["simdjson_decoded", "simdjson_raw", "simdjson_envelope"];
        assert_eq!(names, expected);
        assert!(version.starts_with("simdjson "), "{version}");
    }
}

#[test]
fn sample_has_times_and_event_count() {
    let (bytes, _) = fit(&Corpus::Partial.generate(1 << 18).unwrap());
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
    let (times, events) = measure(&mut slices(bytes), 1, |_| {}).unwrap();
    assert_eq!(events, lines as u64);
    let plausible = Duration::from_nanos(1)..Duration::from_secs(60);
    assert!(
        times.iter().all(|time| plausible.contains(time)),
        "{times:?}"
    );
}
