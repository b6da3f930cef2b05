//! The members of schema 2, of Claude Code's own lines.

use serde_json::{Value, json};

use crate::test_util::{TestSession, text};

/// Appends a tool use with an input.
fn used(session: &mut TestSession, id: &str, name: &str, input: &Value) {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    session.assistant_block(&format!("m-{id}"), &block.to_string());
}

#[test]
fn tools_show_command_diff_and_place() {
    let mut session = TestSession::new();
    let edit = json!({"file_path": "/p/a", "old_string": "one", "new_string": "two"});
    used(&mut session, "e", "Edit", &edit);
    let read = json!({"file_path": "/p/b", "offset": 7});
    used(&mut session, "r", "Read", &read);
    used(&mut session, "b", "Bash", &json!({"command": "make x"}));
    session.tool_result("b", r"Exit code 2\nno rule", true, "");
    let edit = session.call_json("e");
    assert_eq!(
        (&edit["kind"], &edit["title"]),
        (&json!("edit"), &json!("/p/a"))
    );
    assert_eq!(
        edit["content"],
        json!([{"type": "diff", "path": "/p/a", "old": "one", "new": "two", "patch": null}])
    );
    let read = session.call_json("r");
    assert_eq!(read["kind"], "read");
    assert_eq!(read["locations"], json!([{"path": "/p/b", "line": 7}]));
    let command = session.call_json("b");
    assert_eq!(
        (
            &command["kind"],
            &command["title"],
            &command["exit_code"],
            &command["content"]
        ),
        (
            &json!("execute"),
            &json!("make x"),
            &json!(2),
            &json!([{"type": "terminal", "command": "make x", "cwd": null}])
        )
    );
}

#[test]
fn entries_have_the_turn_that_they_are_part_of() {
    let mut session = TestSession::new();
    let result = r#""type":"result","subtype":"success","is_error":false,"result":"""#;
    for prompt in ["one", "two"] {
        session.prompt_sent(&format!("p-{prompt}"), prompt);
        session.assistant_block(&format!("m-{prompt}"), &text("answer"));
        session.line(result);
    }
    let json = session.json();
    let entries = json["entries"].as_array().unwrap().iter();
    let turns: Vec<_> = entries.map(|it| it["turn"].as_str().unwrap()).collect();
    assert_eq!(turns, ["1", "1", "1", "2", "2", "2"], "{json}");
}

#[test]
fn usage_limits_have_their_share_and_reset() {
    let mut session = TestSession::new();
    let mut limit = |window: &str, share: f64| {
        let info = json!({"status": "allowed", "rateLimitType": window, "utilization": share, "resetsAt": 1_795_500_000});
        session.line(&format!(
            r#""type":"rate_limit_event","rate_limit_info":{info}"#
        ));
    };
    limit("five_hour", 0.25);
    limit("seven_day", 0.5);
    limit("five_hour", 0.75);
    let limit = |window: &str, share: f64| json!({"window": window, "used_share": share, "resets_at_ms": 1_795_500_000_000_u64});
    assert_eq!(
        session.json()["limits"],
        json!([limit("five_hour", 0.75), limit("seven_day", 0.5)])
    );
}

#[test]
fn request_says_which_rule_an_answer_would_add() {
    let mut session = TestSession::new();
    let rule = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "make *"}], "behavior": "allow", "destination": "session"});
    let request = json!({
        "subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "make"}, "tool_use_id": "t",
        "permission_suggestions": [rule],
    });
    session.line(&format!(
        r#""type":"control_request","request_id":"q","request":{request}"#
    ));
    let json = session.json();
    let asked = &json["permissions"][0];
    let kinds = asked["options"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
    assert_eq!(asked["rule"], "Bash(make *)");
}
