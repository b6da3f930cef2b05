//! Conversations that the daemon drives: started by the name of an agent over REST, and continued by the next
//! daemon.

#[path = "daemon_driver/budget.rs"]
mod budget;
#[path = "daemon_driver/ended.rs"]
mod ended;
#[path = "daemon_driver/events.rs"]
mod events;
#[path = "daemon_driver/examples.rs"]
mod examples;
#[path = "daemon_driver/history.rs"]
mod history;
#[path = "daemon_driver/hosts.rs"]
mod hosts;
#[path = "daemon_driver/mcp.rs"]
mod mcp;
#[path = "daemon_driver/notify.rs"]
mod notify;
#[path = "daemon_driver/orchestrator.rs"]
mod orchestrator;
#[path = "daemon_driver/policy.rs"]
mod policy;
#[path = "daemon_driver/queue.rs"]
mod queue;
#[path = "daemon_driver/requests.rs"]
mod requests;
#[path = "daemon_driver/rig.rs"]
mod rig;
#[path = "daemon_driver/stream.rs"]
mod stream;

use bowline_lifecycle::{DialogueConfiguration, DialogueSession};
use bowline_tests::normalize::same;
use bowline_tests::session::within;
use rig::{DIALECTS, Daemon, is_idle, prompts, results};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn agent_is_driven_in_every_dialect() {
    let daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "hello"})).await;
        daemon.until(&id, |it| results(it) == 1).await;
        let prompt = "c0ffee00-0000-4000-8000-000000000001";
        let body = json!({"text": "/tool ls", "id": prompt});
        for _ in 0..2 {
            let sent = daemon.post(&id, "prompt", &body).await;
            assert_eq!((sent.0, &sent.1["id"]), (202, &json!(prompt)), "{dialect}");
        }
        let reused = json!({"text": "another", "id": prompt});
        let refused = daemon.post(&id, "prompt", &reused).await;
        assert_eq!((refused.0, &refused.1["code"]), (409, &json!("ID_REUSED")));
        let transcript = daemon
            .until(&id, |it| results(it) == 2 && is_idle(it))
            .await;
        assert_eq!(prompts(&transcript), ["hello", "/tool ls"], "{dialect}");
        assert_eq!(transcript["dialect"], dialect);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permission_is_answered_once() {
    let daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "/ask rm"})).await;
        let request = daemon.open_permission(&id).await;
        let answer = json!({
            "request_id": request["request_id"], "decision": "allow", "by": "the first",
        });
        let answered = daemon.post(&id, "permissions", &answer).await;
        assert_eq!(answered.0, 202, "{dialect}: {}", answered.1);
        let late = json!({"request_id": request["request_id"], "decision": "deny"});
        let late = daemon.post(&id, "permissions", &late).await;
        assert_eq!(late.1["code"], "PERMISSION_CLOSED", "{dialect}: {}", late.1);
        assert!(
            late.1["detail"]
                .as_str()
                .is_some_and(|it| it.contains("the first")),
            "{}",
            late.1
        );
        let transcript = daemon.until(&id, |it| results(it) == 1).await;
        let calls = transcript["tool_calls"].as_object().expect("calls");
        let states: Vec<_> = calls.values().map(|it| &it["state"]).collect();
        assert_eq!(states, ["succeeded"], "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn option_of_request_is_chosen() {
    let daemon = Daemon::start().await;
    for dialect in ["codex", "acp"] {
        let id = daemon.agent(dialect, json!({"prompt": "/ask rm"})).await;
        let request = daemon.open_permission(&id).await;
        let options = request["options"].as_array().expect("options");
        let wrong = json!({"request_id": request["request_id"], "option": "no such option"});
        let refused = daemon.post(&id, "permissions", &wrong).await;
        assert_eq!(
            refused.1["code"], "WRONG_ANSWER",
            "{dialect}: {}",
            refused.1
        );
        let option = json!({"request_id": request["request_id"], "option": options[0]["id"]});
        let answered = daemon.post(&id, "permissions", &option).await;
        assert_eq!(answered.0, 202, "{dialect}: {}", answered.1);
        daemon.until(&id, |it| results(it) == 1).await;
    }
}

