//! Sub-agents and background work.

use serde_json::{Value, json};

use crate::stand::{Stand, all, find, names, once, once_scripted, sequence, texts};

fn background(steps: &str) -> String {
    format!(
        "[[turn]]\nsteps = [ {{ agent = {{ description = 'd', prompt = 'p', background = true, \
         steps = [ {steps} ], then = [ {{ text = 'It says so.' }} ] }} }}, {{ text = 'Launched.' }} ]"
    )
}

#[test]
fn nested_lines_name_their_immediate_parent() {
    let frames = once("/agent look", &["--forward-subagent-text"]).frames();
    let starts = all(&frames, "system/task_started");
    assert_eq!(starts.len(), 2);
    assert_eq!(starts[1]["parent_task_id"], starts[0]["task_id"]);
    assert_eq!(starts[1]["spawn_depth"], 2);
    let inner = &starts[1]["tool_use_id"];
    let read = frames
        .iter()
        .find(|frame| frame["message"]["content"][0]["name"] == "Read");
    assert_eq!(&read.unwrap()["parent_tool_use_id"], inner);
    let stats = &find(&frames, "result/success")["subagent_stats"];
    assert_eq!(
        (&stats["spawned"], &stats["completed"]),
        (&json!(2), &json!(2))
    );
}

#[test]
fn without_the_flag_a_grandchild_shows_as_a_task_only() {
    let frames = once("/agent look", &[]).frames();
    let inner = all(&frames, "system/task_started")[1]["tool_use_id"].clone();
    assert!(
        frames
            .iter()
            .all(|frame| frame["parent_tool_use_id"] != inner)
    );
    assert_eq!(all(&frames, "system/task_notification").len(), 2);
}

#[test]
fn no_stream_event_belongs_to_a_sub_agent() {
    let frames = once(
        "/agent x",
        &["--include-partial-messages", "--forward-subagent-text"],
    )
    .frames();
    let events = frames
        .iter()
        .filter(|frame| frame["type"] == "stream_event");
    assert!(events.clone().count() > 5);
    assert!(
        events
            .clone()
            .all(|frame| frame["parent_tool_use_id"].is_null())
    );
}

#[test]
fn with_stdin_open_a_background_agent_outlives_its_turn() {
    let toml = background("{ wait_for = { control = 'mcp_status' } }, { text = 'REPORT' }");
    let mut stand = Stand::script(&toml, &[]);
    stand.prompt("go");
    let first = stand.until("result/success");
    assert_eq!(texts(&first), ["Launched."]);
    stand.request("go-on", &json!({"subtype": "mcp_status"}));
    let second = stand.until("result/success");
    assert_eq!(
        sequence(&second),
        [
            "control_response",
            "assistant^[text]",
            "system/task_updated",
            "system/task_notification",
            "system/background_tasks_changed",
            "system/init",
            "assistant[text]",
            "result/success",
        ]
    );
    let result = second.last().unwrap();
    assert_eq!(result["origin"]["kind"], "task-notification");
    assert_eq!(result["result"], "It says so.");
    assert_eq!(result["result_index"], 1);
}

#[test]
fn with_stdin_closed_its_turns_result_is_held_back() {
    let frames = once_scripted(
        &background("{ delay_ms = 500 }, { text = 'R' }").replacen(
            "steps = [ ",
            "steps = [ { wait_for = 'eof' }, ",
            1,
        ),
        &[],
    )
    .frames();
    let results: Vec<usize> = names(&frames)
        .iter()
        .enumerate()
        .filter(|(_, name)| *name == "result/success")
        .map(|(index, _)| index)
        .collect();
    assert_eq!(results, [frames.len() - 2, frames.len() - 1]);
    assert_eq!(frames[results[0]]["result"], "Launched.");
}

