//! Prompts: echo, lifecycle lines, queueing, folding, duplicates.

use serde_json::Value;

use crate::process::{Process, all, find, fixture, names, run_once, sequence, shape, texts};

const A: &str = "aaaaaaaa-0000-4000-8000-000000000000";
const B: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const C: &str = "aaaaaaaa-0000-4000-8000-000000000002";

/// The first turn waits for a control request of the host.
const WAITS: &str = "
    [[turn]]\nsteps = [ { wait_for = { control = 'mcp_status' } }, { text = 'one' } ]
    [[turn]]\nsteps = [ { text = 'three' } ]";

#[test]
fn prompt_is_answered() {
    let run = run_once("hello there", &[]);
    assert_eq!(
        names(&run.events()),
        ["system/init", "assistant", "result/success"]
    );
    assert_eq!(texts(&run.events()), ["You said: hello there"]);
    assert_eq!(run.events()[2]["result"], "You said: hello there");
    assert_eq!(run.code(), Some(0));
    assert_eq!(run.stderr, "");
}

#[test]
fn prompt_is_blocks_argument_or_text() {
    let run = run_once(
        "x",
        &["-p", "as an argument", "--output-format", "stream-json"],
    );
    assert_eq!(texts(&run.events()), ["You said: as an argument"]);
    let mut process = Process::start(&["--input-format", "text"]);
    process.send_raw(b"plain text");
    assert_eq!(texts(&process.finish().events()), ["You said: plain text"]);
    let mut process = Process::start(&["--input-format", "stream-json", "ignored"]);
    process.send(
        &serde_json::json!({"type": "user", "message": {"role": "user", "content": [
            {"type": "text", "text": "in "}, {"type": "text", "text": "blocks"},
        ]}}),
    );
    assert_eq!(texts(&process.finish().events()), ["You said: in blocks"]);
}

#[test]
fn prompt_uuids_have_lifecycle_lines() {
    let mut process = Process::start(&[]);
    process.prompt_as(A, "hi");
    let events = process.finish().events();
    let states: Vec<&Value> = all(&events, "command_lifecycle")
        .iter()
        .map(|event| &event["state"])
        .collect();
    assert_eq!(states, ["queued", "started", "completed"]);
    assert_eq!(events.last().unwrap()["state"], "completed");
    for kind in ["system/init", "assistant", "result/success"] {
        assert_eq!(find(&events, kind)["user_message_uuids"][0], A, "{kind}");
    }
}

#[test]
fn prompt_without_uuid_has_no_lifecycle_lines() {
    let events = run_once("hi", &[]).events();
    assert!(all(&events, "command_lifecycle").is_empty());
    assert!(
        events
            .iter()
            .all(|event| event["user_message_uuids"].is_null())
    );
}

#[test]
fn queued_prompts_become_one_turn() {
    let mut process = Process::script(WAITS, &["--replay-user-messages"]);
    process.prompt_as(A, "one");
    let mut events = process.until("system/init");
    let both = [B, C].map(|uuid| {
        serde_json::json!({"type": "user", "uuid": uuid,
            "message": {"role": "user", "content": uuid}})
    });
    process.send_raw(format!("{}\n{}\n", both[0], both[1]).as_bytes());
    process.request("go-on", &serde_json::json!({"subtype": "mcp_status"}));
    events.extend(process.finish().events());
    let results = all(&events, "result/success");
    assert_eq!(results.len(), 2);
    assert_eq!(results[1]["user_message_uuid"], C);
    assert_eq!(results[1]["user_message_uuids"], serde_json::json!([B, C]));
    // The recording differs only in when the third prompt was read.
    let recorded = fixture("multi_all_at_once.jsonl");
    let tail = |events: &[Value]| {
        let first = events
            .iter()
            .position(|event| event["type"] == "result")
            .unwrap();
        sequence(&events[first..])
    };
    assert_eq!(tail(&events), tail(&recorded));
    let echoes: Vec<&Value> = events
        .iter()
        .filter(|event| event["isReplay"] == true)
        .collect();
    assert_eq!(echoes.len(), 3);
    assert!(echoes[1]["timestamp"].is_null());
    assert_eq!(echoes[2]["message"]["content"][0]["text"], format!("{B}\n"));
}

