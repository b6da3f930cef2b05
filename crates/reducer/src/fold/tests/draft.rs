use crate::feed::{Feed, text, tool};

const STOP: &str = r#"{"type":"message_stop"}"#;

#[test]
fn a_line_takes_the_place_of_its_draft() {
    let mut feed = Feed::new();
    feed.drafts("m1").writes("m1", 0, "Ah").adds("m1", 0, "oy");
    assert_eq!(feed.said(), ["m1 streaming: Ahoy"]);
    feed.says("m1", &text("Ahoy"));
    assert_eq!(feed.said(), ["m1 streaming: Ahoy"]);
    feed.stops("m1", 0).streams("m1", STOP);
    assert_eq!(feed.said(), ["m1 complete: Ahoy"]);
}

#[test]
fn the_line_counts_when_it_says_something_else() {
    for said in ["Ahoy there", "Ah", "Other", ""] {
        let mut feed = Feed::new();
        feed.drafts("m1").writes("m1", 0, "Ahoy");
        feed.json();
        feed.says("m1", &text(said))
            .stops("m1", 0)
            .streams("m1", STOP);
        assert_eq!(feed.said(), [format!("m1 complete: {said}")]);
    }
}

#[test]
fn each_line_finds_its_own_draft() {
    let mut feed = Feed::new();
    // The agent sends no line for an empty block.
    feed.drafts("m1").writes("m1", 0, "").stops("m1", 0);
    feed.writes("m1", 1, "one")
        .says("m1", &text("one"))
        .stops("m1", 1);
    feed.writes("m1", 2, "one")
        .says("m1", &text("one"))
        .stops("m1", 2);
    feed.streams("m1", STOP);
    assert_eq!(feed.said(), ["m1 complete: one | one"]);
}

#[test]
fn lines_that_come_behind_the_draft_are_reconciled_as_well() {
    let mut feed = Feed::new();
    feed.drafts("m1").writes("m1", 0, "one").stops("m1", 0);
    feed.writes("m1", 1, "two")
        .stops("m1", 1)
        .streams("m1", STOP);
    feed.says("m1", &text("one")).says("m1", &text("two"));
    assert_eq!(feed.said(), ["m1 complete: one | two"]);
}

#[test]
fn abandoned_blocks_go_and_finished_ones_stay() {
    let mut feed = Feed::new();
    feed.drafts("m1")
        .writes("m1", 0, "kept")
        .says("m1", &text("kept"))
        .stops("m1", 0);
    feed.writes("m1", 1, "void").stops("m1", 1);
    feed.json();
    feed.line(&format!(
        r#""type":"stream_event","event":{STOP},"api_message_id":"m1","abandoned_blocks":{{"api_message_id":"m1","from_block_index":0}}"#
    ));
    assert_eq!(feed.said(), ["m1 complete: kept"]);
}

#[test]
fn a_message_without_blocks_leaves_no_trace() {
    let mut feed = Feed::new();
    feed.drafts("m1");
    feed.streams(
        "m1",
        &format!(
            r#"{{"type":"content_block_start","index":0,"content_block":{}}}"#,
            tool("t1", "Bash")
        ),
    );
    assert_eq!(feed.json()["tool_calls"]["t1"]["state"], "pending");
    feed.line(&format!(
        r#""type":"stream_event","event":{STOP},"api_message_id":"m1","abandoned_blocks":{{"api_message_id":"m1","from_block_index":0}}"#
    ));
    let json = feed.json();
    assert_eq!(json["entries"].as_array().unwrap().len(), 0);
    assert_eq!(json["tool_calls"].as_object().unwrap().len(), 0);
}

