//! What hosts ask of the agent beside prompts and answers: stopping tasks, requests of its protocol, and interrupts
//! that come late; and the ids of requests in the logs of a session.

use bowline_jsonl::HostRequest;
use bowline_lifecycle::{DialogueError, DialogueSession, InterruptScope};
use bowline_runner::StateDir;
use bowline_tests::session::{until, within};
use serde_json::{Map, Value, json};

use super::rig::{self, DIALECTS, Daemon, results};

/// A turn whose task continues after it.
const TASK: &str = r#"
[[turn]]
steps = [
  { agent = { description = "watch", prompt = "Tell me.", background = true, steps = [ { delay_ms = 3600000 } ] } },
  { text = "It watches." },
]
"#;

async fn request(host: &DialogueSession, subtype: &str) -> Result<Value, DialogueError> {
    let request = HostRequest::Other {
        subtype: subtype.to_owned(),
        fields: Map::new(),
    };
    let response = within("a response", host.request(request)).await?;
    Ok(serde_json::from_str(&response).expect("JSON"))
}

fn open_tasks(transcript: &Value) -> usize {
    let tasks = transcript["tasks"].as_object().into_iter().flatten();
    tasks.filter(|(_, it)| it["state"] == "running").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn attached_host_stops_tasks_and_gets_responses_of_the_agent() {
    let mut daemon = Daemon::start().await;
    let scenario = daemon.write("task.toml", TASK);
    let more = json!({"prompt": "go", "agent_args": ["--scenario", scenario]});
    let id = daemon.agent("claude", more).await;
    let (host, other) = (
        daemon.host(&id, "host").await,
        daemon.host(&id, "other").await,
    );
    until(&other, "a task", |now| open_tasks(now) == 1).await;

    let usage = request(&host, "get_context_usage")
        .await
        .expect("a response");
    assert_eq!(usage["maxTokens"], 1_000_000, "{usage}");
    let error = request(&host, "no_such_request")
        .await
        .expect_err("there is none");
    let code = "unsupported_request";
    assert!(
        matches!(&error, DialogueError::Refused { code: Some(it), .. } if it == code),
        "{error:?}"
    );
    let error = within("an error", host.request(HostRequest::EndSession)).await;
    let error = error.expect_err("the driver ends the session");
    assert!(matches!(error, DialogueError::Rejected { .. }), "{error:?}");

    until(&host, "a task", |now| open_tasks(now) == 1).await;
    let task = host
        .inspect(|it| it.tasks().next().map(|task| task.id().to_owned()))
        .await
        .expect("a task");
    let scope = InterruptScope::Task(task.clone());
    let stopped = within("an interrupt", host.interrupt_scope(scope)).await;
    assert_eq!(stopped.expect("it is taken").tasks, [task]);
    until(&other, "the task's end", |now| open_tasks(now) == 0).await;

    // The next daemon does not repeat them.
    daemon.kill().await;
    request(&other, "mcp_status").await.expect("a response");
    let log = daemon
        .get(&format!("/api/sessions/{id}/log?stream=input"))
        .await;
    for subtype in [
        "get_context_usage",
        "no_such_request",
        "stop_task",
        "mcp_status",
    ] {
        let member = format!("\"subtype\":\"{subtype}\"");
        assert_eq!(log.matches(&member).count(), 1, "{subtype}: {log}");
    }
}

/// Claude stops its sub-agents with the turn, before the host reads which tasks are open.
#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_end_with_the_turn_are_reported() {
    let daemon = Daemon::start().await;
    let scenario = daemon.write("task.toml", &TASK.repeat(2));
    let more = json!({"prompt": "go", "agent_args": ["--scenario", scenario]});
    let id = daemon.agent("claude", more).await;
    for scope in [InterruptScope::TurnAndTasks, InterruptScope::All] {
        let host = daemon.host(&id, "host").await;
        until(&host, "a task", |now| open_tasks(now) == 1).await;
        let open = host.inspect(|it| {
            let mut tasks = it.tasks().filter(|task| task.state().is_open());
            tasks.next().map(|task| task.id().to_owned())
        });
        let open = open.await.expect("a task");
        let stopped = within("an interrupt", host.interrupt_scope(scope)).await;
        assert_eq!(stopped.expect("it is taken").tasks, [open]);
        until(&host, "the task's end", |now| open_tasks(now) == 0).await;
        daemon.post(&id, "prompt", &json!({"text": "again"})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupt_over_rest_stops_one_task_or_all() {
    let daemon = Daemon::start().await;
    let scenario = daemon.write("task.toml", &TASK.repeat(2));
    let more = json!({"prompt": "go", "agent_args": ["--scenario", scenario]});
    let id = daemon.agent("claude", more).await;
    let both = daemon
        .post(&id, "interrupt", &json!({"task": "a", "tasks": true}))
        .await;
    assert_eq!((both.0, &both.1["code"]), (400, &json!("BAD_REQUEST")));
    for turn in 1..=2 {
        let is_open = |it: &Value| results(it) == turn && open_tasks(it) == 1;
        let transcript = daemon.until(&id, is_open).await;
        let tasks = transcript["tasks"].as_object().into_iter().flatten();
        let mut open = tasks.filter(|(_, it)| it["state"] == "running");
        let task = open.next().expect("a task").0;
        let scope = match turn {
            1 => json!({ "task": task }),
            _ => json!({"tasks": true}),
        };
        let taken = daemon.post(&id, "interrupt", &scope).await;
        assert_eq!(taken.0, 202, "{}", taken.1);
        daemon.until(&id, |it| open_tasks(it) == 0).await;
        if turn == 1 {
            daemon.post(&id, "prompt", &json!({"text": "again"})).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn late_interrupt_over_rest_does_not_reach_the_next_turn() {
    let daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "hello"})).await;
        daemon.until(&id, |it| results(it) == 1).await;
        daemon
            .post(&id, "prompt", &json!({"text": "/ask rm"}))
            .await;
        daemon.open_permission(&id).await;
        let late = daemon.post(&id, "interrupt", &json!({"seen": 1})).await;
        assert_eq!(late.0, 202, "{dialect}: {}", late.1);
        let (_, session) = daemon
            .request("GET", &format!("/api/sessions/{id}"), None)
            .await;
        assert_eq!(session["silence"], Value::Null, "{session}");
        // The outcome of the late one was awaited, and the turn continues.
        daemon.open_permission(&id).await;
        let seen = session["streams"]["stdout"]["end"]
            .as_u64()
            .expect("an offset");
        let now = daemon.post(&id, "interrupt", &json!({"seen": seen})).await;
        assert_eq!(now.0, 202, "{dialect}: {}", now.1);
        let transcript = daemon.until(&id, |it| results(it) == 2).await;
        assert_eq!(
            rig::outcomes(&transcript),
            ["completed", "cancelled"],
            "{dialect}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn request_id_reaches_the_span_of_the_shim() {
    let daemon = Daemon::start().await;
    let id = daemon.agent("claude", json!({"prompt": "/ask rm"})).await;
    let asked = daemon.open_permission(&id).await;
    let answer = json!({"request_id": asked["request_id"], "decision": "allow"});
    let path = format!("/api/sessions/{id}/permissions");
    let answered = daemon
        .request_as(Some("trace-77"), "POST", &path, Some(&answer))
        .await;
    assert_eq!(answered.0, 202, "{}", answered.1);
    let audit = format!("/api/sessions/{id}/log?stream=lifecycle");
    let audited = daemon.get(&audit).await;
    let events = audited
        .lines()
        .map(|line| -> Value { serde_json::from_str(line).expect("JSON") });
    let requested: Vec<_> = events.filter(|it| it["event"] == "requested").collect();
    let of_answer = requested
        .iter()
        .find(|it| it["request_id"] == "trace-77")
        .unwrap_or_else(|| panic!("{audited}"));
    // The line of the intent has the same id.
    let control = daemon
        .get(&format!("/api/sessions/{id}/log?stream=control"))
        .await;
    let line = format!("\"id\":{}", of_answer["prompt"]);
    assert!(control.contains(&line), "no {line} in {control}");

    let state = StateDir::at(daemon.folder().join("state")).expect("a state folder");
    let folder = state.session(id.parse().expect("an id"));
    let log = std::fs::read_to_string(folder.log_path()).expect("the shim's log");
    let span = "}:request{request.id=\"trace-77\"}: ";
    assert!(log.contains(span), "no {span} in {log}");
    assert!(log.contains(&format!("session{{session.id={id} ")), "{log}");

    let path = format!("/api/sessions/{id}");
    let ended = daemon
        .request_as(Some("trace-78"), "DELETE", &path, None)
        .await;
    assert_eq!(ended.0, 200, "{}", ended.1);
    let audited = daemon.get(&audit).await;
    assert!(audited.contains("request trace-78"), "{audited}");
}
