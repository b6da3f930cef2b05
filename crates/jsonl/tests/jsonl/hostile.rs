use bowline_jsonl::{Body, Expected, Framer, ParseErrorKind};
use bytes::Bytes;

use crate::support::for_each;

/// The error of each line of `input`; none for an event.
fn kinds(input: impl Into<Bytes>) -> Vec<Option<ParseErrorKind>> {
    let mut out = Vec::new();
    for_each([input.into()], |item| {
        out.push(item.event.err().map(|error| error.kind()))
    });
    out
}

const GOOD: &str = "{\"type\":\"keep_alive\"}\n";

#[test]
fn bad_line_is_error_and_next_line_is_event() {
    for (line, kind) in [
        (&b"[1,2]"[..], ParseErrorKind::NotAnObject),
        (b"\"text\"", ParseErrorKind::NotAnObject),
        (b"\x1b[?25h", ParseErrorKind::NotAnObject),
        (b"\0\0\0", ParseErrorKind::NotAnObject),
        (b"Error: no", ParseErrorKind::NotAnObject),
        (
            b"{\"type\":\"user\",\"a\":\"\xff\"}",
            ParseErrorKind::NotUtf8,
        ),
        (
            b"{\"a\":\"\0\"}",
            ParseErrorKind::Syntax(Expected::EscapedControl),
        ),
        (
            b"{\"a\":1}{\"b\":2}",
            ParseErrorKind::Syntax(Expected::LineEnd),
        ),
        (b"{\"a\":1", ParseErrorKind::Syntax(Expected::CommaOrEnd)),
        (b"{\"a\":\"b", ParseErrorKind::Syntax(Expected::Quote)),
        (b"{\"a\"", ParseErrorKind::Syntax(Expected::Colon)),
        (b"{\"a\":}", ParseErrorKind::Syntax(Expected::Value)),
        (b"{,}", ParseErrorKind::Syntax(Expected::Key)),
        (b"{\"a\":1,}", ParseErrorKind::Syntax(Expected::Key)),
        (b"{\"a\":01}", ParseErrorKind::Syntax(Expected::CommaOrEnd)),
        (
            b"{\"a\":1e999}",
            ParseErrorKind::Syntax(Expected::SmallerNumber),
        ),
        (
            b"{\"a\":\"\\x\"}",
            ParseErrorKind::Syntax(Expected::EscapeLetter),
        ),
        (
            b"{\"a\":\"\\u12\"}",
            ParseErrorKind::Syntax(Expected::HexDigits),
        ),
        (b"{\"a\":nul}", ParseErrorKind::Syntax(Expected::Value)),
    ] {
        let input = [GOOD.as_bytes(), line, b"\n", GOOD.as_bytes()].concat();
        assert_eq!(
            kinds(input),
            [None, Some(kind), None],
            "{}",
            String::from_utf8_lossy(line)
        );
    }
}

#[test]
fn errors_have_line_and_offset() {
    let input = format!("{GOOD}\n{{\"a\":\"é\\q\"}}\n");
    let mut errors = Vec::new();
    for_each([input.into()], |item| errors.extend(item.event.err()));
    let [error] = errors.as_slice() else {
        panic!("{errors:?}")
    };
    // 22 bytes of the good line with its LF, one of the blank line, `{"a":"` and two bytes of é.
    assert_eq!((error.line(), error.offset()), (3, 22 + 1 + 6 + 2 + 1));
    assert_eq!(
        error.to_string(),
        "expected one of \"\\/bfnrtu after a backslash at line 3, byte 32"
    );
}

#[test]
fn nesting_is_bounded() {
    for (depth, accepted) in [(100, true), (10_000, false), (1_000_000, false)] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let mut value = open.repeat(depth);
            value.push('1');
            value.push_str(&close.repeat(depth));
            let line = format!("{{\"type\":\"user\",\"x\":{value}}}\n{GOOD}");
            let kind = (!accepted).then_some(ParseErrorKind::Syntax(Expected::LessNesting));
            assert_eq!(kinds(line), [kind, None], "{depth} of {open}");
        }
    }
}

#[test]
fn line_over_64_mib_is_skipped() {
    let limit = bowline_jsonl::DEFAULT_MAX_LINE;
    let line = |length: usize| {
        let frame = "{\"type\":\"keep_alive\",\"x\":\"\"}".len();
        format!(
            "{{\"type\":\"keep_alive\",\"x\":\"{}\"}}\n{GOOD}",
            "y".repeat(length - frame)
        )
    };
    assert_eq!(kinds(line(limit)), [None, None]);
    let long = ParseErrorKind::TooLong {
        length: limit as u64 + 1,
        limit: limit as u64,
    };
    assert_eq!(kinds(line(limit + 1)), [Some(long), None]);
    // In chunks the skipped line is never stored.
    let mut framer = Framer::default();
    for chunk in line(limit + 1).as_bytes().chunks(65_536) {
        framer.push(Bytes::copy_from_slice(chunk));
    }
    let first = framer.next_frame().expect("the skipped line");
    let item = first.items().next().expect("an item");
    assert_eq!(
        item.event.map(|_| ()).map_err(|error| error.kind()),
        Err(long)
    );
    assert!(item.raw.starts_with(b"{\"type\":\"keep_alive\"") && item.raw.len() == 256);
}

