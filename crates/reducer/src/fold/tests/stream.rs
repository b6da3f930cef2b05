use bowline_jsonl::{DEFAULT_MAX_LINE, Framer};
use bytes::Bytes;
use serde_json::json;

use crate::host::{End, HostEvent, Meta};
use crate::test_util::{TestSession, text};
use crate::transcript::Transcript;

#[test]
fn line_below_applied_offset_is_ignored() {
    let mut session = TestSession::new();
    session.assistant_block("m1", &text("one"));
    let before = session.json();
    let mut again = Framer::at(DEFAULT_MAX_LINE, 0, 1);
    again.push(Bytes::from_static(b"{\"type\":\"odd\"}\n"));
    let frame = again.next_frame().unwrap();
    let revision = session.transcript.revision();
    for item in frame.items() {
        session.transcript.apply(&item, Meta { at_ms: 1 });
    }
    assert_eq!(session.json(), before);
    assert_eq!(session.transcript.revision(), revision);
}

#[test]
fn repeated_uuid_is_dropped() {
    let line = "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}]},\"uuid\":\"x\",\"session_id\":\"s\"}\n";
    let status = "{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"hm\",\"uuid\":\"y\",\"session_id\":\"s\"}\n";
    let result = "{\"type\":\"result\",\"is_error\":false,\"result\":\"one\",\"uuid\":\"z\",\"session_id\":\"s\"}\n";
    let mut session = TestSession::new();
    session
        .raw(line)
        .raw(status)
        .raw(result)
        .raw(status)
        .raw(line)
        .raw(result);
    assert_eq!(
        session.entry_lines(),
        [
            "m1 complete: one",
            "notice informational: hm",
            "result completed: one"
        ]
    );
    assert_eq!(session.json()["stats"]["duplicates"], 3);
    assert_eq!(session.json()["stats"]["events"], 6);
}

#[test]
fn bad_lines_are_entries_blank_ones_are_not() {
    let mut session = TestSession::new();
    session.raw("\u{1b}[?25h\r\n\n  \n{\"a\":}\n");
    session.raw(&format!("{}\n", "x".repeat(500)));
    let excerpt = "x".repeat(80);
    assert_eq!(
        session.entry_lines(),
        [
            "error parse: expected a JSON object, got \"\\u{1b}[?25h\"",
            "error parse: expected a value, got \"{\\\"a\\\":}\"",
            &format!("error parse: expected a JSON object, got \"{excerpt}…\""),
        ]
    );
    let stats = &session.json()["stats"];
    assert_eq!(
        (&stats["lines"], &stats["parse_errors"]),
        (&json!(3), &json!(3))
    );
}

#[test]
fn partial_line_is_replaced_by_complete_line() {
    let line = "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}]},\"uuid\":\"x\",\"session_id\":\"s\"}\n";
    let mut session = TestSession::new();
    session
        .raw("{\"type\":\"keep_alive\"}\n")
        .raw(line.get(..40).unwrap());
    let from = session.transcript.applied();
    session.end();
    assert_eq!(
        session.entry_lines(),
        [
            "error truncated: the input ended 40 bytes into \"{\\\"type\\\":\\\"assistant\\\",\\\"message\\\":{\\\"id\\\":\\\"m1\\\"\""
        ]
    );
    assert_eq!(session.json()["stats"]["truncated"], true);
    assert_eq!(session.transcript.applied(), from);
    let mut again = Framer::at(DEFAULT_MAX_LINE, from, 2);
    again.push(Bytes::from_static(line.as_bytes()));
    for item in again.next_frame().unwrap().items() {
        session.transcript.apply(&item, Meta { at_ms: 0 });
    }
    assert_eq!(session.entry_lines(), ["m1 complete: one"]);
    let stats = session.json()["stats"].clone();
    assert_eq!(
        (&stats["truncated"], &stats["lines"]),
        (&json!(false), &json!(2))
    );
    assert_eq!(stats["bytes"], from + line.len() as u64);
}

#[test]
fn partial_line_at_cr_or_over_limit_is_replaced() {
    let line = "{\"type\":\r\"keep_alive\"}\n";
    for (limit, cut) in [(DEFAULT_MAX_LINE, 9), (12, 16)] {
        let mut transcript = Transcript::new();
        let mut framer = Framer::at(limit, 0, 1);
        framer.push(Bytes::from_static(line.get(..cut).unwrap().as_bytes()));
        framer.finish();
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                transcript.apply(&item, Meta { at_ms: 0 });
            }
        }
        assert_eq!((transcript.applied(), transcript.entries().count()), (0, 1));
        let mut again = Framer::default();
        again.push(Bytes::from_static(line.as_bytes()));
        for item in again.next_frame().unwrap().items() {
            transcript.apply(&item, Meta { at_ms: 0 });
        }
        assert_eq!(transcript.applied(), line.len() as u64);
        assert_eq!(transcript.entries().count(), 0);
        let stats = serde_json::to_value(transcript.stats()).unwrap();
        assert_eq!(stats["bytes"], line.len());
        assert_eq!(
            (&stats["lines"], &stats["truncated"]),
            (&json!(1), &json!(false))
        );
    }
}

