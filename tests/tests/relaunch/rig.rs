//! A runner, and a host in a process of its own that is killed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use bowline_lifecycle::{
    AgentLocation, Decision, DialogueConfiguration, DialogueSession, Prompt, Remote, RemoteUrl,
    SessionId, TokenFile,
};
use bowline_manager::{ManagerConfiguration, SessionManager};
use bowline_runner::Runner;
use bowline_tests::runner::{runner_token, start_runner};
use bowline_tests::session::{answered, entries, until, within};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Sessions of the host at the runner, and local ones.
pub(crate) const REMOTE: usize = 20;
pub(crate) const LOCAL: usize = 5;

/// Variables of the host's process.
const FOLDER: &str = "RELAUNCH_FOLDER";
const RUNNER: &str = "RELAUNCH_RUNNER";

/// The kinds of sessions at the runner when the host is killed.
const KINDS: [&str; 4] = ["idle", "asking", "answered", "streaming"];

/// The last line that the host prints.
const READY: &str = "ready";

/// A runner and a folder.
pub(crate) struct Rig {
    folder: tempfile::TempDir,
    runner: Runner,
}

impl Rig {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir_in("/tmp").expect("a folder");
        let shim = env!("CARGO_BIN_EXE_shim");
        let runner = start_runner(folder.path(), shim, Vec::new()).await;
        Self { folder, runner }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn url(&self) -> String {
        format!("http://{}", self.runner.addresses()[0])
    }

    pub(crate) fn token(&self) -> String {
        let token = std::fs::read_to_string(runner_token(self.folder()));
        token.expect("a token").trim().to_owned()
    }

    pub(crate) fn remote(&self) -> Remote {
        remote(&self.url(), self.folder())
    }

    pub(crate) fn remote_agent(&self) -> DialogueConfiguration {
        DialogueConfiguration {
            location: AgentLocation::Runner(self.remote()),
            ..agent()
        }
    }

    /// Starts this program as a host, by the name of its test.
    pub(crate) fn spawn_host(&self, test: &str) -> Host {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.args(["--exact", test, "--ignored", "--nocapture"]);
        command.env(FOLDER, self.folder()).env(RUNNER, self.url());
        command.stdout(Stdio::piped()).kill_on_drop(true);
        Host(command.spawn().expect("the host starts"))
    }

    /// The names of the sessions of the runner.
    pub(crate) async fn sessions(&self) -> Vec<String> {
        let sessions = within("the list", self.remote().sessions()).await;
        let names = sessions.expect("a list").into_iter();
        names.filter_map(|it| it.name).collect()
    }

    /// Ends a session without its host.
    pub(crate) async fn end(&self, session: SessionId, removes: bool) {
        let path = format!("/api/sessions/{session}?force=true&remove={removes}");
        let remote = self.remote();
        let ended = within("the end", remote.ask("DELETE", &path, Default::default())).await;
        assert_eq!(ended.expect("an answer").0, 200);
    }

    pub(crate) async fn metadata(&self, session: SessionId) -> Value {
        let remote = self.remote();
        let path = format!("/api/sessions/{session}");
        let (status, body) = within("the session", remote.ask("GET", &path, Default::default()))
            .await
            .expect("an answer");
        assert_eq!(status, 200);
        let session: Value = serde_json::from_slice(&body).expect("JSON");
        session["metadata"].clone()
    }
}

fn remote(url: &str, folder: &Path) -> Remote {
    let url: RemoteUrl = url.parse().expect("a URL");
    Remote::new(url).with_credentials(TokenFile(runner_token(folder)))
}

pub(crate) fn open(folder: &Path) -> SessionManager {
    let configuration = ManagerConfiguration::new(folder.join("app"));
    SessionManager::open(configuration).expect("it opens")
}

/// The understudy.
pub(crate) fn agent() -> DialogueConfiguration {
    DialogueConfiguration {
        program: env!("CARGO_BIN_EXE_stand-in").into(),
        args: vec!["--pace".into(), "0".into()],
        ..DialogueConfiguration::default()
    }
}

/// The prompts that a session of this label was sent.
pub(crate) fn prompts_of(label: &str) -> Vec<Value> {
    let last = match label.split('-').next() {
        Some("asking" | "answered") => "/ask rm",
        Some("streaming") => "/lines 20000",
        _ => "/tool ls",
    };
    vec!["hello".into(), last.into()]
}

