//! Limits of sessions that the daemon drives.

use bowline_lifecycle::RequestState;
use bowline_tests::session::until;
use serde_json::{Value, json};

use crate::rig::{DIALECTS, Daemon, entries, is_idle, results};

fn phase(transcript: &Value) -> &str {
    transcript["status"]["phase"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn session_pauses_at_its_limit_over_a_restart() {
    let mut daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon
            .agent(dialect, json!({"prompt": "hello", "budget": {"turns": 1}}))
            .await;
        let paused = daemon
            .until(&id, |it| phase(it) == "awaiting_permission")
            .await;
        assert_eq!(results(&paused), 1, "{dialect}");
        assert_eq!(
            paused["status"]["reason"],
            "paused: turn limit of 1 turn reached (1 turn)"
        );
        let request = daemon.open_permission(&id).await;
        assert_eq!(
            (&request["kind"], &request["tool_name"]),
            (&json!("question"), &json!("budget"))
        );
        let options = request["options"].as_array().expect("options").iter();
        let ids: Vec<_> = options
            .map(|it| it["id"].as_str().unwrap_or_default())
            .collect();
        assert_eq!(ids, ["raise", "go_on", "stop"], "{dialect}");

        // A prompt is queued, and another daemon holds it as well.
        assert_eq!(
            daemon.post(&id, "prompt", &json!({"text": "more"})).await.0,
            202
        );
        daemon.kill().await;
        let again = daemon.open_permission(&id).await;
        assert_eq!(again["request_id"], request["request_id"], "{dialect}");
        assert_eq!(daemon.written_prompts(&id).await, 1, "{dialect}");

        // A host that attaches sees the request, and answers it.
        let host = daemon.host(&id, "host").await;
        let open = || host.permissions().open().next().cloned();
        until(&host, "the request", |_| open().is_some()).await;
        let record = open().expect("a request");
        assert_eq!(record.tool_name, "budget", "{dialect}");
        let answer =
            json!({"request_id": request["request_id"], "answers": {"budget": "2"}, "by": "phone"});
        assert_eq!(
            daemon.post(&id, "permissions", &answer).await.0,
            202,
            "{dialect}"
        );
        let closed = || host.permissions().get(&record.request_id).cloned();
        until(&host, "the answer", |_| {
            closed().is_some_and(|it| !it.state.is_open())
        })
        .await;
        let closed = closed().expect("a request");
        assert_eq!(closed.state, RequestState::Answered, "{dialect}");
        assert_eq!(
            closed.answered_how.as_deref(),
            Some("raised to 2 turns"),
            "{dialect}"
        );
        drop(host);

        // The queued prompt was sent once, and reaches the new limit.
        let paused = daemon
            .until(&id, |it| {
                results(it) == 2 && phase(it) == "awaiting_permission"
            })
            .await;
        let decided = &paused["permissions"][0]["decided_by"];
        assert_eq!(
            (&decided["who"], &decided["how"]),
            (&json!("phone"), &json!("raised to 2 turns"))
        );
        assert_eq!(daemon.written_prompts(&id).await, 2, "{dialect}");
        let request = daemon.open_permission(&id).await;
        let stop = json!({"request_id": request["request_id"], "option": "stop"});
        assert_eq!(
            daemon.post(&id, "permissions", &stop).await.0,
            202,
            "{dialect}"
        );
        daemon.until(&id, |it| phase(it) == "ended").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn session_waits_for_its_usage_limit_over_a_restart() {
    let mut daemon = Daemon::start().await;
    let scenario = daemon.folder().join("limit.toml");
    let text = "[[turn]]\nmatch = \"spend\"\nsteps = [\
        { limits = { window_minutes = 300, used_percent = 100, resets_at = 4000000000 } },\
        { fail = { status = 429, text = \"limit reached\", error = \"rate_limit\" } } ]";
    std::fs::write(&scenario, text).expect("a scenario");
    let args = json!(["--pace", "0", "--scenario", scenario]);
    let body = json!({"prompt": "spend", "resume_at_reset": "Go on.", "agent_args": args});
    let id = daemon.agent("claude", body).await;
    let paused = daemon
        .until(&id, |it| phase(it) == "awaiting_permission")
        .await;
    let reason = paused["status"]["reason"].as_str().unwrap_or_default();
    assert!(
        reason.starts_with("paused: usage limit reached; continues when it resets, after "),
        "{reason}"
    );
    assert_eq!(paused["limits"][0]["resets_at_ms"], 4_000_000_000_000_u64);
    let request = daemon.open_permission(&id).await;
    assert_eq!(request["tool_name"], "usage_limit");
    assert_eq!(
        daemon.post(&id, "prompt", &json!({"text": "more"})).await.0,
        202
    );
    daemon.kill().await;
    let again = daemon.open_permission(&id).await;
    assert_eq!(again["request_id"], request["request_id"]);
    assert_eq!(
        daemon.written_prompts(&id).await,
        1,
        "a prompt was not held"
    );
    let go_on = json!({"request_id": request["request_id"], "option": "go_on"});
    assert_eq!(daemon.post(&id, "permissions", &go_on).await.0, 202);
    // Both prompts are written at once; the agent answers them in one turn or in two.
    daemon
        .until(&id, |it| {
            let mut prompts = entries(it, "user").filter_map(|it| it["text"].as_str());
            let is_last_sent = prompts.any(|text| text.contains("more"));
            let last = it["entries"].as_array().and_then(|all| all.last());
            is_last_sent && last.is_some_and(|it| it["kind"] == "result") && is_idle(it)
        })
        .await;
    assert_eq!(daemon.written_prompts(&id).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_that_cannot_be_kept_is_refused() {
    let daemon = Daemon::start().await;
    let refused = async |body: Value| daemon.request("POST", "/api/sessions", Some(&body)).await;
    let (status, problem) = refused(json!({"agent": "codex", "budget": {"cost_usd": 1.0}})).await;
    assert_eq!(status, 422, "{problem}");
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(
        detail.contains("codex") && detail.contains("cost"),
        "{detail}"
    );
    assert_eq!(
        refused(json!({"agent": "claude", "budget": {"turns": 0}}))
            .await
            .0,
        422
    );
    assert_eq!(
        refused(json!({"agent": "claude", "budget": {"cost": 1}}))
            .await
            .0,
        422
    );
    let id = daemon
        .agent(
            "claude",
            json!({"prompt": "hello", "budget": {"seconds": 3600}}),
        )
        .await;
    daemon
        .until(&id, |it| is_idle(it) && results(it) == 1)
        .await;
}
