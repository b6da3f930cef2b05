//! Several hosts of a session that the daemon drives.

use std::sync::Arc;

use bowline_lifecycle::{
    Decision, DialogueError, DialogueSession, InterruptScope, PermissionRecord, Prompt,
    ReceiptState, RequestState,
};
use bowline_reducer::Schema;
use bowline_tests::normalize::same;
use bowline_tests::session::{answered, until, within};
use serde_json::{Value, json};

use crate::rig::{self, DIALECTS, Daemon, is_idle, results};

/// Sends a prompt that makes the agent ask.
async fn ask(host: &DialogueSession) -> bowline_lifecycle::Receipt {
    let sent = within("a prompt", host.send(Prompt::text("/ask rm"))).await;
    sent.expect("it is sent")
}

/// Waits until a host sees an open request.
async fn open(host: &DialogueSession) -> Arc<PermissionRecord> {
    let open = || host.permissions().open().next().cloned();
    until(host, "a request", |_| open().is_some()).await;
    open().expect("it is open")
}

/// Waits until a host knows which client answered.
async fn answerer(host: &DialogueSession, request_id: &str) -> (RequestState, Option<String>) {
    let record = || host.permissions().get(request_id).cloned();
    until(host, "the answer", |_| {
        record().is_some_and(|it| it.answered_by.is_some())
    })
    .await;
    let record = record().expect("it is kept");
    let transcript = schema_2(host).await;
    let decided = &transcript["permissions"][0]["decided_by"];
    assert_eq!(decided["who"].as_str(), record.answered_by.as_deref());
    (record.state, record.answered_by.clone())
}

pub(crate) async fn schema_2(host: &DialogueSession) -> Value {
    let snapshot = host.snapshot().await;
    let chunks: Vec<_> = snapshot.json_chunks(Schema::Two).flatten().collect();
    serde_json::from_slice(&chunks).expect("JSON")
}

/// What all hosts and the daemon must agree on.
fn shown(transcript: Value) -> Value {
    let members = ["entries", "tool_calls", "permissions", "plan", "context"];
    let members = members.map(|name| (name.to_owned(), transcript[name].clone()));
    Value::Object(members.into_iter().collect())
}

/// Asserts that the hosts see what the daemon does, once they have all output.
pub(crate) async fn agree(daemon: &Daemon, id: &str, hosts: &[&DialogueSession], what: &str) {
    let expected = daemon.until(id, is_idle).await;
    let bytes = |it: &Value| it["stats"]["bytes"].as_u64();
    for host in hosts {
        until(host, "all output", |now| bytes(now) >= bytes(&expected)).await;
        same(&shown(schema_2(host).await), &shown(expected.clone()), what);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_send_intents_to_the_driver() {
    let daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "hello"})).await;
        let (first, second) = (
            daemon.host(&id, "first").await,
            daemon.host(&id, "second").await,
        );
        assert_eq!(second.dialect().as_str(), dialect);
        answered(&first, "/tool ls").await;

        // The other host answers.
        let mut receipt = ask(&first).await;
        let request = open(&second).await;
        let request = &request.request_id;
        let allowed = second.answer_permission(request, Decision::allow());
        within("an answer", allowed).await.expect("it is the first");
        let settled = within("the turn's end", receipt.settled()).await;
        assert_eq!(settled, ReceiptState::Answered, "{dialect}");
        let late = first.answer_permission(request, Decision::deny("no"));
        let late = within("an error", late).await.expect_err("it is too late");
        let by = Some("second".to_owned());
        assert!(
            matches!(&late, DialogueError::TooLate { by: it, .. } if *it == by),
            "{dialect}: {late:?}"
        );
        for host in [&first, &second] {
            let (state, answered_by) = answerer(host, request).await;
            assert_eq!(
                (state, &answered_by),
                (RequestState::Answered, &by),
                "{dialect}"
            );
        }
        agree(&daemon, &id, &[&first, &second], dialect).await;

        // The other host interrupts.
        let mut receipt = ask(&second).await;
        open(&first).await;
        let stopped = first.interrupt_scope(InterruptScope::Turn);
        within("an interrupt", stopped).await.expect("it is taken");
        within("the turn's end", receipt.settled()).await;
        agree(&daemon, &id, &[&first, &second], dialect).await;
        let transcript = daemon.transcript(&id).await;
        assert_eq!(
            rig::outcomes(&transcript).last(),
            Some(&"cancelled"),
            "{dialect}"
        );
        assert_eq!(
            transcript["permissions"][0]["decided_by"]["who"], "second",
            "{dialect}"
        );

        // A host that comes later sees it, too.
        let third = daemon.host(&id, "third").await;
        assert_eq!(answerer(&third, request).await.1, by, "{dialect}");
        agree(&daemon, &id, &[&third], dialect).await;
        assert_eq!(daemon.written_prompts(&id).await, 4, "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_driver_reach_the_host() {
    let daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "hello"})).await;
        daemon.until(&id, |it| results(it) == 1).await;
        let host = daemon.host(&id, "host").await;
        let answer = host.answer_permission("no such request", Decision::allow());
        let error = within("an error", answer).await.expect_err("there is none");
        assert!(
            matches!(error, DialogueError::NoSuchRequest { .. }),
            "{dialect}: {error:?}"
        );
        let option = host.set_option("no such option", "x");
        let error = within("an error", option).await.expect_err("there is none");
        assert!(
            error.to_string().contains("no such option"),
            "{dialect}: {error}"
        );
        let prompt = || Prompt {
            uuid: Some("c0ffee00-0000-4000-8000-000000000003".to_owned()),
            ..Prompt::text("once")
        };
        let other = daemon.host(&id, "other").await;
        let mut receipt = within("a prompt", host.send(prompt())).await.expect("sent");
        within("the turn's end", receipt.settled()).await;
        until(&other, "the prompt", |now| results(now) == 2).await;
        let again = within("an error", other.send(prompt())).await;
        let error = again.expect_err("it was sent");
        assert!(
            matches!(error, DialogueError::DuplicateUuid { .. }),
            "{dialect}: {error:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn host_continues_with_the_next_daemon() {
    let mut daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "hello"})).await;
        // An agent takes prompts that wait together as one.
        daemon.until(&id, |it| results(it) == 1).await;
        let host = daemon.host(&id, "host").await;
        let mut receipt = ask(&host).await;
        let request = open(&host).await;
        daemon.kill().await;
        let answer = host.answer_permission(&request.request_id, Decision::allow());
        within("an answer", answer).await.expect("it is the first");
        let settled = within("the turn's end", receipt.settled()).await;
        assert_eq!(settled, ReceiptState::Answered, "{dialect}");
        answered(&host, "again").await;
        agree(&daemon, &id, &[&host], dialect).await;
        // The end goes to the driver as well.
        let end = within("the end", host.end()).await;
        assert!(end.expected, "{dialect}: {}", end.reason);
    }
}
