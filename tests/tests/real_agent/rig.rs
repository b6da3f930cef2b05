//! Tests of the test rig: the real CLI on pipes writes the lines of the fixtures for each scripted
//! scenario.

#![expect(
    clippy::unwrap_used,
    reason = "the helpers of a test fail as the test does"
)]

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bowline_tests::real_agent::{Agent, Home, MessagesApi, Scenario, scenario};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Longest wait for one event; a run takes about a second, so this only bounds a broken one.
const TIMEOUT: Duration = Duration::from_secs(60);

const SESSION: &[&str] = &[
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
];

struct Run {
    home: Home,
    api: MessagesApi,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Run {
    /// Starts the CLI with a scenario and sends the first prompt.
    async fn start(scenario: impl FnOnce(&Home) -> Scenario) -> Self {
        let agent = Agent::for_test();
        let home = Home::new().unwrap();
        let Scenario {
            script,
            prompts,
            args,
        } = scenario(&home);
        let api = MessagesApi::start(script).unwrap();
        let mut command = Command::new(agent.executable());
        command.args(SESSION).args(args).current_dir(home.project());
        command.env_clear().envs(home.environment(&api));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut run = Self {
            home,
            api,
            child,
            stdin,
            lines,
        };
        run.prompt(prompts[0]).await;
        run
    }

    async fn prompt(&mut self, text: &str) {
        self.send(&json!({"type": "user", "message": {"role": "user", "content": text}}))
            .await;
    }

    async fn send(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open until the end");
        stdin
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn next(&mut self) -> Option<Value> {
        let line = within("the next line", self.lines.next_line())
            .await
            .unwrap();
        line.map(|line| serde_json::from_str(&line).unwrap())
    }

    /// Returns the lines up to the first of this shape, inclusive.
    async fn until(&mut self, wanted: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            seen.push(
                self.next()
                    .await
                    .unwrap_or_else(|| panic!("no {wanted} in {:?}", shapes(&seen))),
            );
            if seen.last().is_some_and(|line| shape(line) == wanted) {
                return seen;
            }
        }
    }

    /// Closes stdin and returns the remaining lines and the exit status.
    async fn end(&mut self) -> (Vec<Value>, ExitStatus) {
        drop(self.stdin.take());
        let mut rest = Vec::new();
        while let Some(line) = self.next().await {
            rest.push(line);
        }
        assert_eq!(
            self.api.unknown().len(),
            0,
            "it asked for {:?}",
            self.api.unknown()
        );
        (rest, within("the exit", self.child.wait()).await.unwrap())
    }
}

async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(TIMEOUT, wait).await;
    waited.unwrap_or_else(|_| panic!("waited {TIMEOUT:?} for {what}"))
}

/// `system/init`, `assistant[text]`, `user^[tool_result]` (`^` in a sub-agent), `stream_event`, ….
fn shape(line: &Value) -> String {
    let kind = line["type"].as_str().unwrap();
    let nested = if line["parent_tool_use_id"].is_string() {
        "^"
    } else {
        ""
    };
    if let Some(blocks) = line["message"]["content"].as_array() {
        let blocks: Vec<&str> = blocks
            .iter()
            .filter_map(|block| block["type"].as_str())
            .collect();
        return format!("{kind}{nested}[{}]", blocks.join(","));
    }
    let subtype = line["subtype"]
        .as_str()
        .map(|subtype| format!("/{subtype}"));
    format!("{kind}{nested}{}", subtype.unwrap_or_default())
}

fn shapes(lines: &[Value]) -> Vec<String> {
    lines.iter().map(shape).collect()
}

fn count(lines: &[Value], wanted: &str) -> usize {
    lines.iter().filter(|line| shape(line) == wanted).count()
}

fn find<'a>(lines: &'a [Value], wanted: &str) -> &'a Value {
    let found = lines.iter().find(|line| shape(line) == wanted);
    found.unwrap_or_else(|| panic!("no {wanted} in {:?}", shapes(lines)))
}

