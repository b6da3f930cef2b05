use serde_json::{Value, json};

use crate::feed::{Feed, said, text};

const ASYNC: &str = r#","tool_use_result":{"isAsync":true,"status":"async_launched"}"#;

#[test]
fn agents_nest_by_their_immediate_parent() {
    let mut feed = Feed::new();
    feed.calls("null", "a1", "Agent");
    feed.line(r#""type":"user","message":{"content":"do it"},"parent_tool_use_id":"a1","agent_id":"x1","subagent_type":"general""#);
    feed.calls("\"a1\"", "a2", "Agent")
        .says_in("\"a2\"", "m9", &text("deep"));
    let outer = feed.call("a1")["subagent"].clone();
    assert_eq!(
        (&outer["agent_id"], &outer["type"]),
        (&json!("x1"), &json!("general"))
    );
    assert_eq!(said(&outer), ["user: do it", "m-a2 complete: @a2"]);
    assert_eq!(
        said(&outer["tool_calls"]["a2"]["subagent"]),
        ["m9 complete: deep"]
    );
    assert_eq!(feed.said(), ["m-a1 complete: @a1"]);
}

#[test]
fn a_child_that_comes_first_is_adopted() {
    let mut feed = Feed::new();
    feed.says_in("\"a2\"", "m9", &text("deep"));
    let parked = feed.json()["tool_calls"]["a2"].clone();
    assert_eq!(
        (&parked["name"], &parked["state"]),
        (&json!(""), &json!("lost"))
    );
    assert_eq!(parked["input"], Value::Null);
    feed.calls("\"a1\"", "a2", "Agent")
        .calls("null", "a1", "Agent");
    let json = feed.json();
    assert_eq!(json["tool_calls"].as_object().unwrap().len(), 1);
    let inner = &json["tool_calls"]["a1"]["subagent"]["tool_calls"]["a2"];
    assert_eq!(
        (&inner["name"], &inner["state"]),
        (&json!("Agent"), &json!("running"))
    );
    assert_eq!(said(&inner["subagent"]), ["m9 complete: deep"]);
}

#[test]
fn a_child_without_a_parent_is_shown_all_the_same() {
    let mut feed = Feed::new();
    feed.says_in("\"gone\"", "m9", &text("alone")).ends();
    let call = feed.call("gone");
    assert_eq!(
        (&call["name"], &call["state"]),
        (&json!(""), &json!("lost"))
    );
    assert_eq!(said(&call["subagent"]), ["m9 complete: alone"]);
}

#[test]
fn agents_that_name_each_other_stay_visible() {
    let mut feed = Feed::new();
    feed.calls("\"b\"", "a", "Agent")
        .calls("\"a\"", "b", "Agent");
    feed.says_in("\"a\"", "m1", &text("in a"))
        .says_in("\"b\"", "m2", &text("in b"));
    let json = feed.ends().json().to_string();
    assert!(json.contains("in a") && json.contains("in b"));
}

#[test]
fn nesting_without_end_is_shown_without_end_of_the_stack() {
    for is_reversed in [false, true] {
        let mut feed = Feed::new();
        let mut levels: Vec<u32> = (0..500).collect();
        if is_reversed {
            levels.reverse();
        }
        for level in levels {
            let parent = match level {
                0 => "null".to_owned(),
                _ => format!("\"a{}\"", level - 1),
            };
            feed.calls(&parent, &format!("a{level}"), "Agent");
        }
        let json = feed.ends().json().to_string();
        for level in 0..500 {
            assert!(
                json.contains(&format!("\"id\":\"a{level}\",\"name\":\"Agent\"")),
                "{level}"
            );
        }
    }
}

#[test]
fn a_background_agent_outlives_its_call() {
    let mut feed = Feed::new();
    feed.calls("null", "a1", "Agent");
    feed.line(r#""type":"system","subtype":"task_started","task_id":"x1","tool_use_id":"a1","task_type":"local_agent","subagent_type":"general","description":"dig","is_backgrounded":true"#);
    feed.calls("\"a1\"", "t1", "Bash")
        .gives("a1", "Async agent launched", false, ASYNC);
    assert_eq!(feed.call("a1")["state"], "succeeded");
    assert_eq!(feed.call("t1")["state"], "running");
    feed.line(r#""type":"result","subtype":"success","is_error":false,"result":"ok""#);
    assert_eq!(feed.phase(), "running");
    feed.gives("t1", "dug", false, r#","parent_tool_use_id":"a1""#);
    feed.says_in("\"a1\"", "m9", &text("report"));
    feed.line(
        r#""type":"system","subtype":"task_notification","task_id":"x1","status":"completed""#,
    );
    assert_eq!(feed.phase(), "idle");
    let agent = feed.call("a1")["subagent"].clone();
    assert_eq!(
        (&agent["agent_id"], &agent["type"]),
        (&json!("x1"), &json!("general"))
    );
    assert_eq!(said(&agent), ["m-t1 complete: @t1", "m9 complete: report"]);
}

#[test]
fn what_is_open_inside_closes_with_its_agent() {
    let rejected = r#","tool_use_result":"User rejected tool use""#;
    for (is_error, more, inside) in [
        (true, rejected, "interrupted"),
        (true, "", "lost"),
        (false, "", "lost"),
    ] {
        let mut feed = Feed::new();
        feed.calls("null", "a1", "Agent")
            .calls("\"a1\"", "a2", "Agent");
        feed.calls("\"a2\"", "t1", "Bash")
            .gives("a1", "over", is_error, more);
        assert_eq!(feed.call("a2")["state"], inside);
        assert_eq!(feed.call("t1")["state"], inside);
    }
}

/// A tool use whose input nests `depth` levels.
fn deep(kind: &str, depth: usize) -> String {
    let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
    format!(r#"{{"type":"{kind}","id":"deep","name":"Bash","input":{{"]\"[":{open}{close}}}}}"#)
}

/// Eight agents, and what the innermost says.
fn eight(feed: &mut Feed, is_reversed: bool, said: &str) {
    let mut levels: Vec<u32> = (0..9).collect();
    if is_reversed {
        levels.reverse();
    }
    for level in levels {
        let parent = match level {
            0 => "null".to_owned(),
            _ => format!("\"a{}\"", level - 1),
        };
        match level {
            8 => feed.says_in(&parent, "m-deep", said),
            _ => feed.calls(&parent, &format!("a{level}"), "Agent"),
        };
        feed.json();
    }
}

#[test]
fn json_stays_readable_whatever_nests_in_it() {
    // 120 levels less what stands around the value: 3 or 5, and 3 for each agent.
    for (kind, room) in [("tool_use", 93), ("other", 90)] {
        for (depth, is_text) in [(room, false), (room + 1, true), (110, true)] {
            for is_reversed in [false, true] {
                let said = deep(kind, depth);
                let mut feed = Feed::new();
                eight(&mut feed, is_reversed, &said);
                let json: Value = serde_json::from_str(&feed.transcript.to_json()).unwrap();
                assert_eq!(json, feed.json());
                let mut thread = &json;
                for level in 0..8 {
                    thread = &thread["tool_calls"][format!("a{level}")]["subagent"];
                }
                let value = match kind {
                    "tool_use" => &thread["tool_calls"]["deep"]["input"],
                    _ => &thread["entries"][0]["blocks"][0]["raw"],
                };
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                assert_eq!(value.is_string(), is_text, "{kind} {depth}");
                assert!(
                    said.contains(&text) || serde_json::from_str::<Value>(&said).unwrap() == *value
                );
            }
        }
    }
}