#[test]
fn a_retry_voids_the_open_draft() {
    let mut feed = Feed::new();
    feed.drafts("m1")
        .writes("m1", 0, "lost")
        .stops("m1", 0)
        .writes("m1", 1, "too");
    feed.json();
    feed.line(r#""type":"system","subtype":"api_retry","attempt":1,"max_retries":3,"retry_delay_ms":500,"error_status":529,"error":"overloaded""#);
    feed.drafts("m2").writes("m2", 0, "again");
    assert_eq!(
        feed.said(),
        [
            "notice api_retry: attempt 1 of 3 in 500 ms: overloaded (529)",
            "m2 streaming: again"
        ]
    );
}

#[test]
fn another_draft_voids_what_the_last_one_left_open() {
    let mut feed = Feed::new();
    feed.drafts("m1")
        .writes("m1", 0, "kept")
        .says("m1", &text("kept"))
        .stops("m1", 0);
    feed.writes("m1", 1, "lost")
        .drafts("m2")
        .writes("m2", 0, "new");
    assert_eq!(feed.said(), ["m1 aborted: kept", "m2 streaming: new"]);
}

#[test]
fn a_message_that_does_not_stream_voids_the_draft() {
    let mut feed = Feed::new();
    feed.drafts("m1").writes("m1", 0, "Aho");
    feed.json();
    feed.says("m3", &text("Ahoy"));
    assert_eq!(feed.said(), ["m3 complete: Ahoy"]);
    // When the draft was alive after all, its line brings it back.
    feed.says("m1", &text("Ahoy?"));
    assert_eq!(feed.said(), ["m1 aborted: Ahoy?", "m3 complete: Ahoy"]);
}

#[test]
fn the_input_of_a_tool_is_put_together_at_its_end() {
    for (pieces, input) in [
        (
            vec![r#"{\"a\":"#, r"[1,2]}"],
            serde_json::json!({"a": [1, 2]}),
        ),
        (vec![""], serde_json::json!({})),
        (vec![], serde_json::json!({})),
        (vec![r#"{\"a\":"#], serde_json::Value::Null),
    ] {
        let mut feed = Feed::new();
        feed.drafts("m1");
        let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"Bash","input":{}}}"#;
        feed.streams("m1", start);
        for piece in pieces {
            feed.streams("m1", &format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{piece}"}}}}"#));
        }
        assert_eq!(feed.call("t1")["input"], serde_json::Value::Null);
        feed.stops("m1", 0);
        assert_eq!(feed.call("t1")["input"], input);
        assert_eq!(feed.call("t1")["state"], "pending");
        feed.says("m1", &tool("t1", "Bash")).streams("m1", STOP);
        assert_eq!(feed.call("t1")["input"], serde_json::json!({"n": 1}));
        assert_eq!(feed.call("t1")["state"], "running");
        assert_eq!(feed.said(), ["m1 complete: @t1"]);
    }
}

#[test]
fn a_surrogate_pair_over_two_deltas_is_one_character() {
    let mut feed = Feed::new();
    feed.drafts("m1").writes("m1", 0, r"a\ud83d");
    assert_eq!(feed.said(), ["m1 streaming: a\u{fffd}"]);
    feed.adds("m1", 0, r"\ude00b");
    assert_eq!(feed.said(), ["m1 streaming: a😀b"]);
}

#[test]
fn an_interrupted_message_stays_aborted() {
    let mut feed = Feed::new();
    feed.drafts("m1").writes("m1", 0, "half a wo");
    feed.line(r#""type":"assistant","aborted":true,"message":{"id":"m1","content":[{"type":"text","text":"half a wo"}]}"#);
    feed.stops("m1", 0).streams("m1", STOP);
    assert_eq!(feed.said(), ["m1 aborted: half a wo"]);
}

#[test]
fn a_stream_that_is_cut_leaves_an_aborted_message() {
    let mut feed = Feed::new();
    feed.drafts("m1").writes("m1", 0, "half").ends();
    assert_eq!(feed.said(), ["m1 aborted: half"]);
}

#[test]
fn a_draft_whose_beginning_was_missed_begins_in_the_middle() {
    let mut feed = Feed::new();
    feed.adds("m1", 3, "dle").adds("m1", 3, " part");
    assert_eq!(feed.said(), ["m1 streaming: dle part"]);
    feed.says("m1", &text("the middle part"))
        .stops("m1", 3)
        .streams("m1", STOP);
    assert_eq!(feed.said(), ["m1 complete: the middle part"]);
}
