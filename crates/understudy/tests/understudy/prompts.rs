//! Prompts: echoed, numbered, queued, joined, repeated.

use serde_json::Value;

use crate::stand::{Stand, all, find, fixture, names, once, sequence, shape, texts};

const A: &str = "aaaaaaaa-0000-4000-8000-000000000000";
const B: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const C: &str = "aaaaaaaa-0000-4000-8000-000000000002";

/// Holds the first turn open until the host asks for something.
const WAITS: &str = "
    [[turn]]\nsteps = [ { wait_for = { control = 'mcp_status' } }, { text = 'one' } ]
    [[turn]]\nsteps = [ { text = 'three' } ]";

#[test]
fn a_prompt_is_answered() {
    let run = once("hello there", &[]);
    assert_eq!(
        names(&run.frames()),
        ["system/init", "assistant", "result/success"]
    );
    assert_eq!(texts(&run.frames()), ["You said: hello there"]);
    assert_eq!(run.frames()[2]["result"], "You said: hello there");
    assert_eq!(run.code(), Some(0));
    assert_eq!(run.stderr, "");
}

#[test]
fn a_prompt_may_be_blocks_or_an_argument_or_plain_text() {
    let run = once(
        "x",
        &["-p", "as an argument", "--output-format", "stream-json"],
    );
    assert_eq!(texts(&run.frames()), ["You said: as an argument"]);
    let mut stand = Stand::start(&["--input-format", "text"]);
    stand.send_raw(b"plain text");
    assert_eq!(texts(&stand.finish().frames()), ["You said: plain text"]);
    let mut stand = Stand::start(&["--input-format", "stream-json", "ignored"]);
    stand.send(
        &serde_json::json!({"type": "user", "message": {"role": "user", "content": [
            {"type": "text", "text": "in "}, {"type": "text", "text": "blocks"},
        ]}}),
    );
    assert_eq!(texts(&stand.finish().frames()), ["You said: in blocks"]);
}

#[test]
fn uuids_bring_life_cycle_lines_and_name_the_answered_prompts() {
    let mut stand = Stand::start(&[]);
    stand.prompt_as(A, "hi");
    let frames = stand.finish().frames();
    let states: Vec<&Value> = all(&frames, "command_lifecycle")
        .iter()
        .map(|frame| &frame["state"])
        .collect();
    assert_eq!(states, ["queued", "started", "completed"]);
    assert_eq!(frames.last().unwrap()["state"], "completed");
    for kind in ["system/init", "assistant", "result/success"] {
        assert_eq!(find(&frames, kind)["user_message_uuids"][0], A, "{kind}");
    }
}

#[test]
fn without_a_uuid_there_are_no_life_cycle_lines() {
    let frames = once("hi", &[]).frames();
    assert!(all(&frames, "command_lifecycle").is_empty());
    assert!(
        frames
            .iter()
            .all(|frame| frame["user_message_uuids"].is_null())
    );
}

#[test]
fn prompts_that_queue_become_one_turn() {
    let mut stand = Stand::script(WAITS, &["--replay-user-messages"]);
    stand.prompt_as(A, "one");
    let mut frames = stand.until("system/init");
    let both = [B, C].map(|uuid| {
        serde_json::json!({"type": "user", "uuid": uuid,
            "message": {"role": "user", "content": uuid}})
    });
    stand.send_raw(format!("{}\n{}\n", both[0], both[1]).as_bytes());
    stand.request("go-on", &serde_json::json!({"subtype": "mcp_status"}));
    frames.extend(stand.finish().frames());
    let results = all(&frames, "result/success");
    assert_eq!(results.len(), 2);
    assert_eq!(results[1]["user_message_uuid"], C);
    assert_eq!(results[1]["user_message_uuids"], serde_json::json!([B, C]));
    // The recorded stream differs only in when the third prompt was read.
    let recorded = fixture("multi_all_at_once.jsonl");
    let tail = |frames: &[Value]| {
        let first = frames
            .iter()
            .position(|frame| frame["type"] == "result")
            .unwrap();
        sequence(&frames[first..])
    };
    assert_eq!(tail(&frames), tail(&recorded));
    let echoes: Vec<&Value> = frames
        .iter()
        .filter(|frame| frame["isReplay"] == true)
        .collect();
    assert_eq!(echoes.len(), 3);
    assert!(echoes[1]["timestamp"].is_null());
    assert_eq!(echoes[2]["message"]["content"][0]["text"], format!("{B}\n"));
}

