//! Sub-agents and background tasks.

use serde_json::{Value, json};

use crate::process::{Process, all, find, names, run_once, run_scenario, sequence, texts};

fn background(steps: &str) -> String {
    format!(
        "[[turn]]\nsteps = [ {{ agent = {{ description = 'd', prompt = 'p', background = true, \
         steps = [ {steps} ], then = [ {{ text = 'It says so.' }} ] }} }}, {{ text = 'Launched.' }} ]"
    )
}

#[test]
fn nested_lines_name_immediate_parent() {
    let events = run_once("/agent look", &["--forward-subagent-text"]).events();
    let starts = all(&events, "system/task_started");
    assert_eq!(starts.len(), 2);
    assert_eq!(starts[1]["parent_task_id"], starts[0]["task_id"]);
    assert_eq!(starts[1]["spawn_depth"], 2);
    let inner = &starts[1]["tool_use_id"];
    let read = events
        .iter()
        .find(|event| event["message"]["content"][0]["name"] == "Read");
    assert_eq!(&read.unwrap()["parent_tool_use_id"], inner);
    let stats = &find(&events, "result/success")["subagent_stats"];
    assert_eq!(
        (&stats["spawned"], &stats["completed"]),
        (&json!(2), &json!(2))
    );
}

#[test]
fn nested_subagent_is_a_task_without_forwarding() {
    let events = run_once("/agent look", &[]).events();
    let inner = all(&events, "system/task_started")[1]["tool_use_id"].clone();
    assert!(
        events
            .iter()
            .all(|event| event["parent_tool_use_id"] != inner)
    );
    assert_eq!(all(&events, "system/task_notification").len(), 2);
}

#[test]
fn subagents_have_no_stream_events() {
    let events = run_once(
        "/agent x",
        &["--include-partial-messages", "--forward-subagent-text"],
    )
    .events();
    let events = events
        .iter()
        .filter(|event| event["type"] == "stream_event");
    assert!(events.clone().count() > 5);
    assert!(
        events
            .clone()
            .all(|event| event["parent_tool_use_id"].is_null())
    );
}

#[test]
fn background_agent_outlives_turn_with_stdin_open() {
    let toml = background("{ wait_for = { control = 'mcp_status' } }, { text = 'REPORT' }");
    let mut process = Process::script(&toml, &[]);
    process.prompt("go");
    let first = process.until("result/success");
    assert_eq!(texts(&first), ["Launched."]);
    process.request("go-on", &json!({"subtype": "mcp_status"}));
    let second = process.until("result/success");
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
fn result_is_held_for_background_agent_at_eof() {
    let events = run_scenario(
        &background("{ delay_ms = 500 }, { text = 'R' }").replacen(
            "steps = [ ",
            "steps = [ { wait_for = 'eof' }, ",
            1,
        ),
        &[],
    )
    .events();
    let results: Vec<usize> = names(&events)
        .iter()
        .enumerate()
        .filter(|(_, name)| *name == "result/success")
        .map(|(index, _)| index)
        .collect();
    assert_eq!(results, [events.len() - 2, events.len() - 1]);
    assert_eq!(events[results[0]]["result"], "Launched.");
}

#[test]
fn task_is_stopped() {
    let mut process = Process::script(&background("{ hang = {} }"), &[]);
    process.prompt("go");
    let task = find(&process.until("result/success"), "system/task_started")["task_id"].clone();
    process.request("stop", &json!({"subtype": "stop_task", "task_id": task}));
    let events = process.until("control_response");
    assert_eq!(
        names(&events),
        [
            "system/task_updated",
            "system/task_notification",
            "system/background_tasks_changed",
            "control_response",
        ]
    );
    assert_eq!(events[0]["patch"]["status"], "killed");
    assert_eq!(events[1]["status"], "stopped");
    assert_eq!(events[2]["tasks"], json!([]));
    assert_eq!(process.finish().code(), Some(0));
}

#[test]
fn interrupt_stops_background_agents_by_default() {
    for spare in [false, true] {
        let mut process = Process::script(&background("{ hang = {} }"), &[]);
        process.request(
            "init",
            &json!({"subtype": "initialize", "perTaskStopAffordance": spare}),
        );
        process.prompt("go");
        process.until("result/success");
        process.request("int", &json!({"subtype": "interrupt"}));
        process.until("control_response");
        assert_eq!(process.is_silent(), spare);
    }
}

#[test]
fn interrupt_ends_agent_call_without_its_tools() {
    let toml = "[[turn]]\nsteps = [ { agent = { description = 'd', prompt = 'p', steps = [ \
                { tool = { name = 'Bash', input = { command = 'c' }, ask = true } } ] } } ]";
    let mut process = Process::script(toml, &["--permission-prompt-tool", "stdio"]);
    process.prompt("go");
    process.until("control_request");
    process.request("int", &json!({"subtype": "interrupt"}));
    let events = process.until("result/error_during_execution");
    assert_eq!(
        sequence(&events),
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
fn parallel_results_are_in_completion_order() {
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
    let events = run_scenario(&toml, &[]).events();
    let calls: Vec<&Value> = all(&events, "assistant")
        .iter()
        .map(|f| &f["message"]["content"][0]["id"])
        .collect();
    let results: Vec<&Value> = all(&events, "user")
        .iter()
        .map(|f| &f["message"]["content"][0]["tool_use_id"])
        .collect();
    assert_eq!(calls, ["slow", "quick", "middle"]);
    assert_eq!(results, ["quick", "middle", "slow"]);
}

#[test]
fn long_command_is_a_task() {
    let events = run_once("/sleep 3", &[]).events();
    assert_eq!(
        sequence(&events),
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
    assert!(all(&run_once("/sleep 1", &[]).events(), "system/task_started").is_empty());
}

#[test]
fn failure_in_subagent_fails_subagent_only() {
    let toml = "[[turn]]\nsteps = [ { agent = { description = 'd', prompt = 'p', steps = [ \
                { fail = { text = 'API Error: 400' } }, { text = 'never' } ] } }, { text = 'end' } ]";
    let run = run_scenario(toml, &["--forward-subagent-text"]);
    let events = run.events();
    assert_eq!(
        find(&events, "system/task_updated")["patch"]["error"],
        "API Error: 400"
    );
    assert_eq!(texts(&events), ["end"]);
    assert_eq!(run.code(), Some(0));
}