#[test]
fn prompt_during_tool_joins_turn() {
    let toml = "[[turn]]\nsteps = [ { text = 'Long command.' }, { tool = { name = 'Bash', \
                input = { command = 'sleep 3' }, ask = true, result = 'r' } }, \
                { text = 'Slept.' } ]";
    let mut process = Process::script(
        toml,
        &[
            "--replay-user-messages",
            "--permission-prompt-tool",
            "stdio",
        ],
    );
    process.prompt_as(A, "go");
    let ask = process.until("control_request").pop().unwrap();
    process.prompt_as(B, "and this");
    process.until("command_lifecycle");
    process.answer(&ask, &serde_json::json!({"behavior": "allow"}));
    let events = process.finish().events();
    let recorded = fixture("queue_midturn.jsonl");
    let after = |events: &[Value]| {
        let result = events
            .iter()
            .position(|event| shape(event) == "user[tool_result]")
            .unwrap();
        sequence(&events[result..])
    };
    assert_eq!(after(&events), after(&recorded));
    let result = find(&events, "result/success");
    assert_eq!(result["user_message_uuids"], serde_json::json!([A, B]));
}

#[test]
fn folding_is_optional() {
    let toml = "fold = false\n[[turn]]\nsteps = [ { tool = { name = 'Bash', ask = true } } ]";
    let mut process = Process::script(toml, &["--permission-prompt-tool", "stdio"]);
    process.prompt("go");
    let ask = process.until("control_request").pop().unwrap();
    process.prompt("later");
    process.prompt("last");
    process.answer(&ask, &serde_json::json!({"behavior": "allow"}));
    let events = process.finish().events();
    assert_eq!(texts(&events), ["You said: later", "You said: last"]);
    assert_eq!(all(&events, "result/success").len(), 3);
}

#[test]
fn duplicate_uuid_is_only_echoed() {
    let mut process = Process::start(&["--replay-user-messages"]);
    process.prompt_as(A, "dup");
    process.until("result/success");
    process.prompt_as(A, "dup");
    let events = process.finish().events();
    assert_eq!(sequence(&events), ["command_lifecycle", "user[text]"]);
    assert_eq!(events[1]["uuid"], A);
    assert!(events[1]["timestamp"].is_null());
}

#[test]
fn turns_match_prompts() {
    let toml = "
        [[turn]]\nmatch = 'red'\nrepeat = true\nsteps = [ { text = 'RED {{prompt}}' } ]
        [[turn]]\nsteps = [ { text = 'FIRST' } ]";
    let mut process = Process::script(toml, &[]);
    for prompt in ["a red one", "any", "red again", "none left"] {
        process.prompt(prompt);
        let events = process.until("result/success");
        let expected = match prompt {
            "any" => "FIRST".to_owned(),
            "none left" => "You said: none left".to_owned(),
            red => format!("RED {red}"),
        };
        assert_eq!(texts(&events), [expected]);
    }
}

#[test]
fn cost_is_cumulative_and_results_are_numbered() {
    let mut process = Process::script(
        "[[turn]]\nrepeat = true\nresult = { cost_usd = 0.5, output_tokens = 7 }\n\
         steps = [ { text = 'x' } ]",
        &[],
    );
    let mut results = Vec::new();
    for _ in 0..3 {
        process.prompt("go");
        results.push(process.until("result/success").pop().unwrap());
    }
    let costs: Vec<f64> = results
        .iter()
        .map(|r| r["total_cost_usd"].as_f64().unwrap())
        .collect();
    assert_eq!(costs, [0.5, 1.0, 1.5]);
    assert_eq!(results[2]["result_index"], 2);
    assert_eq!(results[2]["usage"]["output_tokens"], 7);
    assert_eq!(results[2]["modelUsage"]["claude-opus-5-5"]["costUSD"], 1.5);
}