#[test]
fn a_prompt_during_a_tool_joins_the_turn() {
    let toml = "[[turn]]\nsteps = [ { text = 'Long command.' }, { tool = { name = 'Bash', \
                input = { command = 'sleep 3' }, ask = true, result = 'r' } }, \
                { text = 'Slept.' } ]";
    let mut stand = Stand::script(
        toml,
        &[
            "--replay-user-messages",
            "--permission-prompt-tool",
            "stdio",
        ],
    );
    stand.prompt_as(A, "go");
    let ask = stand.until("control_request").pop().unwrap();
    stand.prompt_as(B, "and this");
    stand.until("command_lifecycle");
    stand.answer(&ask, &serde_json::json!({"behavior": "allow"}));
    let frames = stand.finish().frames();
    let recorded = fixture("queue_midturn.jsonl");
    let after = |frames: &[Value]| {
        let result = frames
            .iter()
            .position(|frame| shape(frame) == "user[tool_result]")
            .unwrap();
        sequence(&frames[result..])
    };
    assert_eq!(after(&frames), after(&recorded));
    let result = find(&frames, "result/success");
    assert_eq!(result["user_message_uuids"], serde_json::json!([A, B]));
}

#[test]
fn folding_can_be_turned_off() {
    let toml = "fold = false\n[[turn]]\nsteps = [ { tool = { name = 'Bash', ask = true } } ]";
    let mut stand = Stand::script(toml, &["--permission-prompt-tool", "stdio"]);
    stand.prompt("go");
    let ask = stand.until("control_request").pop().unwrap();
    stand.prompt("later");
    stand.answer(&ask, &serde_json::json!({"behavior": "allow"}));
    let frames = stand.finish().frames();
    assert_eq!(texts(&frames), ["You said: later"]);
    assert_eq!(all(&frames, "result/success").len(), 2);
}

#[test]
fn the_same_uuid_twice_is_only_echoed() {
    let mut stand = Stand::start(&["--replay-user-messages"]);
    stand.prompt_as(A, "dup");
    stand.until("result/success");
    stand.prompt_as(A, "dup");
    let frames = stand.finish().frames();
    assert_eq!(sequence(&frames), ["command_lifecycle", "user[text]"]);
    assert_eq!(frames[1]["uuid"], A);
    assert!(frames[1]["timestamp"].is_null());
}

#[test]
fn turns_are_chosen_by_the_prompt() {
    let toml = "
        [[turn]]\nmatch = 'red'\nrepeat = true\nsteps = [ { text = 'RED {{prompt}}' } ]
        [[turn]]\nsteps = [ { text = 'FIRST' } ]";
    let mut stand = Stand::script(toml, &[]);
    for prompt in ["a red one", "any", "red again", "none left"] {
        stand.prompt(prompt);
        let frames = stand.until("result/success");
        let expected = match prompt {
            "any" => "FIRST".to_owned(),
            "none left" => "You said: none left".to_owned(),
            red => format!("RED {red}"),
        };
        assert_eq!(texts(&frames), [expected]);
    }
}

#[test]
fn cost_is_cumulative_and_results_are_numbered() {
    let mut stand = Stand::script(
        "[[turn]]\nrepeat = true\nresult = { cost_usd = 0.5, output_tokens = 7 }\n\
         steps = [ { text = 'x' } ]",
        &[],
    );
    let mut results = Vec::new();
    for _ in 0..3 {
        stand.prompt("go");
        results.push(stand.until("result/success").pop().unwrap());
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
