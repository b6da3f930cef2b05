//! Calls of the bindings that start a session, and fail or give a result that the host does not get.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Poll;

use bowline_ffi::{
    BowlineError, Conversation, DialogueConfiguration, DialogueSession, Engine, EnvironmentChanges,
    RunnerClient, RunnerConfiguration, RunnerSession, RunnerSessionState, ShellConfiguration,
    ShellProgram, ShellSession, TranscriptSchema, live_counters,
};
use bowline_tests::session::within;
use futures_util::poll;
use serde_json::{Value, json};

use super::rig::Rig;

/// A host that uses the bindings.
struct Host {
    engine: Arc<Engine>,
    runner: RunnerConfiguration,
    client: Arc<RunnerClient>,
}

impl Host {
    fn new(rig: &Rig) -> Self {
        let engine = Engine::new(None);
        let runner = RunnerConfiguration {
            url: format!("unix:{}", rig.socket().display()),
            token: None,
            token_file: None,
            token_provider: None,
            certificates: None,
            identity: None,
            allow_clear_text: false,
            reconnect_timeout_ms: None,
            client_name: None,
        };
        let client = engine.runner(runner.clone()).expect("a valid URL");
        Self {
            engine,
            runner,
            client,
        }
    }

    fn dialogue(&self) -> DialogueConfiguration {
        DialogueConfiguration {
            name: None,
            labels: HashMap::new(),
            hooks: None,
            program: Some(env!("CARGO_BIN_EXE_stand-in").to_owned()),
            dialect: None,
            runner: Some(self.runner.clone()),
            leading_args: Vec::new(),
            args: vec!["--pace".to_owned(), "0".to_owned()],
            options: None,
            environment: None,
            cwd: None,
            agent_directory: None,
            stdio: None,
            conversation: None,
            model: None,
            permission_mode: None,
            allowed_tools: Vec::new(),
            mcp_servers: Vec::new(),
            partial_messages: true,
            ask_permissions: true,
            policy: None,
            budget: None,
            resume_at_reset: None,
            initialize: true,
            max_line: None,
            window: None,
            stderr_bytes: 65_536,
            kept_output: 1 << 20,
            control_timeout_ms: 60_000,
            end_grace_ms: 30_000,
            exit: None,
            history: None,
            watchdog: None,
            termination: None,
            guard: None,
            record: None,
        }
    }

    fn cat(&self) -> ShellConfiguration {
        ShellConfiguration {
            name: None,
            labels: HashMap::new(),
            cwd: "/".to_owned(),
            runner: Some(self.runner.clone()),
            program: Some(ShellProgram::Command {
                program: "/bin/cat".to_owned(),
                args: Vec::new(),
            }),
            environment: None,
            size: None,
            idle_after_ms: 1000,
            max_line: 65_536,
            history_lines: 1000,
            history_bytes: 262_144,
            termination: None,
            containment: None,
            guard: None,
        }
    }

    async fn start(&self) -> Arc<DialogueSession> {
        let started = within("a start", self.engine.start(self.dialogue())).await;
        started.expect("the understudy starts")
    }

    async fn start_shell(&self) -> Arc<ShellSession> {
        let started = within("a start", self.engine.start_shell(self.cat())).await;
        started.expect("cat starts")
    }

    async fn sessions(&self) -> Vec<RunnerSession> {
        let listed = within("a list", self.client.sessions()).await;
        listed.expect("the runner answers")
    }

