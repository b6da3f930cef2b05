use serde_json::{Value, json, to_value};

use crate::schema::Schema;
use crate::test_util::{TestSession, entry_lines, text, without_bytes};

const ASYNC: &str = r#","tool_use_result":{"isAsync":true,"status":"async_launched"}"#;

#[test]
fn agents_nest_by_immediate_parent() {
    let mut session = TestSession::new();
    session.tool_use("null", "a1", "Agent");
    session.line(r#""type":"user","message":{"content":"do it"},"parent_tool_use_id":"a1","agent_id":"x1","subagent_type":"general""#);
    session
        .tool_use("\"a1\"", "a2", "Agent")
        .assistant_block_in("\"a2\"", "m9", &text("deep"));
    let outer = session.call_json("a1")["subagent"].clone();
    assert_eq!(
        (&outer["agent_id"], &outer["type"]),
        (&json!("x1"), &json!("general"))
    );
    assert_eq!(entry_lines(&outer), ["user: do it", "m-a2 complete: @a2"]);
    assert_eq!(
        entry_lines(&outer["tool_calls"]["a2"]["subagent"]),
        ["m9 complete: deep"]
    );
    assert_eq!(session.entry_lines(), ["m-a1 complete: @a1"]);
}

#[test]
fn tokens_of_an_agent_are_those_of_its_model_calls() {
    let mut session = TestSession::new();
    session.tool_use("null", "a1", "Agent");
    let mut called = |parent: &str, id: &str, text: &str, input: u64| {
        session.line(&format!(
            r#""type":"assistant","message":{{"id":"{id}","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":{input},"output_tokens":1,"cache_read_input_tokens":7}}}},"parent_tool_use_id":{parent}"#
        ));
    };
    called("\"a1\"", "m1", "one", 10);
    called("\"a1\"", "m1", "block more", 10);
    called("\"a1\"", "m2", "two", 20);
    called("\"a1\"", "m1", "late", 10);
    called("\"a2\"", "m3", "another agent", 5);
    called("null", "m4", "not an agent", 100);
    // What is made up by the agent itself has no tokens.
    session.line(r#""type":"assistant","message":{"id":"m5","content":[],"usage":{"input_tokens":0,"output_tokens":0}},"parent_tool_use_id":"a3""#);
    let mut usage = |call: &str| session.call_json(call)["subagent"]["usage"].clone();
    assert_eq!(
        usage("a1"),
        json!({"input_tokens": 30, "output_tokens": 2, "cache_read_tokens": 14, "cache_creation_tokens": 0})
    );
    assert_eq!(usage("a2")["input_tokens"], 5);
    assert_eq!(usage("a3"), Value::Null);
}

#[test]
fn early_child_is_adopted() {
    let mut session = TestSession::new();
    session.assistant_block_in("\"a2\"", "m9", &text("deep"));
    let parked = session.json()["tool_calls"]["a2"].clone();
    assert_eq!(
        (&parked["name"], &parked["state"]),
        (&json!(""), &json!("lost"))
    );
    assert_eq!(parked["input"], Value::Null);
    session
        .tool_use("\"a1\"", "a2", "Agent")
        .tool_use("null", "a1", "Agent");
    let json = session.json();
    assert_eq!(json["tool_calls"].as_object().unwrap().len(), 1);
    let inner = &json["tool_calls"]["a1"]["subagent"]["tool_calls"]["a2"];
    assert_eq!(
        (&inner["name"], &inner["state"]),
        (&json!("Agent"), &json!("running"))
    );
    assert_eq!(entry_lines(&inner["subagent"]), ["m9 complete: deep"]);
}

/// Older agents print the start of a nested agent's task before its call.
#[test]
fn agent_is_same_in_any_order_of_call_task_and_lines() {
    let steps: [fn(&mut TestSession); 4] = [
        |session| {
            session.tool_use("\"a1\"", "a2", "Agent");
        },
        |session| {
            session.line(r#""type":"system","subtype":"task_started","task_id":"x2","tool_use_id":"a2","task_type":"local_agent","subagent_type":"general","description":"dig""#);
        },
        |session| {
            session.line(r#""type":"system","subtype":"task_progress","task_id":"x2","tool_use_id":"a2","description":"digging""#);
        },
        |session| {
            session.assistant_block_in("\"a2\"", "m9", &text("deep"));
        },
    ];
    let fold = |order: &[usize], is_closed: bool| {
        let mut session = TestSession::new();
        session.tool_use("null", "a1", "Agent");
        order.iter().for_each(|&at| steps[at](&mut session));
        if is_closed {
            session.tool_result("a2", "dug", false, r#","parent_tool_use_id":"a1""#);
        }
        // Their lines are elsewhere in the stream.
        without_bytes(session.end().json())
    };
    let orders = |length: usize| {
        let numbers = (0..length.pow(length as u32)).map(move |number| {
            let digit = |place| number / length.pow(place) % length;
            (0..length as u32).map(digit).collect::<Vec<_>>()
        });
        numbers.filter(move |order| (0..length).all(|at| order.contains(&at)))
    };
    for length in [2, 3, 4] {
        for is_closed in [false, true] {
            let wanted = fold(&(0..length).collect::<Vec<_>>(), is_closed);
            let agent = &wanted["tool_calls"]["a1"]["subagent"]["tool_calls"]["a2"]["subagent"];
            assert_eq!(
                (&agent["agent_id"], &agent["type"]),
                (&json!("x2"), &json!("general"))
            );
            for order in orders(length) {
                assert_eq!(fold(&order, is_closed), wanted, "{order:?}");
            }
        }
    }
}

/// A sub-agent without lines, whose call was never printed.
#[test]
fn task_without_call_is_visible() {
    let mut session = TestSession::new();
    session.line(r#""type":"system","subtype":"task_started","task_id":"x1","tool_use_id":"gone","task_type":"local_agent","description":"dig""#);
    let call = session.end().call_json("gone");
    assert_eq!(
        (&call["name"], &call["state"]),
        (&json!(""), &json!("lost"))
    );
    assert_eq!(call["subagent"]["agent_id"], "x1");
}

#[test]
fn child_without_parent_is_visible() {
    let mut session = TestSession::new();
    session
        .assistant_block_in("\"gone\"", "m9", &text("alone"))
        .end();
    let call = session.call_json("gone");
    assert_eq!(
        (&call["name"], &call["state"]),
        (&json!(""), &json!("lost"))
    );
    assert_eq!(entry_lines(&call["subagent"]), ["m9 complete: alone"]);
}

#[test]
fn cyclic_agents_stay_visible() {
    let mut session = TestSession::new();
    session
        .tool_use("\"b\"", "a", "Agent")
        .tool_use("\"a\"", "b", "Agent");
    session
        .assistant_block_in("\"a\"", "m1", &text("in a"))
        .assistant_block_in("\"b\"", "m2", &text("in b"));
    let json = session.end().json().to_string();
    assert!(json.contains("in a") && json.contains("in b"));
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for is_reversed in [false, true] {
        let mut session = TestSession::new();
        let mut levels: Vec<u32> = (0..500).collect();
        if is_reversed {
            levels.reverse();
        }
        for level in levels {
            let parent = match level {
                0 => "null".to_owned(),
                _ => format!("\"a{}\"", level - 1),
            };
            session.tool_use(&parent, &format!("a{level}"), "Agent");
        }
        let json = session.end().json().to_string();
        for level in 0..500 {
            assert!(
                json.contains(&format!("\"id\":\"a{level}\",\"name\":\"Agent\"")),
                "{level}"
            );
        }
    }
}

#[test]
fn background_agent_outlives_its_call() {
    let mut session = TestSession::new();
    session.tool_use("null", "a1", "Agent");
    session.line(r#""type":"system","subtype":"task_started","task_id":"x1","tool_use_id":"a1","task_type":"local_agent","subagent_type":"general","description":"dig","is_backgrounded":true"#);
    session.tool_use("\"a1\"", "t1", "Bash").tool_result(
        "a1",
        "Async agent launched",
        false,
        ASYNC,
    );
    assert_eq!(session.call_json("a1")["state"], "succeeded");
    assert_eq!(session.call_json("t1")["state"], "running");
    session.line(r#""type":"result","subtype":"success","is_error":false,"result":"ok""#);
    assert_eq!(session.phase(), "running");
    session.tool_result("t1", "dug", false, r#","parent_tool_use_id":"a1""#);
    session.assistant_block_in("\"a1\"", "m9", &text("report"));
    session.line(
        r#""type":"system","subtype":"task_notification","task_id":"x1","status":"completed""#,
    );
    assert_eq!(session.phase(), "idle");
    let agent = session.call_json("a1")["subagent"].clone();
    assert_eq!(
        (&agent["agent_id"], &agent["type"]),
        (&json!("x1"), &json!("general"))
    );
    assert_eq!(
        entry_lines(&agent),
        ["m-t1 complete: @t1", "m9 complete: report"]
    );
}

#[test]
fn open_calls_close_with_their_agent() {
    let rejected = r#","tool_use_result":"User rejected tool use""#;
    for (is_error, more, inside) in [
        (true, rejected, "interrupted"),
        (true, "", "lost"),
        (false, "", "lost"),
    ] {
        let mut session = TestSession::new();
        session
            .tool_use("null", "a1", "Agent")
            .tool_use("\"a1\"", "a2", "Agent");
        session
            .tool_use("\"a2\"", "t1", "Bash")
            .tool_result("a1", "over", is_error, more);
        assert_eq!(session.call_json("a2")["state"], inside);
        assert_eq!(session.call_json("t1")["state"], inside);
    }
}

/// A tool use whose input nests `depth` levels.
fn deep(kind: &str, depth: usize) -> String {
    let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
    format!(r#"{{"type":"{kind}","id":"deep","name":"Bash","input":{{"]\"[":{open}{close}}}}}"#)
}

/// Eight agents, and what the innermost says.
fn eight(session: &mut TestSession, is_reversed: bool, content: &str) {
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
            8 => session.assistant_block_in(&parent, "m-deep", content),
            _ => session.tool_use(&parent, &format!("a{level}"), "Agent"),
        };
        session.json();
    }
}

#[test]
fn json_depth_is_bounded() {
    // 120 levels less what stands around the value: 3 or 5, and 3 for each agent.
    for (kind, room) in [("tool_use", 93), ("other", 90)] {
        for (depth, is_text) in [(room, false), (room + 1, true), (110, true)] {
            for is_reversed in [false, true] {
                let content = deep(kind, depth);
                let mut session = TestSession::new();
                eight(&mut session, is_reversed, &content);
                let json: Value = serde_json::from_str(&session.transcript.to_json()).unwrap();
                assert_eq!(
                    json,
                    to_value(session.transcript.json(Schema::One)).unwrap()
                );
                // Schema 2 is no deeper.
                let second = session.json();
                let text = second.to_string();
                assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), second);
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
                    content.contains(&text)
                        || serde_json::from_str::<Value>(&content).unwrap() == *value
                );
            }
        }
    }
}
