//! The built-in scenarios, and the example in SCENARIOS.md.

use serde_json::{Value, json};
use understudy::{Scenario, builtin, builtin_names};

use crate::stand::{Stand, all, find, name, once, shape, texts};

const ARGS: &[&str] = &[
    "--scenario",
    "demo",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "stdio",
];

fn first_turn(answer: &Value) -> (Stand, Vec<Value>) {
    let mut stand = Stand::start(ARGS);
    stand.prompt("Please fix the failing test.");
    let mut frames = stand.until("control_request");
    let ask = frames.last().unwrap().clone();
    assert_eq!(ask["request"]["tool_name"], "Edit");
    stand.answer(&ask, answer);
    frames.extend(stand.until("result/success"));
    (stand, frames)
}

#[test]
fn the_demo_shows_everything() {
    let (stand, frames) = first_turn(&json!({"behavior": "allow"}));
    for wanted in [
        "stream_event/content_block_delta",
        "system/thinking_tokens",
        "system/api_retry",
        "system/task_started",
        "system/task_progress",
        "system/task_notification",
    ] {
        find(&frames, wanted);
    }
    let depths: Vec<&Value> = all(&frames, "system/task_started")
        .iter()
        .map(|f| &f["spawn_depth"])
        .collect();
    assert_eq!(depths, [1, 2]);
    assert!(
        frames
            .iter()
            .any(|frame| frame["message"]["content"][0]["is_error"] == true)
    );
    assert!(
        frames
            .iter()
            .any(|frame| shape(frame) == "assistant^[text]")
    );
    assert!(texts(&frames).last().unwrap().starts_with("Fixed."));
    let result = frames.last().unwrap();
    assert_eq!(result["total_cost_usd"], 0.0431);
    drop(stand);
}

#[test]
fn the_demo_takes_no_for_an_answer() {
    let (mut stand, frames) = first_turn(&json!({"behavior": "deny", "message": "no"}));
    assert!(
        texts(&frames)
            .last()
            .unwrap()
            .starts_with("I leave the file")
    );
    stand.prompt("And the empty list?");
    let second = stand.finish();
    assert!(texts(&second.frames()).last().unwrap().contains("None"));
    assert_eq!(second.code(), Some(0));
}

#[test]
fn a_resumed_demo_remembers() {
    let id = "11111111-2222-4333-8444-555555555555";
    let run = once("Where were we?", &["--scenario", "demo", "--resume", id]);
    assert!(texts(&run.frames())[0].contains("median"));
    assert_eq!(run.frames()[0]["session_id"], id);
}

#[test]
fn echo_repeats_the_prompt() {
    let mut stand = Stand::start(&["--scenario", "echo"]);
    for text in ["one", "two"] {
        stand.prompt(text);
        assert_eq!(texts(&stand.until("result/success")), [text]);
    }
}

#[test]
fn scenarios_survive_a_file() {
    for name in builtin_names() {
        let scenario = builtin(name).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        scenario.save(file.path()).unwrap();
        assert_eq!(Scenario::load(file.path()).unwrap(), scenario, "{name}");
    }
}

/// The only TOML block that is marked as the full example.
fn example() -> Scenario {
    let page = include_str!("../../SCENARIOS.md");
    let (_, rest) = page
        .split_once("## A full example")
        .expect("the example's heading");
    let (_, block) = rest.split_once("```toml\n").expect("its code");
    let (toml, _) = block.split_once("```").expect("its end");
    Scenario::parse(toml).unwrap()
}

#[test]
fn the_documented_example_runs_as_it_says() {
    let mut stand = Stand::play(
        &example(),
        &[
            "--include-partial-messages",
            "--permission-prompt-tool",
            "stdio",
        ],
    );
    stand.prompt("please deploy");
    let ask = stand.until("control_request").pop().unwrap();
    stand.answer(&ask, &json!({"behavior": "allow"}));
    let deployed = stand.until("result/success");
    assert_eq!(texts(&deployed).last(), Some(&"Deployed."));
    stand.prompt("anything else");
    let rest = stand.until("result/success");
    assert!(rest.iter().any(|frame| name(frame) == "system/api_retry"));
    assert_eq!(texts(&rest).last(), Some(&"All quiet."));
    let report = stand.until("result/success").pop().unwrap();
    assert_eq!(report["origin"]["kind"], "task-notification");
    assert_eq!(report["result"], "The watcher saw nothing.");
    assert_eq!(stand.finish().code(), Some(0));
}
