//! The transcript of a session that has ended is that of the session while it ran, and so is what lists say of it.

use bowline_jsonl::Framer;
use bowline_reducer::{Meta, Schema, Transcript};
use bowline_tests::session::within;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::task::yield_now;

use crate::rig::{Daemon, is_idle, results};

/// The prompts with their places in the output.
fn prompts(transcript: &Value) -> Vec<Value> {
    let prompts = crate::rig::entries(transcript, "user");
    let place = |it: &Value| json!([it["text"], it["uuid"], it["bytes"]]);
    prompts.map(place).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_have_the_same_bytes_live_ended_and_replayed() {
    let daemon = Daemon::start().await;
    let id = daemon.agent("claude", json!({"prompt": "hello"})).await;
    daemon
        .until(&id, |it| results(it) == 1 && is_idle(it))
        .await;
    let (status, sent) = daemon.post(&id, "prompt", &json!({"text": "again"})).await;
    assert_eq!(status, 202, "{sent}");
    let live = daemon
        .until(&id, |it| results(it) == 2 && is_idle(it))
        .await;
    let path = format!("/api/sessions/{id}");
    assert_eq!(daemon.request("DELETE", &path, None).await.0, 200);
    let ended = daemon.transcript(&id).await;
    assert_eq!(live["entries"], ended["entries"]);

    let output = daemon.get(&format!("{path}/log?stream=stdout")).await;
    for [from, to] in prompts(&live).iter().map(|it| {
        let offset = |at: usize| it[2][at].as_u64().and_then(|it| usize::try_from(it).ok());
        [offset(0), offset(1)].map(|it| it.expect("an offset"))
    }) {
        let echo: Value = serde_json::from_str(output.get(from..to).expect("in the output"))
            .expect("a line of the output");
        assert_eq!(echo["type"], "user", "{echo}");
    }
    let mut framer = Framer::default();
    framer.push(output.into());
    framer.finish();
    let mut replayed = Transcript::new();
    while let Some(frame) = framer.next_frame() {
        frame
            .items()
            .for_each(|item| replayed.apply(&item, Meta { at_ms: 0 }));
    }
    let replayed = serde_json::to_value(replayed.json(Schema::Two)).expect("JSON");
    assert_eq!(prompts(&replayed), prompts(&live));
}

/// Starts an agent, and returns the id of its session once it has answered.
async fn answered(daemon: &Daemon) -> String {
    let id = daemon.agent("claude", json!({"prompt": "hello"})).await;
    daemon
        .until(&id, |it| results(it) == 1 && is_idle(it))
        .await;
    id
}

/// What a list says of a session.
async fn listed(daemon: &Daemon, id: &str) -> Value {
    let list: Value = serde_json::from_str(&daemon.get("/api/sessions").await).expect("JSON");
    let mut sessions = list["sessions"].as_array().into_iter().flatten();
    let found = sessions.find(|it| it["id"] == id);
    found.expect("it is listed").clone()
}

/// What a conversation was about.
fn about(listed: &Value) -> Value {
    let [title, conversation, model] = ["title", "conversation", "model"].map(|it| &listed[it]);
    assert!(title == "hello" && conversation.is_string(), "{listed}");
    json!([
        title,
        conversation,
        model,
        listed["cost_usd"],
        listed["phase"]
    ])
}

/// Waits until what a conversation was about is listed, as it was.
async fn until_listed(daemon: &Daemon, id: &str, before: &Value) {
    let is_listed = async {
        loop {
            let now = listed(daemon, id).await;
            if now["conversation"].is_string() {
                return about(&now);
            }
            yield_now().await;
        }
    };
    let now = within("what it was about", is_listed).await;
    (0..4).for_each(|at| assert_eq!(now[at], before[at]));
}

#[tokio::test(flavor = "multi_thread")]
async fn later_daemons_list_what_an_ended_conversation_was_about() {
    let mut daemon = Daemon::start().await;
    let id = answered(&daemon).await;
    let path = format!("/api/sessions/{id}");
    assert_eq!(daemon.request("DELETE", &path, None).await.0, 200);
    let before = about(&listed(&daemon, &id).await);
    assert_eq!(before[4], "ended");
    daemon.kill().await;
    until_listed(&daemon, &id, &before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_that_ends_without_a_daemon_is_listed_with_what_it_was_about() {
    let mut daemon = Daemon::start().await;
    let id = answered(&daemon).await;
    let running = listed(&daemon, &id).await;
    let pid = running["pid"]
        .as_i64()
        .and_then(|it| i32::try_from(it).ok());
    daemon.stop().await;
    let agent = pid.and_then(Pid::from_raw).expect("the agent's process");
    kill_process(agent, Signal::KILL).expect("it runs");
    daemon.run().await;
    until_listed(&daemon, &id, &about(&running)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_session_is_listed_with_what_it_was_about() {
    let daemon = Daemon::start().await;
    let id = answered(&daemon).await;
    let before = about(&listed(&daemon, &id).await);
    let path = format!("/api/sessions/{id}?remove=true");
    assert_eq!(daemon.request("DELETE", &path, None).await.0, 200);
    assert_eq!(daemon.post(&id, "restore", &json!({})).await.0, 200);
    until_listed(&daemon, &id, &before).await;
}
