use serde_json::{Value, json};

use crate::test_util::{TestSession, first_json};

fn echo(session: &mut TestSession, uuid: &str, parts: &[&str]) {
    let parts: Vec<_> = parts
        .iter()
        .map(|it| format!(r#"{{"type":"text","text":"{it}"}}"#))
        .collect();
    let parts = parts.join(",");
    session.raw(&format!(r#"{{"type":"user","message":{{"content":[{parts}]}},"isReplay":true,"uuid":"{uuid}","session_id":"s"}}"#));
    session.raw("\n");
}

#[test]
fn prompts_have_their_flags() {
    let mut session = TestSession::new();
    session
        .line(r#""type":"user","message":{"content":"go on"},"isSynthetic":true,"isReplay":false"#);
    session.line(r#""type":"user","message":{"content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]}"#);
    echo(&mut session, "e1", &["a", "b"]);
    let entries = first_json(&session)["entries"].clone();
    let user = |uuid, text: &str, replay, synthetic| json!({"kind": "user", "uuid": uuid, "text": text, "replay": replay, "synthetic": synthetic});
    assert_eq!(entries[0], user("u1", "go on", false, true));
    assert_eq!(
        entries[1],
        user("u2", "see\n[image image/png 3 bytes]", false, false)
    );
    assert_eq!(entries[2], user("e1", "a\nb", true, false));
}

#[test]
fn echo_confirms_sent_prompt() {
    let mut session = TestSession::new();
    session.prompt_sent("e1", "one").prompt_sent("", "two");
    assert_eq!(session.json()["entries"][0]["replay"], false);
    assert!(
        session
            .transcript
            .entries()
            .all(|entry| entry.is_unconfirmed())
    );
    echo(&mut session, "e1", &["one"]);
    echo(&mut session, "minted", &["two"]);
    assert_eq!(session.entry_lines(), ["user: one", "user: two"]);
    let json = session.json();
    assert_eq!(json["entries"][0]["replay"], true);
    assert_eq!(json["entries"][1]["uuid"], "minted");
    assert_eq!(json["stats"]["duplicates"], 0);
    assert!(
        !session
            .transcript
            .entries()
            .any(|entry| entry.is_unconfirmed())
    );
}

#[test]
fn confirmed_prompt_equals_its_echo() {
    let places = |json: &Value| {
        let entries = json["entries"].as_array().unwrap().iter();
        let place = |entry: &Value| json!([entry["text"], entry["bytes"], entry["at_ms"]]);
        entries.map(place).collect::<Vec<_>>()
    };
    let stream = |session: &mut TestSession, is_sent: bool| {
        for (uuid, text) in [("e1", "one"), ("", "two"), ("e3", "three")] {
            if is_sent {
                session.prompt_sent(uuid, text);
            }
        }
        echo(session, "e1", &["one"]);
        echo(session, "minted", &["two"]);
        echo(session, "e3", &["one\\n", "two\\n", "three"]);
        echo(session, "e3", &["three"]);
    };
    let (mut live, mut replayed) = (TestSession::new(), TestSession::new());
    stream(&mut live, true);
    stream(&mut replayed, false);
    let seen = places(&live.json());
    assert_eq!(seen, places(&replayed.json()));
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|it| it[1][0].as_u64() < it[1][1].as_u64()));
}

#[test]
fn echo_may_precede_sent_prompt() {
    let mut session = TestSession::new();
    echo(&mut session, "e1", &["one"]);
    session.prompt_sent("e1", "one");
    assert_eq!(session.entry_lines(), ["user: one"]);
}

#[test]
fn second_echo_is_a_duplicate() {
    let mut session = TestSession::new();
    for _ in 0..2 {
        echo(&mut session, "e1", &["one"]);
    }
    assert_eq!(session.entry_lines(), ["user: one"]);
    assert_eq!(session.json()["stats"]["duplicates"], 1);
}

#[test]
fn merged_echo_of_sent_prompts_adds_nothing() {
    let mut session = TestSession::new();
    session.prompt_sent("e1", "one").prompt_sent("e2", "two");
    echo(&mut session, "e1", &["one"]);
    echo(&mut session, "e2", &["one\\n", "two"]);
    assert_eq!(session.entry_lines(), ["user: one", "user: two"]);
    assert_eq!(session.json()["entries"][1]["replay"], true);
}

#[test]
fn merged_echo_may_be_one_text() {
    let mut session = TestSession::new();
    session.prompt_sent("e1", "one").prompt_sent("e2", "two");
    echo(&mut session, "e1", &["one"]);
    echo(&mut session, "e2", &["one\\ntwo"]);
    assert_eq!(session.entry_lines(), ["user: one", "user: two"]);
}

#[test]
fn different_echo_confirms_by_uuid() {
    let image =
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}"#;
    let echo_with_image = |session: &mut TestSession, text: &str| {
        session.raw(&format!(r#"{{"type":"user","message":{{"content":[{{"type":"text","text":"{text}"}},{image}]}},"isReplay":true,"uuid":"e2","session_id":"s"}}"#));
        session.raw("\n");
    };
    let expected = [
        "user: one",
        "user: describe\n[image image/png 3 bytes]",
        "user: three",
    ];
    for first in ["describe", "one\\ndescribe"] {
        let mut session = TestSession::new();
        session
            .prompt_sent("e1", "one")
            .prompt_sent("e2", "describe")
            .prompt_sent("e3", "three");
        assert_eq!(session.entry_lines()[1], "user: describe");
        echo(&mut session, "e1", &["one"]);
        for text in [first, "one\\ndescribe", "describe"] {
            echo_with_image(&mut session, text);
            assert_eq!(session.entry_lines(), expected);
        }
        echo(&mut session, "e2", &["else"]);
        assert_eq!(session.entry_lines(), expected);
        assert_eq!(session.json()["entries"][1]["replay"], true);
        assert_eq!(session.json()["entries"][1]["uuid"], "e2");
    }
}

#[test]
fn merged_echo_of_recording_adds_only_new_text() {
    let mut session = TestSession::new();
    echo(&mut session, "e1", &["one"]);
    echo(&mut session, "e2", &["one\\n", "two"]);
    assert_eq!(session.entry_lines(), ["user: one", "user: two"]);
    // The same uuid with other content is not the same line.
    echo(&mut session, "e1", &["else"]);
    assert_eq!(session.entry_lines().len(), 3);
}

#[test]
fn terminal_echo_is_ignored() {
    let mut session = TestSession::new();
    session.raw("{\"type\":\"user\",\"message\":{\"content\":\"go\"}}\n");
    session.raw("{\"type\":\"user\",\"message\":{\"content\":\"go\"},\"uuid\":\"e1\",\"session_id\":\"\"}\r\n");
    assert_eq!(session.entry_lines(), [""; 0]);
    echo(&mut session, "e1", &["go"]);
    assert_eq!(session.entry_lines(), ["user: go"]);
}

#[test]
fn skipped_prompt_no_longer_waits() {
    let mut session = TestSession::new();
    session
        .prompt_sent("", "never echoed")
        .prompt_sent("", "two");
    echo(&mut session, "e2", &["two"]);
    echo(&mut session, "e3", &["never echoed"]);
    assert_eq!(
        session.entry_lines(),
        ["user: never echoed", "user: two", "user: never echoed"]
    );
    // However many were not echoed, those after the last echo are found.
    for round in 0..3 {
        for prompt in 0..60 {
            session.prompt_sent("", &format!("p{prompt}"));
        }
        echo(&mut session, &format!("q{round}"), &["p59"]);
    }
    assert_eq!(session.entry_lines().len(), 183);
}

#[test]
fn prompt_that_begins_with_the_one_before_is_kept_whole() {
    let mut session = TestSession::new();
    echo(&mut session, "e1", &["fix it"]);
    echo(&mut session, "e2", &["fix it\\nand run the tests"]);
    assert_eq!(
        session.entry_lines(),
        ["user: fix it", "user: fix it\nand run the tests"]
    );
}

#[test]
fn any_number_of_prompts_may_be_merged() {
    let mut session = TestSession::new();
    let texts: Vec<_> = (0..150).map(|number| "p".repeat(1 + number % 7)).collect();
    for (number, text) in texts.iter().enumerate() {
        echo(&mut session, &format!("e{number}"), &[text]);
    }
    let mut parts: Vec<_> = texts.iter().map(|text| format!("{text}\\n")).collect();
    parts.push("pp".to_owned());
    let parts: Vec<_> = parts.iter().map(String::as_str).collect();
    echo(&mut session, "last", &parts);
    let lines = session.entry_lines();
    assert_eq!((lines.len(), lines[150].as_str()), (151, "user: pp"));
}
