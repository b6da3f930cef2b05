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

/// A `user` line with a member whose value nests `depth` levels; `close` replaces the closing brackets.
fn nested(member: &str, depth: usize, open: &str, close: &str) -> String {
    let (open, close) = (open.repeat(depth), close.repeat(depth));
    format!("{{\"type\":\"user\",\"{member}\":{open}1{close}}}\n{GOOD}")
}

const BRACKETS: [(&str, &str); 3] = [
    ("[", "]"),
    ("{\"a\":", "}"),
    ("[0,{\"a\":", ",\"b\":[]},2]"),
];

#[test]
fn skipped_member_nests_to_any_depth() {
    for depth in [1, 31, 32, 63, 64, 65, 127, 128, 129, 10_000, 1_000_000] {
        for (open, close) in BRACKETS {
            let line = nested("x", depth, open, close);
            assert_eq!(kinds(line), [None, None], "{depth} of {open}");
        }
    }
}

#[test]
fn member_kept_as_text_nests_120_levels() {
    for (depth, is_accepted) in [(120, true), (121, false), (1_000_000, false)] {
        for (open, close) in &BRACKETS[..2] {
            let line = nested("tool_use_result", depth, open, close);
            let error = ParseErrorKind::Syntax(Expected::LessNesting);
            let kind = (!is_accepted).then_some(error);
            assert_eq!(kinds(line), [kind, None], "{depth} of {open}");
        }
    }
}

#[test]
fn bracket_of_the_other_kind_is_refused_at_any_depth() {
    let error = Some(ParseErrorKind::Syntax(Expected::CommaOrEnd));
    for depth in [1, 2, 63, 64, 65, 128, 129, 1_000] {
        for wrong in (0..depth).step_by(1 + depth / 100) {
            let close = |level: usize| if level == wrong { "]" } else { "}" };
            let close: String = (0..depth).rev().map(close).collect();
            let open = "{\"a\":".repeat(depth);
            let line = format!("{{\"type\":\"user\",\"x\":{open}1{close}}}\n{GOOD}");
            assert_eq!(kinds(line), [error, None], "{wrong} of {depth}");
        }
    }
}

#[test]
fn object_after_terminal_output_is_event() {
    let event = GOOD.trim_end();
    for noise in [
        &b"\x1b[?25h"[..],
        b"\x1b[31mwarn\x1b[0m ",
        b"\x1b]0;title\x07",
        b"warn {x} \t",
        b"\xff\0\r",
    ] {
        let line = [noise, event.as_bytes()].concat();
        let input = [GOOD.as_bytes(), &line, b"\r\n", GOOD.as_bytes(), &line].concat();
        let mut found = Vec::new();
        for_each([input.into()], |item| {
            let is_event = matches!(item.event, Ok(event) if event.is_known());
            found.push((item.at.offset, item.raw == event.as_bytes(), is_event));
        });
        let (good, line) = (GOOD.len() as u64, line.len() as u64);
        let offsets = [0, good, good + line + 2, good + line + 2 + good];
        let expected = offsets.map(|offset| (offset, true, true));
        assert_eq!(found, expected, "{}", noise.escape_ascii());
    }
}

#[test]
fn other_json_after_text_is_no_event() {
    for line in [
        "config: {\"a\":1}",
        "config: {\"type\":1}",
        "warn {\"type\":\"user\"} more",
        "warn {\"type\":\"user\",}",
        "\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}",
    ] {
        let found = kinds(format!("{line}\n{GOOD}"));
        assert!(matches!(found[..], [Some(_), None]), "{line}: {found:?}");
    }
}

#[test]
fn object_after_invalid_object_is_event() {
    let found = kinds(format!("{{x}} {{\"type\":\"user\"}}\n{GOOD}"));
    assert!(matches!(found[..], [Some(_), None, None]), "{found:?}");
}

#[test]
fn cut_object_after_terminal_output_is_truncated() {
    let line = format!("\u{1b}[?25h{}", GOOD.trim_end());
    for cut in 8..line.len() {
        let head = line.as_bytes()[..cut].to_vec();
        assert_eq!(kinds(head), [Some(ParseErrorKind::Truncated)], "{cut}");
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