#[test]
fn a_task_can_be_stopped() {
    let mut stand = Stand::script(&background("{ hang = {} }"), &[]);
    stand.prompt("go");
    let task = find(&stand.until("result/success"), "system/task_started")["task_id"].clone();
    stand.request("stop", &json!({"subtype": "stop_task", "task_id": task}));
    let frames = stand.until("control_response");
    assert_eq!(
        names(&frames),
        [
            "system/task_updated",
            "system/task_notification",
            "system/background_tasks_changed",
            "control_response",
        ]
    );
    assert_eq!(frames[0]["patch"]["status"], "killed");
    assert_eq!(frames[1]["status"], "stopped");
    assert_eq!(frames[2]["tasks"], json!([]));
    assert_eq!(stand.finish().code(), Some(0));
}

#[test]
fn an_interrupt_stops_background_agents_unless_told_otherwise() {
    for spare in [false, true] {
        let mut stand = Stand::script(&background("{ hang = {} }"), &[]);
        stand.request(
            "init",
            &json!({"subtype": "initialize", "perTaskStopAffordance": spare}),
        );
        stand.prompt("go");
        stand.until("result/success");
        stand.request("int", &json!({"subtype": "interrupt"}));
        stand.until("control_response");
        assert_eq!(stand.is_silent(), spare);
    }
}

#[test]
fn an_interrupt_ends_the_agent_call_but_not_what_it_ran() {
    let toml = "[[turn]]\nsteps = [ { agent = { description = 'd', prompt = 'p', steps = [ \
                { tool = { name = 'Bash', input = { command = 'c' }, ask = true } } ] } } ]";
    let mut stand = Stand::script(toml, &["--permission-prompt-tool", "stdio"]);
    stand.prompt("go");
    stand.until("control_request");
    stand.request("int", &json!({"subtype": "interrupt"}));
    let frames = stand.until("result/error_during_execution");
    assert_eq!(
        sequence(&frames),
        [
            "control_cancel_request",
            "control_response",
            "system/task_updated",
            "system/task_notification",
            "user[tool_result]",
            "user[text]",
            "result/error_during_execution",
        ]
    );
}

#[test]
fn parallel_results_come_in_order_of_completion() {
    let tool = |id: &str, ms: u32| {
        format!(
            "{{ tool = {{ name = 'Bash', id = '{id}', duration_ms = {ms}, result = '{id}' }} }}"
        )
    };
    let toml = format!(
        "[[turn]]\nsteps = [ {{ parallel = [ {}, {}, {} ] }} ]",
        tool("slow", 900),
        tool("quick", 100),
        tool("middle", 500)
    );
    let frames = once_scripted(&toml, &[]).frames();
    let calls: Vec<&Value> = all(&frames, "assistant")
        .iter()
        .map(|f| &f["message"]["content"][0]["id"])
        .collect();
    let results: Vec<&Value> = all(&frames, "user")
        .iter()
        .map(|f| &f["message"]["content"][0]["tool_use_id"])
        .collect();
    assert_eq!(calls, ["slow", "quick", "middle"]);
    assert_eq!(results, ["quick", "middle", "slow"]);
}

#[test]
fn a_long_command_becomes_a_task() {
    let frames = once("/sleep 3", &[]).frames();
    assert_eq!(
        sequence(&frames),
        [
            "system/init",
            "assistant[text]",
            "assistant[tool_use]",
            "system/task_started",
            "system/task_notification",
            "user[tool_result]",
            "assistant[text]",
            "result/success",
        ]
    );
    assert!(all(&once("/sleep 1", &[]).frames(), "system/task_started").is_empty());
}

#[test]
fn a_failure_inside_an_agent_fails_the_agent_only() {
    let toml = "[[turn]]\nsteps = [ { agent = { description = 'd', prompt = 'p', steps = [ \
                { fail = { text = 'API Error: 400' } }, { text = 'never' } ] } }, { text = 'end' } ]";
    let run = once_scripted(toml, &["--forward-subagent-text"]);
    let frames = run.frames();
    assert_eq!(
        find(&frames, "system/task_updated")["patch"]["error"],
        "API Error: 400"
    );
    assert_eq!(texts(&frames), ["end"]);
    assert_eq!(run.code(), Some(0));
}