/// A turn that asks the user.
const QUESTION: &str = r#"
[[turn]]
steps = [ { tool = { name = "AskUserQuestion", ask = true, result = "thanks", input = { questions = [
  { question = "Which way?", header = "Way", multiSelect = false, options = [ { label = "Left", description = "l" } ] },
] } } } ]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_over_rest() {
    let daemon = Daemon::start().await;
    let scenario = daemon.write("scenario.toml", QUESTION);
    let args = json!(["--pace", "0", "--scenario", scenario]);
    let more = json!({"prompt": "ask me", "agent_args": args});
    let id = daemon.agent("claude", more).await;
    let request = daemon.open_permission(&id).await;
    assert_eq!(
        (&request["kind"], &request["questions"][0]["text"]),
        (&json!("question"), &json!("Which way?")),
        "{request}"
    );
    assert_eq!(request["decided_by"], Value::Null);
    let answers = json!({"Which way?": "Left"});
    let answer = json!({"request_id": request["request_id"], "answers": answers, "by": "page"});
    let answered = daemon.post(&id, "permissions", &answer).await;
    assert_eq!(answered.0, 202, "{}", answered.1);
    daemon.until(&id, |it| results(it) == 1).await;
    let path = format!("/api/sessions/{id}/permissions");
    let (_, list) = daemon.request("GET", &path, None).await;
    let closed = &list["permissions"][0];
    assert_eq!(closed["decided_by"]["who"], "page", "{closed}");
    let path = format!("/api/sessions/{id}/log?stream=input");
    let log = daemon.get(&path).await;
    assert!(log.contains(r#""answers":{"Which way?":"Left"}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn turn_is_interrupted() {
    let daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "/ask rm"})).await;
        daemon.open_permission(&id).await;
        let interrupted = daemon.post(&id, "interrupt", &json!({})).await;
        assert_eq!(interrupted.0, 202, "{dialect}: {}", interrupted.1);
        let transcript = daemon
            .until(&id, |it| is_idle(it) && results(it) == 1)
            .await;
        let outcomes = rig::outcomes(&transcript);
        assert_eq!(outcomes, ["cancelled"], "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn next_daemon_continues_after_kill() {
    let mut daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "hello"})).await;
        daemon.until(&id, |it| results(it) == 1).await;
        daemon
            .post(&id, "prompt", &json!({"text": "/ask rm"}))
            .await;
        let request = daemon.open_permission(&id).await;
        // The agent waits, so nothing is on its way.
        let before = rig::countless(daemon.transcript(&id).await);
        daemon.kill().await;
        let after = rig::countless(daemon.transcript(&id).await);
        same(&after, &before, dialect);
        let queued = json!({"text": "later", "id": "c0ffee00-0000-4000-8000-000000000002"});
        let sent = daemon.post(&id, "prompt", &queued).await;
        assert_eq!(sent.0, 202, "{dialect}: {}", sent.1);
        daemon.kill().await;
        // What the killed daemon took is not taken again.
        assert_eq!(
            daemon.post(&id, "prompt", &queued).await.0,
            202,
            "{dialect}"
        );
        let still = daemon.open_permission(&id).await;
        assert_eq!(still["request_id"], request["request_id"], "{dialect}");
        let answer = json!({"request_id": request["request_id"], "decision": "allow"});
        let answered = daemon.post(&id, "permissions", &answer).await;
        assert_eq!(answered.0, 202, "{dialect}: {}", answered.1);
        let is_done = |it: &Value| is_idle(it) && prompts(it).len() == 3;
        let transcript = daemon.until(&id, is_done).await;
        assert_eq!(
            prompts(&transcript),
            ["hello", "/ask rm", "later"],
            "{dialect}"
        );
        assert_eq!(daemon.written_prompts(&id).await, 3, "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_host_sees_the_same() {
    let daemon = Daemon::start().await;
    let id = daemon.agent("acp", json!({"prompt": "hello"})).await;
    let transcript = daemon
        .until(&id, |it| results(it) == 1 && is_idle(it))
        .await;
    let configuration = DialogueConfiguration {
        dialect: "acp".parse().expect("a dialect"),
        ..DialogueConfiguration::default()
    };
    let (remote, session) = (daemon.remote(), id.parse().expect("an id"));
    let attached = DialogueSession::attach(&remote, session, configuration);
    let host = within("another host", attached).await.expect("it attaches");
    let seen = within("the answer", bowline_tests::session::transcript(&host)).await;
    assert_eq!(rig::texts(&seen), rig::texts(&transcript));
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_line_of_control_stream_is_skipped() {
    let mut daemon = Daemon::start().await;
    let id = daemon.agent("claude", json!({"prompt": "hello"})).await;
    daemon.until(&id, |it| results(it) == 1).await;
    let offset = daemon.control_end(&id).await;
    daemon.append_to_control(&id, "x", "{\"id\": damaged").await;
    daemon.kill().await;
    let sent = daemon.post(&id, "prompt", &json!({"text": "again"})).await;
    assert_eq!(sent.0, 202, "{}", sent.1);
    let transcript = daemon
        .until(&id, |it| results(it) == 2 && is_idle(it))
        .await;
    assert_eq!(prompts(&transcript), ["hello", "again"]);
    let notice = rig::errors(&transcript).next().expect("it is reported");
    let text = notice["text"].as_str().expect("a text");
    assert!(text.contains(&format!("at offset {offset}: ")), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_that_cannot_start_leaves_no_session() {
    let daemon = Daemon::start().await;
    let cases = [
        (
            json!({"agent": "/no/such/agent", "prompt": "x"}),
            422,
            "PROGRAM_NOT_FOUND",
        ),
        (
            json!({"agent": "/bin/true", "dialect": "acp"}),
            422,
            "AGENT_REFUSED",
        ),
        (
            json!({"agent": "claude", "prompts": "x"}),
            422,
            "INVALID_BODY",
        ),
        (
            json!({"agent": "claude", "dialect": "x"}),
            422,
            "INVALID_BODY",
        ),
    ];
    for (body, status, code) in cases {
        let (got, problem) = daemon.request("POST", "/api/sessions", Some(&body)).await;
        assert_eq!(
            (got, &problem["code"]),
            (status, &json!(code)),
            "{body}: {problem}"
        );
    }
    let (_, list) = daemon.request("GET", "/api/sessions", None).await;
    assert_eq!(list["sessions"], json!([]));
}
