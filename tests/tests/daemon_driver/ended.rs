//! The transcript of a session that has ended is that of the session while it ran.

use bowline_jsonl::Framer;
use bowline_reducer::{Meta, Schema, Transcript};
use serde_json::{Value, json};

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