#[test]
fn partial_noise_is_replaced() {
    let mut session = TestSession::new();
    session.raw("noi").end();
    assert_eq!(
        session.entry_lines(),
        ["error parse: expected a JSON object, got \"noi\""]
    );
    let mut again = Framer::default();
    again.push(Bytes::from_static(b"noise\n"));
    for item in again.next_frame().unwrap().items() {
        session.transcript.apply(&item, Meta { at_ms: 0 });
    }
    assert_eq!(
        session.entry_lines(),
        ["error parse: expected a JSON object, got \"noise\""]
    );
    let stats = session.json()["stats"].clone();
    assert_eq!(
        (&stats["parse_errors"], &stats["bytes"]),
        (&json!(1), &json!(6))
    );
}

#[test]
fn gap_is_an_entry_and_advances_offset() {
    let mut session = TestSession::new();
    session.assistant_block("m1", &text("one"));
    let from = session.transcript.applied();
    session.host_event(HostEvent::Gap {
        from,
        to: from + 100,
    });
    session.host_event(HostEvent::Gap {
        from,
        to: from + 50,
    });
    let text = format!(
        "error gap: 100 bytes are missing, from offset {from} to {}",
        from + 100
    );
    assert_eq!(session.entry_lines()[1..], [text]);
    assert_eq!(session.transcript.applied(), from + 100);
    assert_eq!(session.json()["stats"]["missing"], 100);
}

#[test]
fn damage_is_an_entry_and_a_statistic() {
    let mut session = TestSession::new();
    session.assistant_block("m1", &text("one"));
    assert_eq!(session.json()["stats"].get("damaged"), None);
    session.host_event(HostEvent::Damaged {
        reason: "cut at byte 9",
    });
    assert_eq!(session.entry_lines()[1..], ["error gap: cut at byte 9"]);
    assert_eq!(session.json()["stats"]["damaged"], true);
}

#[test]
fn status_names_a_connection_that_was_given_up() {
    let mut session = TestSession::new();
    session.assistant_block("m1", &text("one"));
    let before = session.json()["status"].clone();
    session.host_event(HostEvent::ReconnectFailed { reason: "no route" });
    let phase = &before["phase"];
    assert_eq!(
        session.json()["status"],
        json!({"phase": phase, "reason": "disconnected: no route"})
    );
    session.host_event(HostEvent::Reconnecting);
    assert_eq!(session.json()["status"], before);
    // The end of the process is the reason, whatever was lost before.
    session.host_event(HostEvent::ReconnectFailed { reason: "no route" });
    session.host_event(HostEvent::ProcessEnded {
        exit: "signal 9",
        expected: true,
    });
    assert_eq!(session.json()["status"]["reason"], "signal 9");
}

#[test]
fn host_errors_are_entries() {
    let mut session = TestSession::new();
    session.host_event(HostEvent::ReconnectFailed { reason: "no route" });
    session.host_event(HostEvent::SessionTimeout {
        reason: "silent for 60 s",
    });
    session.host_event(HostEvent::AnswerUndelivered {
        reason: "r1 was denied by a rule",
    });
    session.host_event(HostEvent::ProcessEnded {
        exit: "signal 9",
        expected: false,
    });
    session.host_event(HostEvent::ProcessEnded {
        exit: "exit code 0",
        expected: true,
    });
    assert_eq!(
        session.entry_lines(),
        [
            "error reconnect_failed: no route",
            "error session_timeout: silent for 60 s",
            "error answer_undelivered: r1 was denied by a rule",
            "error unexpected_exit: the process ended unexpectedly: signal 9",
        ]
    );
    assert_eq!(
        session.json()["status"],
        json!({"phase": "ended", "reason": "signal 9"})
    );
}

#[test]
fn expected_end_adds_no_error() {
    let mut session = TestSession::new();
    session.transcript.end(
        End::Process {
            exit: "exit code 0",
            expected: true,
        },
        Meta::default(),
    );
    assert_eq!(session.entry_lines(), [""; 0]);
    assert!(session.transcript.has_ended());
}

#[test]
fn resumed_process_continues_the_transcript() {
    let mut session = TestSession::new();
    session.assistant_block("m1", &text("one"));
    session.host_event(HostEvent::ProcessEnded {
        exit: "exit code 1",
        expected: true,
    });
    session.host_event(HostEvent::ProcessStarted);
    assert_eq!(session.phase(), "starting");
    let mut next = Framer::default();
    next.push(Bytes::from_static(b"{\"type\":\"assistant\",\"message\":{\"id\":\"m2\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]},\"uuid\":\"x2\",\"session_id\":\"s\"}\n"));
    for item in next.next_frame().unwrap().items() {
        session.transcript.apply(&item, Meta { at_ms: 0 });
    }
    assert_eq!(
        session.entry_lines(),
        ["m1 complete: one", "m2 complete: two"]
    );
    assert_eq!(session.phase(), "running");
}

#[test]
fn changes_contain_only_what_is_new() {
    let mut session = TestSession::new();
    session.message_start("m1").text_block("m1", 0, "one");
    let cursor = session
        .transcript
        .changes_since(Default::default())
        .cursor();
    for word in ["two ", "three ", "four"] {
        session.text_delta("m1", 0, word);
    }
    let changes = session.transcript.changes_since(cursor);
    let changes: Vec<_> = changes
        .iter()
        .map(|it| serde_json::to_value(&it).unwrap())
        .collect();
    assert_eq!(changes.len(), 2);
    assert_eq!(changes[0]["change"], "stats");
    let end = session.log().len() - 1;
    assert_eq!(
        changes[1],
        json!({"change": "append", "block": 0, "from": 3, "text": "two three four", "end": end})
    );
    assert!(
        session
            .transcript
            .changes_since(session.transcript.revision().into())
            .is_empty()
    );
}