/// Waits until a process is gone or a zombie.
pub(crate) async fn is_gone(pid: u32) {
    let stat = format!("/proc/{pid}/stat");
    while std::fs::read_to_string(&stat).is_ok_and(|it| !it.contains(") Z ")) {
        tokio::task::yield_now().await;
    }
}

/// A host that runs.
pub(crate) struct Host(Child);

impl Host {
    /// Waits until the host has its sessions; returns the processes of the local ones.
    pub(crate) async fn ready(&mut self) -> Vec<u32> {
        let output = self.0.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(output).lines();
        while let Some(line) = lines.next_line().await.expect("its output") {
            if let Some(pids) = line.strip_prefix(READY) {
                let pids = pids.split_whitespace().map(str::parse);
                return pids.collect::<Result<_, _>>().expect("numbers");
            }
        }
        panic!("the host exited");
    }

    /// Sends SIGKILL and waits for the end.
    pub(crate) async fn kill(mut self) {
        within("the kill", self.0.kill()).await.expect("it ran");
    }
}

/// The host's side.
pub(crate) struct App {
    folder: PathBuf,
    remote: Remote,
}

impl App {
    pub(crate) fn from_environment() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os(FOLDER)?);
        let url = std::env::var(RUNNER).ok()?;
        let remote = remote(&url, &folder);
        Some(Self { folder, remote })
    }

    /// Creates the sessions, prints the processes of the local ones, and waits to be killed.
    pub(crate) async fn run(self) {
        let manager = open(&self.folder);
        let mut sessions = Vec::new();
        for number in 0..REMOTE {
            let label = format!("{}-{number}", KINDS[number % KINDS.len()]);
            sessions.push(self.remote_session(&manager, label).await);
        }
        let mut pids = Vec::new();
        for number in 0..LOCAL {
            pids.extend(self.local_session(&manager, number).await);
        }
        let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
        let ready = format!("\n{READY} {}\n", pids.join(" "));
        std::io::stdout()
            .write_all(ready.as_bytes())
            .expect("a reader");
        std::future::pending::<()>().await;
        drop((manager, sessions));
    }

    async fn remote_session(&self, manager: &SessionManager, label: String) -> DialogueSession {
        let configuration = DialogueConfiguration {
            location: AgentLocation::Runner(self.remote.clone()),
            ..agent()
        };
        let created = manager.create_dialogue(configuration, &*label).await;
        let id = created.expect("it is created").id;
        let session = manager.dialogue(id).expect("it is known");
        answered(&session, "hello").await;
        let text = prompts_of(&label)[1].as_str().expect("a text").to_owned();
        let mut receipt = session.send(Prompt::text(text)).await.expect("sent");
        let kind = label.split('-').next().expect("a kind");
        if kind == "asking" || kind == "answered" {
            let asks = |it: &Value| it["permissions"][0]["state"] == "open";
            until(&session, "the request", asks).await;
        }
        match kind {
            "answered" => {
                let permissions = session.permissions();
                let request = permissions.open().next().expect("it is open").clone();
                let answer = session.answer_permission(&*request.request_id, Decision::allow());
                answer.await.expect("it is open");
                receipt.settled().await;
            }
            "streaming" => {
                until(&session, "a text", |it| {
                    !entries(it, "assistant").is_empty()
                })
                .await;
            }
            "idle" => drop(receipt.settled().await),
            _ => {}
        }
        let metadata = Some(format!("draft of {label}"));
        let stored = manager.set_metadata(id, metadata).await;
        stored.expect("it is stored");
        session
    }

    /// Starts a guarded agent with a process in a session of its own, which a signal to the group does not reach.
    async fn local_session(&self, manager: &SessionManager, number: usize) -> [u32; 2] {
        let file = self.folder.join(format!("child-{number}"));
        let script = format!(
            "setsid sleep 10000 & echo $! > {}; exec \"$0\" \"$@\"",
            file.display()
        );
        let plain = agent();
        let configuration = DialogueConfiguration {
            program: "/bin/sh".into(),
            leading_args: vec!["-c".into(), script.into(), plain.program],
            args: plain.args,
            guard: Some(env!("CARGO_BIN_EXE_shim").into()),
            ..DialogueConfiguration::default()
        };
        let created = manager.create_dialogue(configuration, "local").await;
        let info = created.expect("it is created");
        let session = manager.dialogue(info.id).expect("it is known");
        answered(&session, "hello").await;
        let child = std::fs::read_to_string(file).expect("the script wrote it");
        let child = child.trim().parse().expect("a number");
        [info.pid.expect("it runs"), child]
    }
}
