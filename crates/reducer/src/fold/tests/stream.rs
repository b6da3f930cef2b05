use bowline_jsonl::{DEFAULT_MAX_LINE, Framer};
use bytes::Bytes;
use serde_json::json;

use crate::feed::{Feed, text};
use crate::host::{End, HostEvent, Meta};
use crate::transcript::Transcript;

#[test]
fn a_line_that_is_known_by_its_offset_changes_nothing() {
    let mut feed = Feed::new();
    feed.says("m1", &text("one"));
    let before = feed.json();
    let mut again = Framer::at(DEFAULT_MAX_LINE, 0, 1);
    again.push(Bytes::from_static(b"{\"type\":\"odd\"}\n"));
    let frame = again.next_frame().unwrap();
    let revision = feed.transcript.revision();
    for item in frame.items() {
        feed.transcript.apply(&item, Meta { at_ms: 1 });
    }
    assert_eq!(feed.json(), before);
    assert_eq!(feed.transcript.revision(), revision);
}

#[test]
fn a_line_that_comes_again_is_known_by_its_uuid() {
    let line = "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}]},\"uuid\":\"x\",\"session_id\":\"s\"}\n";
    let status = "{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"hm\",\"uuid\":\"y\",\"session_id\":\"s\"}\n";
    let result = "{\"type\":\"result\",\"is_error\":false,\"result\":\"one\",\"uuid\":\"z\",\"session_id\":\"s\"}\n";
    let mut feed = Feed::new();
    feed.raw(line)
        .raw(status)
        .raw(result)
        .raw(status)
        .raw(line)
        .raw(result);
    assert_eq!(
        feed.said(),
        [
            "m1 complete: one",
            "notice informational: hm",
            "result completed: one"
        ]
    );
    assert_eq!(feed.json()["stats"]["duplicates"], 3);
    assert_eq!(feed.json()["stats"]["events"], 6);
}

#[test]
fn bad_lines_are_entries_and_blank_ones_are_nothing() {
    let mut feed = Feed::new();
    feed.raw("\u{1b}[?25h\r\n\n  \n{\"a\":}\n");
    feed.raw(&format!("{}\n", "x".repeat(500)));
    let sample = "x".repeat(80);
    assert_eq!(
        feed.said(),
        [
            "error parse: expected a JSON object, got \"\\u{1b}[?25h\"",
            "error parse: expected a value, got \"{\\\"a\\\":}\"",
            &format!("error parse: expected a JSON object, got \"{sample}…\""),
        ]
    );
    let stats = &feed.json()["stats"];
    assert_eq!(
        (&stats["lines"], &stats["parse_errors"]),
        (&json!(3), &json!(3))
    );
}

#[test]
fn a_cut_line_is_said_until_it_comes_whole() {
    let line = "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}]},\"uuid\":\"x\",\"session_id\":\"s\"}\n";
    let mut feed = Feed::new();
    feed.raw("{\"type\":\"keep_alive\"}\n")
        .raw(line.get(..40).unwrap());
    let from = feed.transcript.applied();
    feed.ends();
    assert_eq!(
        feed.said(),
        [
            "error truncated: the input ended 40 bytes into \"{\\\"type\\\":\\\"assistant\\\",\\\"message\\\":{\\\"id\\\":\\\"m1\\\"\""
        ]
    );
    assert_eq!(feed.json()["stats"]["truncated"], true);
    assert_eq!(feed.transcript.applied(), from);
    let mut again = Framer::at(DEFAULT_MAX_LINE, from, 2);
    again.push(Bytes::from_static(line.as_bytes()));
    for item in again.next_frame().unwrap().items() {
        feed.transcript.apply(&item, Meta { at_ms: 0 });
    }
    assert_eq!(feed.said(), ["m1 complete: one"]);
    let stats = feed.json()["stats"].clone();
    assert_eq!(
        (&stats["truncated"], &stats["lines"]),
        (&json!(false), &json!(2))
    );
    assert_eq!(stats["bytes"], from + line.len() as u64);
}

