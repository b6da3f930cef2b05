//! The queue of a conversation over REST: listed, edited, reordered and cancelled, also after the daemon was killed.

use serde_json::{Value, json};

use crate::rig::{DIALECTS, Daemon, is_idle, prompts, results};

fn uuid(number: u32) -> String {
    format!("c0ffee00-0000-4000-8000-{number:012}")
}

async fn queue(daemon: &Daemon, id: &str) -> Vec<String> {
    let path = format!("/api/sessions/{id}/queue");
    let (status, list) = daemon.request("GET", &path, None).await;
    assert_eq!(status, 200, "{list}");
    let queue = list["queue"].as_array().expect("a queue").iter();
    let queue = queue.inspect(|it| assert_eq!(it["state"], "waiting", "{it}"));
    queue
        .map(|it| it["text"].as_str().expect("a text").to_owned())
        .collect()
}

async fn change(daemon: &Daemon, id: &str, prompt: u32, body: Value) -> (u16, Value) {
    let path = format!("/api/sessions/{id}/queue/{}", uuid(prompt));
    daemon.request("PATCH", &path, Some(&body)).await
}

async fn cancel(daemon: &Daemon, id: &str, prompt: u32) -> (u16, Value) {
    let path = format!("/api/sessions/{id}/queue/{}", uuid(prompt));
    daemon.request("DELETE", &path, None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_is_changed_and_survives_a_killed_daemon() {
    let mut daemon = Daemon::start().await;
    let mut sessions = Vec::new();
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "/ask rm"})).await;
        let request = daemon.open_permission(&id).await;
        for (number, text) in [(1, "one"), (2, "two"), (3, "three"), (4, "four")] {
            let body = json!({"text": text, "id": uuid(number), "queue": true});
            for _ in 0..2 {
                let sent = daemon.post(&id, "prompt", &body).await;
                assert_eq!(sent.0, 202, "{dialect}: {}", sent.1);
            }
        }
        assert_eq!(queue(&daemon, &id).await, ["one", "two", "three", "four"]);
        let edited = change(&daemon, &id, 2, json!({"text": "second"})).await;
        assert_eq!(edited.0, 202, "{dialect}: {}", edited.1);
        let moved = change(&daemon, &id, 3, json!({"before": uuid(1)})).await;
        assert_eq!(moved.0, 202, "{dialect}: {}", moved.1);
        let cancelled = cancel(&daemon, &id, 4).await;
        assert_eq!(cancelled.0, 202, "{dialect}: {}", cancelled.1);
        let transcript = daemon.transcript(&id).await;
        assert_eq!(transcript["queue"][0]["text"], "three", "{dialect}");
        sessions.push((dialect, id, request["request_id"].clone()));
    }
    daemon.kill().await;
    for (dialect, id, request) in &sessions {
        assert_eq!(
            queue(&daemon, id).await,
            ["three", "one", "second"],
            "{dialect}"
        );
        let moved = change(&daemon, id, 1, json!({"after": uuid(2)})).await;
        assert_eq!(moved.0, 202, "{dialect}: {}", moved.1);
        let answer = json!({"request_id": request, "decision": "allow"});
        let answered = daemon.post(id, "permissions", &answer).await;
        assert_eq!(answered.0, 202, "{dialect}: {}", answered.1);
    }
    for (dialect, id, _) in &sessions {
        let transcript = daemon.until(id, |it| results(it) == 4 && is_idle(it)).await;
        let expected = ["/ask rm", "three", "second", "one"];
        assert_eq!(prompts(&transcript), expected, "{dialect}");
        assert_eq!(queue(&daemon, id).await, [""; 0], "{dialect}");
        let late = change(&daemon, id, 1, json!({"text": "late"})).await;
        assert_eq!(
            (late.0, &late.1["code"]),
            (409, &json!("PROMPT_NOT_QUEUED"))
        );
        let unknown = cancel(&daemon, id, 9).await;
        assert_eq!(
            (unknown.0, &unknown.1["code"]),
            (404, &json!("PROMPT_NOT_FOUND"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupt_drops_the_queue_if_asked_to() {
    let daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "/ask rm"})).await;
        daemon.open_permission(&id).await;
        let body = json!({"text": "next", "id": uuid(1), "queue": true});
        let sent = daemon.post(&id, "prompt", &body).await;
        assert_eq!(sent.0, 202, "{dialect}: {}", sent.1);
        let stopped = daemon
            .post(&id, "interrupt", &json!({"cancel_queued": true}))
            .await;
        assert_eq!(stopped.0, 202, "{dialect}: {}", stopped.1);
        let transcript = daemon.until(&id, is_idle).await;
        let prompts = prompts(&transcript);
        assert!(!prompts.contains(&"next"), "{dialect}: {prompts:?}");
        assert_eq!(queue(&daemon, &id).await, [""; 0], "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_change_of_the_queue_is_refused() {
    let daemon = Daemon::start().await;
    let id = daemon.agent("claude", json!({"prompt": "/ask rm"})).await;
    daemon.open_permission(&id).await;
    let body = json!({"text": "next", "id": uuid(1), "queue": true});
    daemon.post(&id, "prompt", &body).await;
    let cases = [
        (json!({}), 422, "INVALID_BODY"),
        (json!({"text": "a", "before": uuid(1)}), 422, "INVALID_BODY"),
        (json!({"txt": "a"}), 422, "INVALID_BODY"),
        (json!({"text": ""}), 422, "EMPTY_PROMPT"),
        (json!({"before": uuid(7)}), 404, "PROMPT_NOT_FOUND"),
    ];
    for (body, status, code) in cases {
        let refused = change(&daemon, &id, 1, body.clone()).await;
        assert_eq!(
            (refused.0, &refused.1["code"]),
            (status, &json!(code)),
            "{body}: {}",
            refused.1
        );
    }
    assert_eq!(queue(&daemon, &id).await, ["next"]);
}
