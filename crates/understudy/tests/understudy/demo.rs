//! The built-in scenarios, and the example in SCENARIOS.md.

use serde_json::{Value, json};
use understudy::{Scenario, builtin, builtin_names};

use crate::process::{Process, all, find, name, run_once, shape, texts};

const ARGS: &[&str] = &[
    "--scenario",
    "demo",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "stdio",
];

fn first_turn(answer: &Value) -> (Process, Vec<Value>) {
    let mut process = Process::start(ARGS);
    process.prompt("Please fix the failing test.");
    let mut events = process.until("control_request");
    let ask = events.last().unwrap().clone();
    assert_eq!(ask["request"]["tool_name"], "Edit");
    process.answer(&ask, answer);
    events.extend(process.until("result/success"));
    (process, events)
}

#[test]
fn demo_shows_every_feature() {
    let (process, events) = first_turn(&json!({"behavior": "allow"}));
    for wanted in [
        "stream_event/content_block_delta",
        "system/thinking_tokens",
        "system/api_retry",
        "system/task_started",
        "system/task_progress",
        "system/task_notification",
    ] {
        find(&events, wanted);
    }
    let depths: Vec<&Value> = all(&events, "system/task_started")
        .iter()
        .map(|f| &f["spawn_depth"])
        .collect();
    assert_eq!(depths, [1, 2]);
    assert!(
        events
            .iter()
            .any(|event| event["message"]["content"][0]["is_error"] == true)
    );
    assert!(
        events
            .iter()
            .any(|event| shape(event) == "assistant^[text]")
    );
    assert!(texts(&events).last().unwrap().starts_with("Fixed."));
    let result = events.last().unwrap();
    assert_eq!(result["total_cost_usd"], 0.0431);
    drop(process);
}

#[test]
fn demo_continues_after_denial() {
    let (mut process, events) = first_turn(&json!({"behavior": "deny", "message": "no"}));
    assert!(
        texts(&events)
            .last()
            .unwrap()
            .starts_with("I leave the file")
    );
    process.prompt("And the empty list?");
    let second = process.finish();
    assert!(texts(&second.events()).last().unwrap().contains("None"));
    assert_eq!(second.code(), Some(0));
}

#[test]
fn demo_resumes_conversation() {
    let id = "11111111-2222-4333-8444-555555555555";
    let run = run_once("Where were we?", &["--scenario", "demo", "--resume", id]);
    assert!(texts(&run.events())[0].contains("median"));
    assert_eq!(run.events()[0]["session_id"], id);
}

#[test]
fn echo_repeats_the_prompt() {
    let mut process = Process::start(&["--scenario", "echo"]);
    for text in ["one", "two"] {
        process.prompt(text);
        assert_eq!(texts(&process.until("result/success")), [text]);
    }
}

#[test]
fn scenarios_round_trip_through_files() {
    for name in builtin_names() {
        let scenario = builtin(name).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        scenario.save(file.path()).unwrap();
        assert_eq!(Scenario::load(file.path()).unwrap(), scenario, "{name}");
    }
}

/// Returns the example of SCENARIOS.md.
fn example() -> Scenario {
    let page = include_str!("../../SCENARIOS.md");
    let (_, rest) = page
        .split_once("## Example")
        .expect("the heading of the example");
    let (_, block) = rest.split_once("```toml\n").expect("its start");
    let (toml, _) = block.split_once("```").expect("its end");
    Scenario::parse(toml).unwrap()
}

#[test]
fn documented_example_runs() {
    let mut process = Process::play(
        &example(),
        &[
            "--include-partial-messages",
            "--permission-prompt-tool",
            "stdio",
        ],
    );
    process.prompt("please deploy");
    let ask = process.until("control_request").pop().unwrap();
    process.answer(&ask, &json!({"behavior": "allow"}));
    let deployed = process.until("result/success");
    assert_eq!(texts(&deployed).last(), Some(&"Deployed."));
    process.prompt("anything else");
    let rest = process.until("result/success");
    assert!(rest.iter().any(|event| name(event) == "system/api_retry"));
    assert_eq!(texts(&rest).last(), Some(&"All quiet."));
    let report = process.until("result/success").pop().unwrap();
    assert_eq!(report["origin"]["kind"], "task-notification");
    assert_eq!(report["result"], "The watcher saw nothing.");
    assert_eq!(process.finish().code(), Some(0));
}
