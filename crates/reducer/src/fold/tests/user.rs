use serde_json::json;

use crate::feed::Feed;

fn echo(feed: &mut Feed, uuid: &str, parts: &[&str]) {
    let parts: Vec<_> = parts
        .iter()
        .map(|it| format!(r#"{{"type":"text","text":"{it}"}}"#))
        .collect();
    let parts = parts.join(",");
    feed.raw(&format!(r#"{{"type":"user","message":{{"content":[{parts}]}},"isReplay":true,"uuid":"{uuid}","session_id":"s"}}"#));
    feed.raw("\n");
}

#[test]
fn prompts_say_what_they_are() {
    let mut feed = Feed::new();
    feed.line(r#""type":"user","message":{"content":"go on"},"isSynthetic":true,"isReplay":false"#);
    feed.line(r#""type":"user","message":{"content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]}"#);
    echo(&mut feed, "e1", &["a", "b"]);
    let entries = feed.json()["entries"].clone();
    let user = |uuid, text: &str, replay, synthetic| json!({"kind": "user", "uuid": uuid, "text": text, "replay": replay, "synthetic": synthetic});
    assert_eq!(entries[0], user("u1", "go on", false, true));
    assert_eq!(
        entries[1],
        user("u2", "see\n[image image/png 3 bytes]", false, false)
    );
    assert_eq!(entries[2], user("e1", "a\nb", true, false));
}

#[test]
fn an_echo_confirms_what_the_host_sent() {
    let mut feed = Feed::new();
    feed.sends("e1", "one").sends("", "two");
    assert_eq!(feed.json()["entries"][0]["replay"], false);
    assert!(
        feed.transcript
            .entries()
            .all(|entry| entry.is_unconfirmed())
    );
    echo(&mut feed, "e1", &["one"]);
    echo(&mut feed, "minted", &["two"]);
    assert_eq!(feed.said(), ["user: one", "user: two"]);
    let json = feed.json();
    assert_eq!(json["entries"][0]["replay"], true);
    assert_eq!(json["entries"][1]["uuid"], "minted");
    assert_eq!(json["stats"]["duplicates"], 0);
    assert!(
        !feed
            .transcript
            .entries()
            .any(|entry| entry.is_unconfirmed())
    );
}

#[test]
fn an_echo_that_comes_first_is_the_prompt() {
    let mut feed = Feed::new();
    echo(&mut feed, "e1", &["one"]);
    feed.sends("e1", "one");
    assert_eq!(feed.said(), ["user: one"]);
}

#[test]
fn a_second_echo_is_a_duplicate() {
    let mut feed = Feed::new();
    for _ in 0..2 {
        echo(&mut feed, "e1", &["one"]);
    }
    assert_eq!(feed.said(), ["user: one"]);
    assert_eq!(feed.json()["stats"]["duplicates"], 1);
}

#[test]
fn merged_prompts_are_said_once_when_the_host_sent_them() {
    let mut feed = Feed::new();
    feed.sends("e1", "one").sends("e2", "two");
    echo(&mut feed, "e1", &["one"]);
    echo(&mut feed, "e2", &["one\\n", "two"]);
    assert_eq!(feed.said(), ["user: one", "user: two"]);
    assert_eq!(feed.json()["entries"][1]["replay"], true);
}

#[test]
fn merged_prompts_may_come_as_one_text() {
    let mut feed = Feed::new();
    feed.sends("e1", "one").sends("e2", "two");
    echo(&mut feed, "e1", &["one"]);
    echo(&mut feed, "e2", &["one\\ntwo"]);
    assert_eq!(feed.said(), ["user: one", "user: two"]);
}

#[test]
fn an_echo_in_other_words_confirms_by_its_uuid() {
    let image =
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}"#;
    let echo_with_image = |feed: &mut Feed, text: &str| {
        feed.raw(&format!(r#"{{"type":"user","message":{{"content":[{{"type":"text","text":"{text}"}},{image}]}},"isReplay":true,"uuid":"e2","session_id":"s"}}"#));
        feed.raw("\n");
    };
    let expected = [
        "user: one",
        "user: describe\n[image image/png 3 bytes]",
        "user: three",
    ];
    for first in ["describe", "one\\ndescribe"] {
        let mut feed = Feed::new();
        feed.sends("e1", "one")
            .sends("e2", "describe")
            .sends("e3", "three");
        assert_eq!(feed.said()[1], "user: describe");
        echo(&mut feed, "e1", &["one"]);
        for text in [first, "one\\ndescribe", "describe"] {
            echo_with_image(&mut feed, text);
            assert_eq!(feed.said(), expected);
        }
        echo(&mut feed, "e2", &["else"]);
        assert_eq!(feed.said(), expected);
        assert_eq!(feed.json()["entries"][1]["replay"], true);
        assert_eq!(feed.json()["entries"][1]["uuid"], "e2");
    }
}

#[test]
fn merged_prompts_of_a_recording_are_said_once() {
    let mut feed = Feed::new();
    echo(&mut feed, "e1", &["one"]);
    echo(&mut feed, "e2", &["one\\n", "two"]);
    assert_eq!(feed.said(), ["user: one", "user: two"]);
    // The same uuid with other content is not the same line.
    echo(&mut feed, "e1", &["else"]);
    assert_eq!(feed.said().len(), 3);
}

#[test]
fn a_line_that_a_terminal_typed_back_is_noise() {
    let mut feed = Feed::new();
    feed.raw("{\"type\":\"user\",\"message\":{\"content\":\"go\"}}\n");
    feed.raw("{\"type\":\"user\",\"message\":{\"content\":\"go\"},\"uuid\":\"e1\",\"session_id\":\"\"}\r\n");
    assert_eq!(feed.said(), [""; 0]);
    echo(&mut feed, "e1", &["go"]);
    assert_eq!(feed.said(), ["user: go"]);
}

#[test]
fn a_prompt_that_was_passed_over_waits_no_more() {
    let mut feed = Feed::new();
    feed.sends("", "never echoed").sends("", "two");
    echo(&mut feed, "e2", &["two"]);
    echo(&mut feed, "e3", &["never echoed"]);
    assert_eq!(
        feed.said(),
        ["user: never echoed", "user: two", "user: never echoed"]
    );
    // However many were not echoed, those behind the last echo are found.
    for round in 0..3 {
        for prompt in 0..60 {
            feed.sends("", &format!("p{prompt}"));
        }
        echo(&mut feed, &format!("q{round}"), &["p59"]);
    }
    assert_eq!(feed.said().len(), 183);
}