#[test]
fn a_line_that_is_cut_at_a_cr_or_too_long_may_come_whole_as_well() {
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
fn noise_at_the_end_may_come_whole_as_well() {
    let mut feed = Feed::new();
    feed.raw("noi").ends();
    assert_eq!(
        feed.said(),
        ["error parse: expected a JSON object, got \"noi\""]
    );
    let mut again = Framer::default();
    again.push(Bytes::from_static(b"noise\n"));
    for item in again.next_frame().unwrap().items() {
        feed.transcript.apply(&item, Meta { at_ms: 0 });
    }
    assert_eq!(
        feed.said(),
        ["error parse: expected a JSON object, got \"noise\""]
    );
    let stats = feed.json()["stats"].clone();
    assert_eq!(
        (&stats["parse_errors"], &stats["bytes"]),
        (&json!(1), &json!(6))
    );
}

#[test]
fn a_gap_is_an_entry_and_lines_inside_it_are_not_waited_for() {
    let mut feed = Feed::new();
    feed.says("m1", &text("one"));
    let from = feed.transcript.applied();
    feed.host(HostEvent::Gap {
        from,
        to: from + 100,
    });
    feed.host(HostEvent::Gap {
        from,
        to: from + 50,
    });
    let text = format!(
        "error gap: 100 bytes are missing, from offset {from} to {}",
        from + 100
    );
    assert_eq!(feed.said()[1..], [text]);
    assert_eq!(feed.transcript.applied(), from + 100);
}

#[test]
fn the_host_tells_what_the_stream_does_not() {
    let mut feed = Feed::new();
    feed.host(HostEvent::ReconnectFailed { reason: "no route" });
    feed.host(HostEvent::SessionTimeout {
        reason: "silent for 60 s",
    });
    feed.host(HostEvent::ProcessEnded {
        exit: "signal 9",
        expected: false,
    });
    feed.host(HostEvent::ProcessEnded {
        exit: "exit code 0",
        expected: true,
    });
    assert_eq!(
        feed.said(),
        [
            "error reconnect_failed: no route",
            "error session_timeout: silent for 60 s",
            "error unexpected_exit: the process ended unexpectedly: signal 9",
        ]
    );
    assert_eq!(
        feed.json()["status"],
        json!({"phase": "ended", "reason": "signal 9"})
    );
}

#[test]
fn an_expected_end_is_no_error() {
    let mut feed = Feed::new();
    feed.transcript.end(
        End::Process {
            exit: "exit code 0",
            expected: true,
        },
        Meta::default(),
    );
    assert_eq!(feed.said(), [""; 0]);
    assert!(feed.transcript.has_ended());
}

#[test]
fn a_resumed_session_goes_on_in_the_same_transcript() {
    let mut feed = Feed::new();
    feed.says("m1", &text("one"));
    feed.host(HostEvent::ProcessEnded {
        exit: "exit code 1",
        expected: true,
    });
    feed.host(HostEvent::ProcessStarted);
    assert_eq!(feed.phase(), "starting");
    let mut next = Framer::default();
    next.push(Bytes::from_static(b"{\"type\":\"assistant\",\"message\":{\"id\":\"m2\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]},\"uuid\":\"x2\",\"session_id\":\"s\"}\n"));
    for item in next.next_frame().unwrap().items() {
        feed.transcript.apply(&item, Meta { at_ms: 0 });
    }
    assert_eq!(feed.said(), ["m1 complete: one", "m2 complete: two"]);
    assert_eq!(feed.phase(), "running");
}

#[test]
fn nothing_that_a_reader_knows_is_sent_again() {
    let mut feed = Feed::new();
    feed.drafts("m1").writes("m1", 0, "one");
    let cursor = feed.transcript.changes_since(Default::default()).cursor();
    for word in ["two ", "three ", "four"] {
        feed.adds("m1", 0, word);
    }
    let changes = feed.transcript.changes_since(cursor);
    let changes: Vec<_> = changes
        .iter()
        .map(|it| serde_json::to_value(&it).unwrap())
        .collect();
    assert_eq!(changes.len(), 2);
    assert_eq!(changes[0]["change"], "stats");
    assert_eq!(
        changes[1],
        json!({"change": "append", "block": 0, "from": 3, "text": "two three four"})
    );
    assert!(
        feed.transcript
            .changes_since(feed.transcript.revision().into())
            .is_empty()
    );
}