/// The result of a tool call in the stream.
fn tool_result<'a>(lines: &'a [Value], id: &str) -> &'a Value {
    let blocks = lines
        .iter()
        .filter_map(|line| line["message"]["content"].as_array())
        .flatten();
    let found = blocks.into_iter().find(|block| block["tool_use_id"] == id);
    found.unwrap_or_else(|| panic!("no result of {id} in {:?}", shapes(lines)))
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn plain_text_is_init_assistant_result() {
    let mut run = Run::start(|_| scenario::plain()).await;
    let (lines, status) = run.end().await;
    assert_eq!(
        shapes(&lines),
        ["system/init", "assistant[text]", "result/success"]
    );
    assert_eq!(lines[2]["result"], scenario::PLAIN_TEXT);
    assert!(status.success());
    assert!(
        run.home
            .has_session(lines[0]["session_id"].as_str().unwrap())
    );
    assert!(run.api.scripted()[0].opening().contains("say something"));
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn partial_messages_carry_every_delta() {
    let mut run = Run::start(|_| scenario::partial()).await;
    let (lines, _) = run.end().await;
    let text: String = lines
        .iter()
        .filter_map(|line| line["event"]["delta"]["text"].as_str())
        .collect();
    assert_eq!(text, scenario::PLAIN_TEXT);
    let deltas = lines
        .iter()
        .filter(|line| line["event"]["delta"]["text"].is_string())
        .count();
    assert_eq!(deltas, scenario::PLAIN_TEXT.len().div_ceil(8));
    let thinking = shapes(&lines)
        .iter()
        .position(|shape| shape == "assistant[thinking]");
    assert!(
        thinking
            < shapes(&lines)
                .iter()
                .position(|shape| shape == "assistant[text]")
    );
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn one_tool_runs_and_its_output_goes_back() {
    let mut run = Run::start(|_| scenario::one_tool()).await;
    let (lines, status) = run.end().await;
    let expected = [
        "system/init",
        "assistant[tool_use]",
        "user[tool_result]",
        "assistant[text]",
        "result/success",
    ];
    assert_eq!(shapes(&lines), expected);
    assert_eq!(
        tool_result(&lines, scenario::TOOL_CALL)["content"],
        "one-tool"
    );
    assert!(
        run.api.scripted()[1]
            .tool_result(scenario::TOOL_CALL)
            .is_some()
    );
    assert!(status.success());
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn four_tools_of_one_message_each_get_a_result() {
    let mut run = Run::start(|_| scenario::parallel_tools()).await;
    let (lines, _) = run.end().await;
    assert_eq!(count(&lines, "assistant[tool_use]"), 4);
    for id in scenario::PARALLEL_CALLS {
        assert_eq!(
            tool_result(&lines, id)["content"],
            id.trim_start_matches("toolu_")
        );
    }
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn permission_is_asked_and_allowed() {
    let mut run = Run::start(|home| scenario::permission(&home.project())).await;
    for tool in ["Write", "Bash"] {
        let lines = run.until("control_request").await;
        let ask = lines.last().unwrap();
        assert_eq!(ask["request"]["subtype"], "can_use_tool");
        assert_eq!(ask["request"]["tool_name"], tool);
        let allow = json!({"behavior": "allow", "updatedInput": ask["request"]["input"]});
        run.send(&json!({"type": "control_response", "response": {
            "subtype": "success", "request_id": ask["request_id"], "response": allow,
        }}))
        .await;
    }
    let (lines, _) = run.end().await;
    assert_eq!(
        find(&lines, "result/success")["result"],
        "Both were answered."
    );
    assert!(run.home.project().join("permitted.txt").is_file());
    assert!(run.home.project().join("touched").is_file());
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn bad_request_is_a_success_result_that_failed() {
    let mut run = Run::start(|_| scenario::bad_request()).await;
    let (lines, status) = run.end().await;
    assert_eq!(
        shapes(&lines),
        ["system/init", "assistant[text]", "result/success"]
    );
    assert_eq!(lines[2]["is_error"], true);
    assert!(
        lines[2]["result"]
            .as_str()
            .unwrap()
            .contains("scripted: bad request")
    );
    assert_eq!(status.code(), Some(1));
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn interrupt_in_a_held_stream_aborts_the_turn() {
    let mut run = Run::start(|_| scenario::interruptible()).await;
    within("the gate", run.api.gate(scenario::STREAM_GATE).reached()).await;
    run.until("stream_event").await;
    run.send(&json!({
        "type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"},
    }))
    .await;
    let lines = run.until("result/error_during_execution").await;
    assert_eq!(
        find(&lines, "control_response")["response"]["request_id"],
        "stop"
    );
    assert_eq!(find(&lines, "assistant[text]")["aborted"], true);
    run.prompt("and now say something").await;
    let (lines, status) = run.end().await;
    assert_eq!(
        find(&lines, "result/success")["result"],
        scenario::PLAIN_TEXT
    );
    assert!(status.success());
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn nested_foreground_agents_name_their_immediate_parent() {
    let mut run = Run::start(|_| scenario::nested_agents()).await;
    let (lines, _) = run.end().await;
    let bash = lines
        .iter()
        .find(|line| line["message"]["content"][0]["id"] == scenario::AGENT_BASH_CALL);
    assert_eq!(bash.unwrap()["parent_tool_use_id"], scenario::NESTED_CALL);
    let inner = lines
        .iter()
        .find(|line| line["message"]["content"][0]["id"] == scenario::NESTED_CALL);
    assert_eq!(inner.unwrap()["parent_tool_use_id"], scenario::AGENT_CALL);
    assert_eq!(count(&lines, "system/task_started"), 2);
    assert_eq!(find(&lines, "result/success")["result"], "Both are back.");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn background_agent_gets_a_turn_of_its_own() {
    let mut run = Run::start(|_| scenario::background_agent()).await;
    let first = run.until("result/success").await;
    assert_eq!(first.last().unwrap()["result"], "It is on its way.");
    run.api.gate(scenario::STREAM_GATE).open();
    let second = run.until("result/success").await;
    assert_eq!(
        second.last().unwrap()["origin"]["kind"],
        "task-notification"
    );
    assert!(run.end().await.1.success());
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn prompts_behind_a_held_turn_queue_up() {
    let mut run = Run::start(|_| scenario::queued_prompts()).await;
    within("the gate", run.api.gate(scenario::STREAM_GATE).reached()).await;
    for prompt in ["second", "third"] {
        run.prompt(prompt).await;
    }
    run.api.gate(scenario::STREAM_GATE).open();
    let (lines, _) = run.end().await;
    assert_eq!(find(&lines, "result/success")["result"], "First answer.");
    // One request has both, unless the agent reads the second of them only after it was made.
    let asked: Vec<_> = run
        .api
        .scripted()
        .iter()
        .skip(1)
        .map(|request| request.latest())
        .collect();
    let queued = asked.join("\n");
    let order: Vec<_> = queued
        .matches("second")
        .chain(queued.matches("third"))
        .collect();
    assert_eq!(order, ["second", "third"], "{asked:?}");
    assert!(queued.find("second") < queued.find("third"), "{asked:?}");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn cut_stream_is_tried_again() {
    let mut run = Run::start(|_| scenario::cut_stream()).await;
    let mut lines = run.until("stream_event").await;
    run.api.gate(scenario::STREAM_GATE).open();
    lines.extend(run.end().await.0);
    assert!(run.api.scripted().len() > 1);
    assert!(
        find(&lines, "result/success")["result"]
            .as_str()
            .unwrap()
            .ends_with("here.")
    );
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn long_tool_waits_at_its_gate() {
    let mut run = Run::start(|_| scenario::long_tool()).await;
    within("the tool", run.api.gate(scenario::TOOL_GATE).reached()).await;
    assert_eq!(
        count(&run.until("assistant[tool_use]").await, "user[tool_result]"),
        0
    );
    run.api.gate(scenario::TOOL_GATE).open();
    let (lines, _) = run.end().await;
    assert_eq!(
        tool_result(&lines, scenario::TOOL_CALL)["content"],
        "opened"
    );
}
