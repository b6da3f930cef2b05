//! A session that resumes a conversation begins with its past, which Claude Code does not repeat.

use std::os::unix::fs::symlink;

use bowline_reducer::Mirror;
use bowline_tests::session::within;
use serde_json::{Value, json};

use crate::hosts::agree;
use crate::rig::{Daemon, countless, entries, is_idle, results, texts};

/// The agent's id of the conversation.
const CONVERSATION: &str = "11111111-2222-4333-8444-555555555555";

/// The prompts, and whether each is of the past.
fn prompts(transcript: &Value) -> Vec<(&str, bool)> {
    let prompt = |it| -> Option<(&str, bool)> {
        let it: &Value = it;
        Some((it["text"].as_str()?, it["history"].as_bool()?))
    };
    entries(transcript, "user").filter_map(prompt).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn resumed_session_begins_with_its_past_for_every_reader() {
    let mut daemon = Daemon::start().await;
    let agent = daemon.folder().join("claude");
    symlink(env!("CARGO_BIN_EXE_stand-in"), &agent).expect("a link");
    let scenario = format!(
        "sessions = ['{CONVERSATION}']\n[[turn]]\non = 'resume'\nsteps = [ {{ text = 'Welcome back.' }} ]"
    );
    let scenario = daemon.write("scenario.toml", &scenario);
    let project = daemon.folder().join("home/projects/-srv");
    std::fs::create_dir_all(&project).expect("a folder");
    let past = json!({
        "type": "user", "uuid": "u", "cwd": "/srv", "sessionId": CONVERSATION,
        "message": {"content": "Long ago"},
    });
    let name = format!("home/projects/-srv/{CONVERSATION}.jsonl");
    daemon.write(&name, &format!("{past}\n"));
    let folder = |name: &str| daemon.folder().join(name);
    let resume = json!({
        "agent": agent, "agent_args": ["--pace", "0", "--scenario", scenario],
        "prompt": "Go on.", "resume": CONVERSATION,
        "env": {"set": {"CLAUDE_CONFIG_DIR": folder("home"), "XDG_CACHE_HOME": folder("cache")}},
    });
    let id = daemon.agent("claude", resume).await;
    let live = daemon
        .until(&id, |it| results(it) == 1 && is_idle(it))
        .await;
    let wanted = [("Long ago", true), ("Go on.", false)];
    assert_eq!(prompts(&live), wanted, "{live:#}");
    assert_eq!(texts(&live), ["Welcome back."]);

    let host = daemon.host(&id, "host").await;
    agree(&daemon, &id, &[&host], "host").await;
    let detached = within("the end of the host", host.detach()).await;
    detached.expect("it runs");

    let mut stream = daemon.events(&format!("/api/sessions/{id}/events"));
    let mut mirror = Mirror::new();
    while countless(mirror.transcript()) != countless(live.clone()) {
        mirror.apply(&stream.data().await);
    }

    let log = format!("/api/sessions/{id}/log?stream=history");
    let whole = daemon.get(&log).await;
    assert!(whole.contains("Long ago"), "{whole}");
    let part = daemon.get(&format!("{log}&from=3&max=5")).await;
    assert_eq!(Some(&*part), whole.get(3..8));
    let beyond = format!("{log}&from={}", whole.len() + 1);
    assert_eq!(daemon.request("GET", &beyond, None).await.0, 416);

    daemon.kill().await;
    let next = daemon.until(&id, |it| results(it) == 1).await;
    assert_eq!(next["entries"], live["entries"]);
    let path = format!("/api/sessions/{id}");
    assert_eq!(daemon.request("DELETE", &path, None).await.0, 200);
    let ended = daemon.transcript(&id).await;
    assert_eq!(prompts(&ended), wanted, "as folded from the log: {ended:#}");
    assert_eq!(texts(&ended), ["Welcome back."]);

    let other = daemon.agent("claude", json!({"prompt": "hello"})).await;
    let none = format!("/api/sessions/{other}/log?stream=history");
    assert_eq!(daemon.request("GET", &none, None).await.0, 404);
}