    /// Waits until the runner has `count` sessions and none of them runs.
    async fn all_ended(&self, count: usize) {
        within("the end of every session", async {
            loop {
                let sessions = self.sessions().await;
                let is_running = |it: &RunnerSession| it.state == RunnerSessionState::Running;
                if sessions.len() == count && !sessions.iter().any(is_running) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// Waits for calls that run in the background, while their runner is there.
async fn no_call_is_pending() {
    within("the end of every call", async {
        while live_counters().expect("no fault").pending_calls > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn failed_start_leaves_no_session() {
    let host = Host::new(&Rig::new().await);
    let configuration = DialogueConfiguration {
        program: Some("no-such-agent-anywhere".to_owned()),
        runner: None,
        ..host.dialogue()
    };
    let started = host.engine.start(configuration).await;
    let error = started.expect_err("there is no agent");
    assert!(matches!(error, BowlineError::Start { .. }), "{error}");
    within("the end of every session", async {
        while live_counters().expect("no fault").sessions > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn cancelled_start_leaves_no_agent_at_runner() {
    let rig = Rig::new().await;
    let host = Host::new(&rig);
    {
        let mut start = Box::pin(host.engine.start(host.dialogue()));
        assert!(matches!(poll!(&mut start), Poll::Pending));
    }
    host.all_ended(1).await;
    {
        let mut start = Box::pin(host.engine.start_with_events(host.dialogue(), None));
        assert!(matches!(poll!(&mut start), Poll::Pending));
    }
    host.all_ended(2).await;
    {
        let mut start = Box::pin(host.engine.start_shell(host.cat()));
        assert!(matches!(poll!(&mut start), Poll::Pending));
    }
    host.all_ended(3).await;
    no_call_is_pending().await;
}

#[tokio::test]
async fn session_that_is_released_unused_is_terminated() {
    let rig = Rig::new().await;
    let host = Host::new(&rig);
    // As the generated code does with the result of a call that was cancelled when it was ready.
    drop(host.start().await);
    host.all_ended(1).await;
    drop(host.start_shell().await);
    host.all_ended(2).await;
    no_call_is_pending().await;
}

#[tokio::test]
async fn session_that_was_used_or_attached_continues() {
    let rig = Rig::new().await;
    let host = Host::new(&rig);
    let session = host.start().await;
    let id = session.id().expect("no fault");
    drop(session);
    let shell = host.start_shell().await;
    let terminal = shell.terminal().expect("no fault");
    drop(shell);

    let (runner, configuration) = (host.runner.clone(), host.dialogue());
    let attached = host.engine.attach(runner, id.clone(), configuration);
    drop(within("an attach", attached).await.expect("it continues"));
    let attached = (host.engine).attach_shell(host.runner.clone(), terminal.clone(), host.cat());
    drop(within("an attach", attached).await.expect("it continues"));

    // A termination would be a call.
    no_call_is_pending().await;
    let states = host.sessions().await;
    for wanted in [id, terminal] {
        let session = states.iter().find(|it| it.id == wanted);
        let session = session.expect("it is in the list");
        assert_eq!(session.state, RunnerSessionState::Running);
        let ended = host.client.end(wanted, true, false);
        within("the end", ended).await.expect("it is there");
    }
}

#[tokio::test]
async fn resumed_session_at_runner_begins_with_its_past() {
    let rig = Rig::new().await;
    let host = Host::new(&rig);
    let id = "11111111-2222-4333-8444-555555555555";
    let agent = rig.folder.path().join("claude");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_stand-in"), &agent).expect("a link");
    let home = rig.folder.path().join("home");
    let project = home.join("projects/-srv");
    std::fs::create_dir_all(&project).expect("a folder");
    let past = json!({
        "type": "user", "uuid": "u", "cwd": "/srv", "sessionId": id,
        "message": {"content": "Long ago"},
    });
    let file = project.join(format!("{id}.jsonl"));
    std::fs::write(file, format!("{past}\n")).expect("a file");
    let scenario = rig.folder.path().join("scenario.toml");
    std::fs::write(&scenario, format!("sessions = ['{id}']\n")).expect("a file");
    let path = |it: &std::path::Path| it.display().to_string();
    let mut configuration = host.dialogue();
    configuration.program = Some(path(&agent));
    configuration
        .args
        .extend(["--scenario".to_owned(), path(&scenario)]);
    configuration.environment = Some(EnvironmentChanges {
        is_empty: false,
        set: [
            ("CLAUDE_CONFIG_DIR".to_owned(), path(&home)),
            (
                "XDG_CACHE_HOME".to_owned(),
                path(&rig.folder.path().join("cache")),
            ),
        ]
        .into(),
        remove: Vec::new(),
    });
    configuration.conversation = Some(Conversation::Resume {
        id: id.to_owned(),
        fork: false,
    });
    let started = within("a start", host.engine.start(configuration)).await;
    let session = started.expect("the understudy starts");
    begins_with_past(&session).await;
    let id = session.id().expect("no fault");
    let attached = host.engine.attach(host.runner.clone(), id, host.dialogue());
    let other = within("an attachment", attached).await;
    begins_with_past(&other.expect("it is there")).await;
}

async fn begins_with_past(session: &DialogueSession) {
    let snapshot = session.snapshot().await.expect("no fault");
    let transcript = snapshot.json(Some(TranscriptSchema::Two));
    let transcript: Value =
        serde_json::from_str(&transcript.expect("no fault")).expect("a transcript is JSON");
    let first = &transcript["entries"][0];
    assert_eq!(
        (&first["text"], &first["history"]),
        (&json!("Long ago"), &json!(true)),
        "{transcript:#}"
    );
}
