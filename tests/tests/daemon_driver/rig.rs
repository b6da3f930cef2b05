//! A daemon that can be killed, and its REST API.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_lifecycle::{DialogueConfiguration, DialogueSession, Policy, Remote, RemoteUrl};
use bowline_runner::{
    NotifyConfiguration, Runner, ServeConfiguration, ServeLimits, ShimProgram, StateDir,
};
use bowline_tests::session::within;
use bowline_transport::wire::{Lease, Prompt, PromptMode, PromptStatus};
use bowline_transport::{Attachment, TerminalEngine};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::task::spawn_blocking;

use crate::stream::EventStream;

/// The dialects that the understudy speaks.
pub(crate) const DIALECTS: [&str; 3] = ["claude", "codex", "acp"];

/// How long the threads of a killed daemon may take to stop.
const KILL_TIMEOUT: Duration = Duration::from_secs(20);

/// A daemon in a runtime of its own, and a state folder.
pub(crate) struct Daemon {
    folder: tempfile::TempDir,
    runtime: Option<Runtime>,
    notify: Option<NotifyConfiguration>,
    /// Rules for all sessions.
    pub(crate) policy: Policy,
}

impl Daemon {
    pub(crate) async fn start() -> Self {
        Self::start_with(None).await
    }

    /// Starts one that posts notifications.
    pub(crate) async fn start_with(notify: Option<NotifyConfiguration>) -> Self {
        let folder = tempfile::tempdir_in("/tmp").expect("a folder");
        let mut daemon = Self {
            folder,
            runtime: None,
            notify,
            policy: Policy::default(),
        };
        daemon.run().await;
        daemon
    }

    pub(crate) async fn run(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let configuration = configuration(self.folder.path(), self.policy.clone());
        let (sender, started) = tokio::sync::oneshot::channel();
        let notify = self.notify.clone();
        runtime.spawn(async move {
            let runner = Runner::start(configuration).await;
            if let (Ok(runner), Some(notify)) = (&runner, notify) {
                runner.notify(notify).expect("a webhook");
            }
            sender.send(runner.is_ok()).expect("the test waits");
            let _runner = runner;
            std::future::pending::<()>().await;
        });
        assert!(within("a daemon", started).await.expect("no panic"));
        self.runtime = Some(runtime);
    }

    /// Drops the daemon at whichever await it has reached, without a shutdown, and starts another one.
    pub(crate) async fn kill(&mut self) {
        self.stop().await;
        self.run().await;
    }

    /// Drops the daemon at whichever await it has reached, without a shutdown.
    pub(crate) async fn stop(&mut self) {
        let runtime = self.runtime.take().expect("it runs");
        let killed = spawn_blocking(move || runtime.shutdown_timeout(KILL_TIMEOUT));
        within("the kill", killed).await.expect("no panic");
    }

    /// The end of the control stream, once it has what became of the first prompt.
    pub(crate) async fn control_end(&self, id: &str) -> usize {
        let path = format!("/api/sessions/{id}/log?stream=control");
        within("the outcome of the first prompt", async {
            loop {
                let control = self.get(&path).await;
                if control.lines().count() == 3 {
                    return control.len();
                }
            }
        })
        .await
    }

    /// Attaches a host.
    pub(crate) async fn host(&self, id: &str, name: &str) -> DialogueSession {
        let remote = Remote {
            client: name.to_owned(),
            ..self.remote()
        };
        let configuration = DialogueConfiguration::default();
        let session = id.parse().expect("an id");
        let attached = DialogueSession::attach(&remote, session, configuration);
        within("a host", attached).await.expect("it attaches")
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote::new(RemoteUrl::Unix(self.socket()))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("r.sock")
    }

