//! This parser accepts exactly what `serde_json` accepts.

use bowline_jsonl::RawJson;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{Random, fixtures, for_each};

/// Whether this parser accepts the line as an event.
fn accepts(line: &[u8]) -> bool {
    let mut items = Vec::new();
    for_each([Bytes::copy_from_slice(line)], |item| {
        items.push(item.event.is_ok())
    });
    items == [true]
}

/// Whether `serde_json` accepts the line as an object, or what follows other text as one with a `type`.
/// The line is the first of its stream, so that a byte order mark before it is no text.
fn oracle(line: &[u8]) -> bool {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let first = line.iter().find(|byte| !b" \t\r".contains(byte));
    if first == Some(&b'{') {
        return parse(line).is_some();
    }
    let start = line.windows(2).position(|bytes| bytes == b"{\"");
    let object = start.and_then(|start| parse(&line[start..]));
    object.is_some_and(|object| object.get("type").is_some_and(Value::is_string))
}

/// The object that `serde_json` parses, with lone surrogates replaced.
fn parse(line: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(line).ok()?;
    let mut lossy = String::new();
    match RawJson::parse(text) {
        Some(raw) => raw.write_lossy(&mut lossy),
        None => lossy.push_str(text),
    }
    let value: Value = serde_json::from_str(&lossy).ok()?;
    value.is_object().then_some(value)
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let key = prop_oneof![
            any::<String>(),
            prop::sample::select(vec!["type", "message", "content", "uuid", "event", "delta"])
                .prop_map(str::to_owned),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_type() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "assistant",
        "user",
        "system",
        "result",
        "stream_event",
        "control_request",
        "control_response",
        "rate_limit_event",
        "command_lifecycle",
        "something_new",
    ])
}

proptest! {
    #[test]
    fn every_object_is_an_event(kind in any_type(), members in any_json()) {
        let line = serde_json::json!({"type": kind, "message": members, "event": members});
        prop_assert!(accepts(line.to_string().as_bytes()), "{line}");
    }

    #[test]
    fn object_after_text_is_an_event_if_it_has_a_type(
        noise in "[^\\n\"]{0,20}",
        kind in any_type(),
        members in any_json(),
    ) {
        let typed = serde_json::json!({"type": kind, "message": members}).to_string();
        let other = serde_json::json!({"message": members}).to_string();
        for object in [typed, other] {
            let line = format!("{noise}{object}");
            prop_assert_eq!(accepts(line.as_bytes()), oracle(line.as_bytes()), "{}", line);
        }
    }

    #[test]
    fn strings_decode_like_serde_json(text in any::<String>()) {
        let json = serde_json::to_string(&text).expect("a string");
        let ours = RawJson::parse(&json).and_then(RawJson::as_str).expect("a string");
        prop_assert_eq!(&*ours.decode(), text.as_str());
    }

    #[test]
    fn numbers_agree_with_serde_json(text in "-?[0-9]{1,20}(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?") {
        let line = format!("{{\"a\":{text}}}");
        prop_assert_eq!(accepts(line.as_bytes()), oracle(line.as_bytes()), "{}", line);
    }
}

/// Pieces that make most JSON invalid where they are inserted.
const PIECES: [&[u8]; 22] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\u",
    b"\\ud83d",
    b"\\ude00",
    b"\0",
    b" ",
    b"\t",
    b"1e999",
    b"-",
    b"true",
    b"null",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\r",
];

/// Mutates recorded lines; both parsers must agree on each mutant.
#[test]
fn mutated_lines_agree_with_serde_json() {
    let mut random = Random(42);
    let (mut compared, mut accepted) = (0_u32, 0_u32);
    for fixture in fixtures().into_iter().filter(|it| it.bytes.len() < 1 << 20) {
        for line in fixture
            .bytes
            .split(|&byte| byte == b'\n')
            .filter(|line| line.len() < 4096)
        {
            if line.is_empty() || random.below(4) != 0 {
                continue;
            }
            for _ in 0..40 {
                let mutant = mutate(line, &mut random);
                let ours = accepts(&mutant);
                assert_eq!(ours, oracle(&mutant), "{}", mutant.escape_ascii());
                compared += 1;
                accepted += u32::from(ours);
            }
        }
    }
    assert!(
        compared > 20_000 && accepted > compared / 10,
        "{accepted} of {compared}"
    );
}

fn mutate(line: &[u8], random: &mut Random) -> Vec<u8> {
    let mut mutant = line.to_vec();
    for _ in 0..=random.below(2) {
        let at = random.below(mutant.len());
        match random.below(5) {
            0 => mutant[at] ^= 1 << random.below(8),
            1 => drop(mutant.remove(at)),
            2 => mutant.truncate(at + 1),
            3 => {
                let end = at + random.below(mutant.len() - at);
                let piece = mutant[at..end].to_vec();
                mutant.splice(at..at, piece);
            }
            _ => drop(mutant.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
        }
    }
    // A line has no LF, and one CR at its end belongs to the line end.
    mutant.retain(|&byte| byte != b'\n');
    if mutant.is_empty() {
        vec![b'x']
    } else {
        mutant
    }
}
