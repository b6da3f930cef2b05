//! The build with vector code agrees with the one that has only the grammar, on every stream.
//!
//! `bowline-jsonl-safe` is the same crate without the feature `simd`.

use bowline_jsonl as fast;
use bowline_jsonl_safe as safe;
use bytes::Bytes;
use proptest::prelude::*;

use crate::support::fixtures;

macro_rules! observe {
    ($jsonl:ident, $stream:expr, $chunk:expr) => {{
        let mut framer = $jsonl::Framer::default();
        let mut lines = Vec::new();
        for chunk in $stream.chunks($chunk) {
            framer.push(Bytes::copy_from_slice(chunk));
            while let Some(frame) = framer.next_frame() {
                lines.extend(frame.items().map(|item| format!("{item:?}")));
            }
        }
        framer.finish();
        while let Some(frame) = framer.next_frame() {
            lines.extend(frame.items().map(|item| format!("{item:?}")));
        }
        lines
    }};
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z é€]{0,80}",
        any::<String>(),
        Just("\u{2028}\\\"\n\t".to_owned()),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// A string in JSON, sometimes with lone surrogates or a broken escape.
fn string() -> impl Strategy<Value = String> {
    let end = prop_oneof![
        12 => Just(""), 2 => Just("\\ud83d"), 1 => Just("\\ude00\\u0041"), 1 => Just("\\u12g4"), 1 => Just("\\x"),
    ];
    (text(), end).prop_map(|(text, end)| {
        let json = serde_json::to_string(&text).expect("a string");
        format!("{}{end}\"", json.trim_end_matches('"'))
    })
}

/// Deltas, as the template knows them, and other lines around them.
fn line() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        ("text_delta", "text"),
        ("input_json_delta", "partial_json"),
        ("thinking_delta", "thinking"),
        ("signature_delta", "signature"),
    ]);
    let delta = (kind, 0..120_u32, string(), "[0-9a-f-]{36}", 0..3_u32, prop::bool::ANY).prop_map(
        |((kind, key), index, text, uuid, session, is_spaced)| {
            let colon = if is_spaced { ": " } else { ":" };
            format!(
                r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index"{colon}{index},"delta":{{"type":"{kind}","{key}":{text}}}}},"session_id":"0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f{session}","parent_tool_use_id":null,"uuid":"{uuid}","api_message_id":"msg_0123456789abcde{session}"}}"#
            )
        },
    );
    let assistant = (string(), string()).prop_map(|(text, key)| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":{text}}}],"usage":{{"input_tokens":1}}}},{key}:[{text},{{"a":-1.5e3}}],"uuid":"u"}}"#
        )
    });
    let deep = (1..200_usize, 1..200_usize).prop_map(|(open, close)| {
        format!(
            r#"{{"type":"x","x":{}1{}}}"#,
            "[{\"a\":".repeat(open),
            "}]".repeat(close)
        )
    });
    let object = prop_oneof![6 => delta, 3 => assistant, 1 => text(), 1 => deep];
    let noise = prop_oneof![8 => Just(""), 1 => Just("\u{1b}[31mwarn\u{1b}[0m "), 1 => Just("{x}")];
    (noise, object).prop_map(|(noise, object)| format!("{noise}{object}"))
}

proptest! {
    #[test]
    fn generated_streams_agree(
        lines in prop::collection::vec(line(), 1..12),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        chunk in 1..4096_usize,
    ) {
        let mut stream = lines.join("\n").into_bytes();
        for (at, byte) in flips {
            if !stream.is_empty() {
                let at = at.index(stream.len());
                stream[at] = byte;
            }
        }
        prop_assert_eq!(observe!(fast, stream, chunk), observe!(safe, stream, chunk));
    }
}

#[test]
fn recordings_agree() {
    for fixture in fixtures() {
        let bytes = &fixture.bytes;
        assert!(
            observe!(fast, bytes, 1 << 16) == observe!(safe, bytes, 1 << 16),
            "{}",
            fixture.name
        );
    }
}
