//! A session that resumes a conversation begins with its past, which Claude Code does not repeat.

use std::os::unix::fs::symlink;

use std::path::PathBuf;

use bowline_lifecycle::{
    AgentLocation, Conversation, DialogueConfiguration, DialogueSession, Environment,
};
use bowline_manager::{ManagerConfiguration, SessionManager};
use bowline_reducer::Mirror;
use bowline_tests::session::{answered, terminate, within};
use serde_json::{Value, json};

use crate::hosts::{agree, schema_2 as transcript};
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

/// An agent, and the folder of its conversations, which has one.
struct Resumable {
    agent: PathBuf,
    scenario: PathBuf,
    home: PathBuf,
    conversation: PathBuf,
    cache: PathBuf,
}

impl Resumable {
    fn new(daemon: &Daemon) -> Self {
        let agent = daemon.folder().join("claude");
        symlink(env!("CARGO_BIN_EXE_stand-in"), &agent).expect("a link");
        let scenario = format!(
            "sessions = ['{CONVERSATION}']\n[[turn]]\non = 'resume'\nsteps = [ {{ text = 'Welcome back.' }} ]"
        );
        let home = daemon.folder().join("home");
        let project = home.join("projects/-srv");
        std::fs::create_dir_all(&project).expect("a folder");
        let resumable = Self {
            agent,
            scenario: daemon.write("scenario.toml", &scenario),
            home,
            conversation: project.join(format!("{CONVERSATION}.jsonl")),
            cache: daemon.folder().join("cache"),
        };
        resumable.append("Long ago", None);
        resumable
    }

    /// Appends a prompt to the conversation, as the agent does.
    fn append(&self, prompt: &str, parent: Option<&str>) {
        let line = json!({
            "type": "user", "uuid": prompt, "parentUuid": parent, "cwd": "/srv",
            "sessionId": CONVERSATION, "message": {"content": prompt},
        });
        let before = std::fs::read_to_string(&self.conversation).unwrap_or_default();
        std::fs::write(&self.conversation, format!("{before}{line}\n")).expect("a file");
    }

    /// The request that resumes the conversation.
    fn request(&self) -> Value {
        json!({
            "agent": self.agent, "agent_args": ["--pace", "0", "--scenario", self.scenario],
            "prompt": "Go on.", "resume": CONVERSATION,
            "env": {"set": {"CLAUDE_CONFIG_DIR": self.home, "XDG_CACHE_HOME": self.cache}},
        })
    }

    /// The configuration of a host that resumes the conversation at the runner.
    fn configuration(&self, daemon: &Daemon) -> DialogueConfiguration {
        let mut env = Environment::inherited();
        env.set("CLAUDE_CONFIG_DIR", &self.home);
        env.set("XDG_CACHE_HOME", &self.cache);
        DialogueConfiguration {
            program: self.agent.clone().into(),
            args: vec![
                "--pace".into(),
                "0".into(),
                "--scenario".into(),
                self.scenario.clone().into(),
            ],
            env,
            conversation: Conversation::Resume {
                id: CONVERSATION.to_owned(),
                fork: false,
            },
            location: AgentLocation::Runner(daemon.remote()),
            ..DialogueConfiguration::default()
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resumed_session_begins_with_its_past_for_every_reader() {
    let mut daemon = Daemon::start().await;
    let resume = Resumable::new(&daemon).request();
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

#[tokio::test(flavor = "multi_thread")]
async fn session_of_a_host_begins_with_its_past() {
    let mut daemon = Daemon::start().await;
    let resumable = Resumable::new(&daemon);
    let started = DialogueSession::start(resumable.configuration(&daemon));
    let session = within("a start", started).await.expect("it starts");
    let wanted = [("Long ago", true), ("Go on.", false)];
    answered(&session, "Go on.").await;
    let live = transcript(&session).await;
    assert_eq!(prompts(&live), wanted, "{live:#}");
    assert_eq!(texts(&live), ["Welcome back."]);
    let id = session.id().to_string();

    let other = daemon.host(&id, "other").await;
    assert_eq!(prompts(&transcript(&other).await), wanted);
    let served = daemon.until(&id, |it| results(it) == 1).await;
    assert_eq!(prompts(&served), wanted, "{served:#}");

    daemon.kill().await;
    let next = daemon.host(&id, "next").await;
    assert_eq!(prompts(&transcript(&next).await), wanted);
    terminate(&next).await;
    let ended = daemon.transcript(&id).await;
    assert_eq!(prompts(&ended), wanted, "as folded from the log: {ended:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn restarted_session_keeps_its_past() {
    let daemon = Daemon::start().await;
    let resumable = Resumable::new(&daemon);
    let id = daemon.agent("claude", resumable.request()).await;
    daemon
        .until(&id, |it| results(it) == 1 && is_idle(it))
        .await;
    resumable.append("Meanwhile", Some("Long ago"));

    let (status, next) = daemon.post(&id, "restart", &json!({})).await;
    assert_eq!(status, 201, "{next}");
    let next = next["id"].as_str().expect("an id");
    let live = daemon.until(next, |it| results(it) == 1).await;
    let wanted = [("Long ago", true), ("Meanwhile", true), ("Go on.", false)];
    assert_eq!(prompts(&live), wanted, "{live:#}");

    let started = DialogueSession::start(resumable.configuration(&daemon));
    let session = within("a start", started).await.expect("it starts");
    let id = session.id().to_string();
    let (status, next) = daemon.post(&id, "restart", &json!({})).await;
    assert_eq!(status, 201, "{next}");
    let next = next["id"].as_str().expect("an id");
    let host = daemon.host(next, "host").await;
    assert_eq!(prompts(&transcript(&host).await), wanted[..2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn managed_session_keeps_its_past_over_reattach() {
    let daemon = Daemon::start().await;
    let resumable = Resumable::new(&daemon);
    let open = || {
        let configuration = ManagerConfiguration::new(daemon.folder().join("app"));
        SessionManager::open(configuration).expect("it opens")
    };
    let manager = open();
    let created = manager.create_dialogue(resumable.configuration(&daemon), "resumed");
    let id = within("a session", created)
        .await
        .expect("it is created")
        .id;
    let session = manager.dialogue(id).expect("it is known");
    let wanted = [("Long ago", true), ("Go on.", false)];
    answered(&session, "Go on.").await;
    assert_eq!(prompts(&transcript(&session).await), wanted);
    within("the detachment", manager.detach_all()).await;
    drop((session, manager));

    let manager = open();
    let runners = [daemon.remote()];
    let reattached = manager.reattach(&runners, DialogueConfiguration::default());
    let report = within("the attachment", reattached).await;
    assert_eq!(report.attached, [id], "{report:?}");
    let session = manager.dialogue(id).expect("it is attached");
    assert_eq!(prompts(&transcript(&session).await), wanted);
    terminate(&session).await;
}
