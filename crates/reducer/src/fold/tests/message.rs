use serde_json::json;

use crate::feed::{Feed, text, tool};

#[test]
fn the_lines_of_one_message_are_one_entry() {
    let mut feed = Feed::new();
    feed.says(
        "m1",
        r#"{"type":"thinking","thinking":"hm","signature":"x"}"#,
    );
    feed.says("m1", r#"{"type":"redacted_thinking","data":"x"}"#);
    feed.says("m1", &text("Ahoy"))
        .says("m1", &tool("t1", "Bash"));
    feed.says("m2", &text("next"));
    assert_eq!(
        feed.said(),
        [
            "m1 complete: (hm) | redacted_thinking | Ahoy | @t1",
            "m2 complete: next"
        ]
    );
    assert_eq!(feed.json()["entries"][0]["model"], "m");
}

#[test]
fn a_block_of_another_type_is_kept_as_it_is() {
    let mut feed = Feed::new();
    feed.says(
        "m1",
        r#"{"type":"server_tool_use","id":"x","input":{"q":"\ud83d"}}"#,
    );
    let raw = &feed.json()["entries"][0]["blocks"][0];
    let expected = json!({"type": "server_tool_use", "id": "x", "input": {"q": "\u{fffd}"}});
    assert_eq!(*raw, json!({"type": "other", "raw": expected}));
}

#[test]
fn the_content_of_a_message_may_be_a_string() {
    let mut feed = Feed::new();
    feed.line(r#""type":"assistant","message":{"id":"m1","content":"Ahoy"}"#);
    assert_eq!(feed.said(), ["m1 complete: Ahoy"]);
}

#[test]
fn superseded_lines_are_taken_back() {
    let mut feed = Feed::new();
    feed.says("m1", &text("kept"))
        .says("m1", &text("bad"))
        .says("m2", &tool("t1", "Bash"));
    assert_eq!(feed.json()["tool_calls"].as_object().unwrap().len(), 1);
    feed.line(r#""type":"assistant","supersedes":["u2","u3","u99"],"message":{"id":"m3","content":[{"type":"text","text":"good"}]}"#);
    assert_eq!(feed.said(), ["m1 complete: kept", "m3 complete: good"]);
    assert_eq!(feed.json()["tool_calls"], json!({}));
}

#[test]
fn retracted_lines_are_taken_back_however_often_it_is_said() {
    let mut feed = Feed::new();
    feed.says("m1", &text("refused"));
    feed.line(r#""type":"user","message":{"content":"go"}"#);
    for _ in 0..2 {
        feed.line(r#""type":"system","subtype":"model_refusal_fallback","content":"a model refused","retracted_message_uuids":["u1","u2"]"#);
    }
    let notice = "notice model_refusal_fallback: a model refused";
    assert_eq!(feed.said(), [notice, notice]);
}

#[test]
fn a_call_that_ran_outlives_its_block() {
    let mut feed = Feed::new();
    feed.says("m1", &tool("t1", "Bash"))
        .gives("t1", "done", false, "");
    feed.line(r#""type":"assistant","supersedes":["u1"],"message":{"id":"m2","content":[]}"#);
    assert_eq!(feed.call("t1")["result"]["text"], "done");
}

/// What a line looks at is what waits for one: here one draft that nothing ends.
#[test]
fn a_message_of_many_lines_costs_its_lines() {
    const LINES: u32 = 2_000;
    let mut feed = Feed::new();
    feed.drafts("m1")
        .writes("m1", 0, "as far as")
        .stops("m1", 0);
    for line in 1..=LINES {
        feed.streams("m1", &format!(r#"{{"type":"content_block_start","index":{line},"content_block":{{"type":"redacted_thinking"}}}}"#));
        feed.says("m1", r#"{"type":"redacted_thinking"}"#);
        feed.stops("m1", line);
    }
    let blocks = feed.json()["entries"][0]["blocks"].clone();
    assert_eq!(blocks.as_array().unwrap().len(), LINES as usize + 1);
    let entry = feed.transcript.entries().next().unwrap().id();
    assert_eq!(feed.transcript.drafted_blocks(entry).count(), 1);
    feed.says("m1", &text("as far as it goes"));
    assert_eq!(feed.transcript.drafted_blocks(entry).count(), 0);
    let message = feed.transcript.message(entry).unwrap();
    assert_eq!(message.first_drafted, None);
}
