//! Rules of the daemon and of its sessions.

use bowline_lifecycle::{Policy, RequestState};
use bowline_tests::session::until;
use serde_json::{Value, json};

use crate::rig::{DIALECTS, Daemon, is_idle, results};

const ALLOW: &str = "[[rule]]\nname = \"make\"\ndecision = \"allow\"\ncommand = \"make *\"";

const HOW: &str = "rule \"make\" in the session's policy";

fn decided(transcript: &Value, at: usize) -> (&Value, &Value, &Value) {
    let request = &transcript["permissions"][at];
    let by = &request["decided_by"];
    (&request["state"], &by["who"], &by["how"])
}

/// Waits until the decisions on requests are in the transcript and all turns have ended.
async fn decided_turns(daemon: &Daemon, id: &str, turns: usize) -> Value {
    daemon
        .until(id, |it| is_idle(it) && results(it) == turns)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_survives_a_restart_with_another_policy() {
    let mut daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let prompt = json!({"prompt": "/ask make test", "policy": ALLOW});
        let id = daemon.agent(dialect, prompt).await;
        let before = decided_turns(&daemon, &id, 1).await;
        let expected = (&json!("allowed"), &json!("policy"), &json!(HOW));
        assert_eq!(decided(&before, 0), expected, "{dialect}");
        let control = daemon
            .get(&format!("/api/sessions/{id}/log?stream=control"))
            .await;
        let line = control.lines().find(|it| it.contains("\"policy:"));
        assert!(
            line.is_some_and(|it| it.contains("make")),
            "{dialect}: {control}"
        );
        let (status, list) = daemon
            .request("GET", &format!("/api/sessions/{id}/permissions"), None)
            .await;
        assert_eq!(
            (status, &list["permissions"][0]["decided_by"]["how"]),
            (200, &json!(HOW))
        );

        // A host that attaches sees the same.
        let host = daemon.host(&id, "host").await;
        let record = || host.permissions().iter().next().cloned();
        until(&host, "the decision", |_| {
            record().is_some_and(|it| it.answered_how.is_some())
        })
        .await;
        let record = record().expect("a request");
        assert_eq!(record.state, RequestState::Answered, "{dialect}");
        assert_eq!(record.answered_by.as_deref(), Some("policy"), "{dialect}");
        assert_eq!(record.answered_how.as_deref(), Some(HOW), "{dialect}");
        drop(host);

        let deny = ALLOW.replace("allow", "deny");
        daemon.policy = Policy::parse(&deny, "edited.toml").expect("a policy");
        daemon.kill().await;
        let after = daemon.transcript(&id).await;
        assert_eq!(decided(&after, 0), expected, "{dialect}");
        assert_eq!(
            daemon
                .post(&id, "prompt", &json!({"text": "/ask make test"}))
                .await
                .0,
            202
        );
        let later = decided_turns(&daemon, &id, 2).await;
        let denied = json!("rule \"make\" in edited.toml");
        let expected = (&json!("denied"), &json!("policy"), &denied);
        assert_eq!(decided(&later, 1), expected, "{dialect}");
        daemon.policy = Policy::default();
        daemon.kill().await;
    }
}

/// The decision is in the log, and the agent has no answer: the daemon was killed between the two writes.
#[tokio::test(flavor = "multi_thread")]
async fn decision_without_its_answer_is_carried_out() {
    let mut daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon
            .agent(dialect, json!({"prompt": "/ask make test"}))
            .await;
        let request = daemon.open_permission(&id).await;
        let request = request["request_id"].as_str().expect("an id");
        let line = json!({"id": format!("policy:{request}"), "decision": "answer", "request_id": request,
            "answer": {"allow": {}}, "by": "policy", "how": HOW});
        let line_id = format!("policy:{request}");
        // The kill may come before or after the daemon reads it.
        daemon
            .append_to_control(&id, &line_id, &line.to_string())
            .await;
        daemon.policy =
            Policy::parse(&ALLOW.replace("allow", "deny"), "edited.toml").expect("a policy");
        daemon.kill().await;
        let transcript = decided_turns(&daemon, &id, 1).await;
        let expected = (&json!("allowed"), &json!("policy"), &json!(HOW));
        assert_eq!(decided(&transcript, 0), expected, "{dialect}");
        daemon.policy = Policy::default();
        daemon.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn request_without_a_rule_asks_and_bad_policy_is_refused() {
    let daemon = Daemon::start().await;
    let id = daemon
        .agent(
            "claude",
            json!({"prompt": "/ask rm x && make", "policy": ALLOW}),
        )
        .await;
    let request = daemon.open_permission(&id).await;
    let answer = json!({"request_id": request["request_id"], "decision": "deny"});
    assert_eq!(daemon.post(&id, "permissions", &answer).await.0, 202);
    decided_turns(&daemon, &id, 1).await;

    let body = json!({"agent": "claude", "policy": "[[rule]]\ndecison = \"allow\""});
    let (status, problem) = daemon.request("POST", "/api/sessions", Some(&body)).await;
    assert_eq!((status, &problem["code"]), (422, &json!("INVALID_POLICY")));
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert_eq!(
        detail,
        "the session's policy, line 2: `decison` is unknown; did you mean `decision`?"
    );
}