#[test]
fn every_line_may_be_invalid_utf8() {
    let input = b"{\xff\n".repeat(200_000);
    let mut count = 0;
    for_each([input.into()], |item| {
        count += 1;
        let kind = item.event.map(|_| ()).map_err(|error| error.kind());
        assert_eq!(kind, Err(ParseErrorKind::NotUtf8));
    });
    assert_eq!(count, 200_000);
}

#[test]
fn escaped_type_is_decoded() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"te\u0078t","text":"a"}]}}"#;
    for_each([Bytes::copy_from_slice(line.as_bytes())], |item| {
        let event = item.event.expect("an event");
        let Body::Assistant(assistant) = &event.body else {
            panic!()
        };
        assert_eq!(assistant.message.blocks()[0].text(), "a");
    });
}

#[test]
fn tail_is_marked() {
    for (input, cut) in [
        ("\u{feff}".as_bytes().split_at(2).0, true),
        (b"{}\n", false),
    ] {
        for_each([Bytes::copy_from_slice(input)], |item| {
            assert_eq!(item.at.is_tail, cut);
            assert_eq!(item.event.is_err(), cut);
        });
    }
    let mut framer = Framer::new(8);
    framer.push(Bytes::from_static(b"0123456789"));
    framer.finish();
    let frame = framer.next_frame().expect("a frame");
    let at = frame.items().next().expect("an item").at;
    assert_eq!((at.end, at.is_tail), (10, true));
}

#[test]
fn million_lines_are_million_events() {
    let input = GOOD.repeat(1_000_000);
    let mut count = 0;
    for_each([input.into()], |item| {
        count += 1;
        assert_eq!(item.at.line, count);
        assert!(matches!(
            item.event.expect("an event").body,
            Body::KeepAlive
        ));
    });
    assert_eq!(count, 1_000_000);
}

#[test]
fn cr_blank_lines_and_byte_order_mark_are_accepted() {
    let input = "\u{feff}{\"type\":\"keep_alive\"}\r\n\r\n  \n{ \"type\" : \"keep_alive\" } \r\n{}";
    assert_eq!(kinds(input), [None, None, None]);
}

#[test]
fn lone_surrogates_become_replacement_character() {
    let line = r#"{"type":"prompt_suggestion","suggestion":"a\ud83d"}"#;
    for_each([Bytes::from_static(line.as_bytes())], |item| {
        let event = item.event.expect("the agent writes such lines");
        let Body::PromptSuggestion {
            suggestion: Some(text),
        } = event.body
        else {
            panic!()
        };
        assert_eq!((&*text.decode(), text.raw()), ("a\u{fffd}", r"a\ud83d"));
    });
}

#[test]
fn key_order_and_escapes_do_not_matter() {
    for line in [
        r#"{"request_id":"r","type":"control_cancel_request"}"#,
        r#"{"type":"user","request_id":"r","type":"control_cancel_request"}"#,
        r#"{"ty\u0070e":"control_cancel\u005frequest","request_id":"q","request_\u0069d":"r"}"#,
    ] {
        for_each([Bytes::copy_from_slice(line.as_bytes())], |item| {
            let event = item.event.expect("an event");
            let Body::ControlCancelRequest {
                request_id: Some(id),
            } = event.body
            else {
                panic!("{line}: {:?}", event.body)
            };
            assert_eq!(id, "r");
        });
    }
}

#[test]
fn values_of_other_types_are_skipped() {
    let line =
        r#"{"type":"assistant","message":"text","uuid":7,"error":{"a":[1]},"aborted":"yes"}"#;
    for_each([Bytes::from_static(line.as_bytes())], |item| {
        let event = item.event.expect("an event");
        let Body::Assistant(assistant) = &event.body else {
            panic!()
        };
        assert!(assistant.message.blocks().is_empty() && assistant.error.is_none());
        assert!(event.uuid.is_none() && !assistant.aborted);
    });
}

#[test]
fn subtype_is_found_after_leading_space() {
    let line = r#" {"type":"system","task_id":"t","subtype":"task_started"}"#;
    for_each([Bytes::from_static(line.as_bytes())], |item| {
        assert_eq!(item.event.expect("an event").name(), "system/task_started");
    });
}
