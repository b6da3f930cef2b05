//! Each stream at one size and at twice that size: the lookups of records grow in proportion.

use crate::store::lookups;
use crate::test_util::{TestSession, text, tool};

/// Number of items of the smaller stream.
const COUNT: u32 = 300;

/// How many more lookups a stream of twice the size may take.
const MAX_RATIO: f64 = 2.3;

#[track_caller]
fn scales(stream: fn(&mut TestSession, u32)) {
    let [one, two] = [COUNT, 2 * COUNT].map(|count| {
        let mut session = TestSession::new();
        let before = lookups();
        stream(&mut session, count);
        lookups() - before
    });
    let ratio = two as f64 / one as f64;
    assert!(ratio <= MAX_RATIO, "{one} lookups, then {two}: {ratio:.1}");
}

#[test]
fn open_permissions_and_calls_scale() {
    scales(|session, count| {
        for number in 0..count {
            session.tool_use("null", &format!("t{number}"), "Bash");
            session.raw(&format!("{{\"type\":\"control_request\",\"request_id\":\"r{number}\",\"request\":{{\"subtype\":\"can_use_tool\",\"tool_use_id\":\"t{number}\"}}}}\n"));
        }
        for number in (0..count).rev() {
            session.tool_result(&format!("t{number}"), "x", false, "");
        }
    });
}

#[test]
fn superseded_lines_scale() {
    scales(|session, count| {
        for _ in 0..count {
            session.assistant_block("m", &tool("t", "Bash"));
            session.assistant_block("m", &text("x"));
        }
        let named: Vec<_> = (1..=2 * count).map(|line| format!("\"u{line}\"")).collect();
        let named = named.join(",");
        session.line(&format!(
            r#""type":"assistant","supersedes":[{named}],"message":{{"id":"n"}}"#
        ));
    });
}

#[test]
fn streamed_blocks_and_late_lines_scale() {
    scales(|session, count| {
        session.message_start("m");
        for index in 0..count {
            session.text_block("m", index, "x").block_stop("m", index);
        }
        for _ in 0..count / 2 {
            session.assistant_block("m", &text("x"));
        }
        for _ in 0..count / 2 {
            session.assistant_block("m", &text("y"));
        }
    });
}

#[test]
fn texts_in_many_pieces_scale() {
    scales(|session, count| {
        session.message_start("m").text_block("m", 0, "");
        for _ in 0..count {
            for piece in ["x\\n", "\\ud83d", "\\ude00"] {
                session.text_delta("m", 0, piece);
                session.line(r#""type":"system","subtype":"informational","content":"hm""#);
            }
        }
    });
}

#[test]
fn agents_that_stream_at_once_scale() {
    scales(|session, count| {
        let event = |session: &mut TestSession, number: u32, event: &str| {
            session.line(&format!(
                r#""type":"stream_event","event":{event},"parent_tool_use_id":"t{number}","api_message_id":"a{number}""#
            ));
        };
        for number in 0..count {
            event(
                session,
                number,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#,
            );
        }
        for number in 0..count {
            event(session, number, r#"{"type":"message_stop"}"#);
        }
    });
}

#[test]
fn tasks_and_conversations_scale() {
    scales(|session, count| {
        let listed: Vec<_> = (0..count)
            .map(|number| format!(r#"{{"task_id":"k{number}"}}"#))
            .collect();
        session.line(&format!(
            r#""type":"system","subtype":"background_tasks_changed","tasks":[{}]"#,
            listed.join(",")
        ));
        for number in (0..count).rev() {
            session.line(&format!(r#""type":"system","subtype":"task_notification","task_id":"k{number}","status":"completed""#));
        }
    });
}

#[test]
fn merged_prompts_scale() {
    scales(|session, count| {
        let echo = |session: &mut TestSession, parts: &str| {
            session.line(&format!(
                r#""type":"user","isReplay":true,"message":{{"content":[{parts}]}}"#
            ));
        };
        for number in 0..count {
            echo(session, &text(&format!("p{number}")));
        }
        let merged = (0..count).map(|number| text(&format!("p{number}\\n")));
        let merged: Vec<_> = merged.chain([text("last")]).collect();
        echo(session, &merged.join(","));
        assert_eq!(session.entry_lines().last().unwrap(), "user: last");
        assert_eq!(session.entry_lines().len(), count as usize + 1);
    });
}

#[test]
fn messages_that_are_continued_in_turns_scale() {
    scales(|session, count| {
        for number in 0..count {
            let (message, index) = (format!("m{}", number % 2), number / 2);
            session.message_start(&message);
            session.text_block(&message, index, "x");
            session.block_stop(&message, index);
        }
        assert_eq!(session.entry_lines().len(), 2);
    });
}

#[test]
fn discarded_drafts_of_messages_in_turns_scale() {
    scales(|session, count| {
        for number in 0..count {
            let message = format!("m{}", number % 2);
            session.message_start(&message).text_block(&message, 0, "x");
        }
    });
}

#[test]
fn finished_blocks_between_drafts_scale() {
    scales(|session, count| {
        session.message_start("m").text_block("m", 0, "x");
        for number in 0..count / 2 {
            session.tool_use("null", &format!("t{number}"), "Bash");
        }
        session.text_block("m", 1, "y");
        for number in count / 2..count {
            session.tool_use("null", &format!("t{number}"), "Bash");
        }
    });
}