    /// Sends a request; returns status and body.
    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        self.request_as(None, method, path, body).await
    }

    /// Sends a request with an id.
    pub(crate) async fn request_as(
        &self,
        request_id: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let (status, text) = self.send(request_id, method, path, body).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// Gets a text.
    pub(crate) async fn get(&self, path: &str) -> String {
        let (status, text) = self.send(None, "GET", path, None).await;
        assert_eq!(status, 200, "{path}: {text}");
        text
    }

    async fn send(
        &self,
        request_id: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, String) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let id = request_id.map(|it| format!("X-Request-Id: {it}\r\n"));
        let id = id.unwrap_or_default();
        // HTTP/1.0: the response ends with the connection.
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\n{id}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len(),
        );
        let exchange = async {
            let mut stream = UnixStream::connect(self.socket())
                .await
                .expect("it listens");
            stream.write_all(request.as_bytes()).await.expect("sent");
            let mut response = Vec::new();
            stream.read_to_end(&mut response).await.expect("received");
            String::from_utf8(response).expect("UTF-8")
        };
        let response = within("a response", exchange).await;
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        (status.expect("a status"), body.to_owned())
    }

    pub(crate) async fn post(&self, id: &str, what: &str, body: &Value) -> (u16, Value) {
        let path = format!("/api/sessions/{id}/{what}");
        self.request("POST", &path, Some(body)).await
    }

    /// Returns a client of an event stream, which is not connected yet.
    pub(crate) fn events(&self, path: &str) -> EventStream {
        EventStream::new(self.socket(), path)
    }

    /// Returns the value of a metric.
    pub(crate) async fn metric(&self, name: &str) -> usize {
        let page = self.get("/metrics").await;
        let mut lines = page.lines().filter(|line| !line.starts_with('#'));
        let value = lines.find_map(|line| line.strip_prefix(name));
        value
            .and_then(|it| it.trim().parse().ok())
            .expect("a count")
    }

    /// Writes a file into the agents' folder, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// Starts the understudy in a dialect; returns the session's id.
    pub(crate) async fn agent(&self, dialect: &str, more: Value) -> String {
        let mut args = vec!["--pace", "0"];
        if dialect != "claude" {
            args.extend(["--dialect", dialect]);
        }
        let mut body = json!({
            "agent": env!("CARGO_BIN_EXE_stand-in"), "agent_args": args, "dialect": dialect,
            "cwd": self.folder.path(),
        });
        let members: Map<String, Value> = more.as_object().cloned().unwrap_or_default();
        body.as_object_mut().expect("an object").extend(members);
        let (status, session) = self.request("POST", "/api/sessions", Some(&body)).await;
        assert_eq!(status, 201, "{dialect}: {session}");
        session["id"].as_str().expect("an id").to_owned()
    }

    /// Appends a line to the control stream as a host does.
    pub(crate) async fn append_to_control(&self, id: &str, line_id: &str, line: &str) {
        let attachment = Attachment {
            lease: Lease::Append,
            ..Attachment::default()
        };
        let (remote, session) = (self.remote(), id.parse().expect("an id"));
        let attached = TerminalEngine.attach_remote(&remote, session, attachment);
        let session = within("an attachment", attached)
            .await
            .expect("it attaches");
        let line = Prompt {
            id: line_id.to_owned(),
            bytes: line.to_owned().into(),
            mode: PromptMode::Control,
            request_id: None,
        };
        let status = within("the reply", session.prompt(line)).await;
        assert_eq!(status.expect("a reply"), PromptStatus::Written);
    }

    pub(crate) async fn transcript(&self, id: &str) -> Value {
        let path = format!("/api/sessions/{id}/transcript");
        let (status, transcript) = self.request("GET", &path, None).await;
        assert_eq!(status, 200, "{transcript}");
        transcript
    }

    /// Reads the transcript until `ready` accepts it.
    pub(crate) async fn until(&self, id: &str, ready: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let waited = async {
            loop {
                last = self.transcript(id).await;
                if ready(&last) {
                    return;
                }
            }
        };
        if tokio::time::timeout(Duration::from_secs(60), waited)
            .await
            .is_err()
        {
            panic!("not ready: {last:#}");
        }
        last
    }

    /// Waits for an open permission request.
    pub(crate) async fn open_permission(&self, id: &str) -> Value {
        let path = format!("/api/sessions/{id}/permissions");
        within("a permission request", async {
            loop {
                let (status, list) = self.request("GET", &path, None).await;
                assert_eq!(status, 200, "{list}");
                let requests = list["permissions"].as_array().expect("a list");
                if let Some(open) = requests.iter().find(|it| it["state"] == "open") {
                    return open.clone();
                }
            }
        })
        .await
    }

    /// Counts the prompts in the agent's input.
    pub(crate) async fn written_prompts(&self, id: &str) -> usize {
        let log = self
            .get(&format!("/api/sessions/{id}/log?stream=input"))
            .await;
        let lines = log
            .lines()
            .map(|line| -> Value { serde_json::from_str(line).expect("JSON") });
        let is_prompt = |line: &Value| {
            let method = line["method"].as_str().unwrap_or_default();
            line["type"] == "user" || ["turn/start", "session/prompt"].contains(&method)
        };
        lines.filter(is_prompt).count()
    }
}

impl Drop for Daemon {
    /// Kills the shims, which also kills their agents.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        let Ok(state) = StateDir::at(self.folder.path().join("state")) else {
            return;
        };
        for id in state.sessions().unwrap_or_default() {
            let info = state.session(id).info().ok().flatten();
            let pid = info.and_then(|it| i32::try_from(it.shim_pid).ok());
            if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

fn configuration(folder: &Path, policy: Policy) -> ServeConfiguration {
    ServeConfiguration {
        state: StateDir::at(folder.join("state")).expect("a state folder"),
        shim: ShimProgram {
            path: env!("CARGO_BIN_EXE_shim").into(),
            args: vec!["shim".into()],
        },
        socket: Some(folder.join("r.sock")),
        listen: Vec::new(),
        token_file: folder.join("token"),
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: None,
        limits: ServeLimits::default(),
        policy,
    }
}

pub(crate) fn entries<'a>(transcript: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    let entries = transcript["entries"].as_array().into_iter().flatten();
    let kind = kind.to_owned();
    entries.filter(move |it| it["kind"] == kind.as_str())
}

/// The number of turns that have ended.
pub(crate) fn results(transcript: &Value) -> usize {
    entries(transcript, "result").count()
}

pub(crate) fn errors(transcript: &Value) -> impl Iterator<Item = &Value> {
    entries(transcript, "error")
}

pub(crate) fn outcomes(transcript: &Value) -> Vec<&str> {
    entries(transcript, "result")
        .filter_map(|it| it["outcome"].as_str())
        .collect()
}

/// The texts of the prompts.
pub(crate) fn prompts(transcript: &Value) -> Vec<&str> {
    entries(transcript, "user")
        .filter_map(|it| it["text"].as_str())
        .collect()
}

/// The texts of the agent's messages.
pub(crate) fn texts(transcript: &Value) -> Vec<&str> {
    let blocks = entries(transcript, "assistant").flat_map(|it| it["blocks"].as_array());
    blocks
        .flatten()
        .filter_map(|it| it["text"].as_str())
        .collect()
}

pub(crate) fn is_idle(transcript: &Value) -> bool {
    transcript["status"]["phase"] == "idle"
}

/// A transcript without counts, since lines without an entry may arrive meanwhile.
pub(crate) fn countless(mut transcript: Value) -> Value {
    transcript["stats"] = Value::Null;
    transcript
}
