//! A runner for each test, and clients of it.

mod described;
mod frames;
mod http;
mod reader;
mod screen;
mod web_terminal;

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_runner::{
    Runner, ServeConfiguration, ServeError, ServeLimits, SessionDir, ShimProgram, StateDir,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

pub(crate) use described::check_described;
pub(crate) use frames::Frames;
pub(crate) use http::{TestResponse, request};
pub(crate) use reader::Reader;
pub(crate) use screen::TestScreen;
pub(crate) use web_terminal::{Received, WebTerminal};

/// Time limit for each event that a test waits for.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Origin of the web terminals.
pub(crate) const ORIGIN: &str = "chrome-extension://panel";

/// The program of the shims.
const SHIM: &str = env!("CARGO_BIN_EXE_shim-stand-in");

/// Waits for a future, within the time limit.
pub(crate) async fn within_limit<T>(what: &str, future: impl Future<Output = T>) -> T {
    let came = timeout(TIME_LIMIT, future).await;
    came.unwrap_or_else(|_| panic!("{what} did not happen within {TIME_LIMIT:?}"))
}

/// A runner with its own state folder. Dropping it ends its sessions.
pub(crate) struct TestRunner {
    runner: Option<Runner>,
    address: SocketAddr,
    token: String,
    folder: TempDir,
}

impl TestRunner {
    /// Starts a runner with default limits.
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts a runner with other limits.
    pub(crate) async fn with(change: impl FnOnce(&mut ServeLimits)) -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        Self::inside(folder, change).await
    }

    /// Starts a runner whose shims may write files of this number of blocks of 512 bytes, which acts as a full
    /// disk.
    pub(crate) async fn with_file_size_limit(blocks: u32) -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let shim = ShimProgram {
            path: "/bin/sh".into(),
            args: vec!["-c".into(), script.into(), SHIM.into()],
        };
        let limits = ServeLimits::default();
        let mut configuration = configuration(folder.path(), "runner.sock", limits);
        configuration.shim = shim;
        Self::configured(folder, configuration).await
    }

    async fn inside(folder: TempDir, change: impl FnOnce(&mut ServeLimits)) -> Self {
        let mut limits = ServeLimits {
            detach_window: Duration::from_secs(60),
            ..ServeLimits::default()
        };
        change(&mut limits);
        let configuration = configuration(folder.path(), "runner.sock", limits);
        Self::configured(folder, configuration).await
    }

    async fn configured(folder: TempDir, configuration: ServeConfiguration) -> Self {
        let runner = Runner::start(configuration);
        let runner = within_limit("the runner", runner).await.unwrap();
        let token = std::fs::read_to_string(folder.path().join("token")).unwrap();
        Self {
            address: runner.addresses()[0],
            token: token.trim().to_owned(),
            runner: Some(runner),
            folder,
        }
    }

    /// Starts another runner on the same state folder, with a socket of its own.
    pub(crate) async fn start_another(&self) -> Result<Runner, ServeError> {
        let limits = ServeLimits::default();
        let runner = Runner::start(configuration(self.folder.path(), "other.sock", limits));
        within_limit("another runner", runner).await
    }

    /// Stops the runner and starts another one on the same state folder.
    pub(crate) async fn restart(mut self, change: impl FnOnce(&mut ServeLimits)) -> Self {
        self.stop().await;
        let empty = tempfile::tempdir_in("/tmp").unwrap();
        let folder = std::mem::replace(&mut self.folder, empty);
        Self::inside(folder, change).await
    }

    /// Stops the runner. Every client must disconnect in time.
    pub(crate) async fn stop(&mut self) {
        let runner = self.runner.take().expect("a runner is stopped once");
        let report = within_limit("the end of the runner", runner.stop()).await;
        assert!(report.is_clean, "a client delayed the shutdown");
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The Unix socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("s/runner.sock")
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The folder of the token file.
    pub(crate) fn token_folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sends a request with the token.
    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> TestResponse {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("Authorization", bearer.as_str())];
        request(self.address, method, path, &headers, body).await
    }

    /// Creates a terminal session that runs a script.
    pub(crate) async fn shell(&self, script: &str) -> String {
        self.create(&json!({
            "kind": "terminal", "program": "/bin/sh", "args": ["-c", script],
            "stdio": {"type": "pty"},
        }))
        .await
    }

    /// Creates a session.
    pub(crate) async fn create(&self, spec: &Value) -> String {
        let response = self.request("POST", "/api/sessions", Some(spec)).await;
        assert_eq!(response.status, 201, "{}", response.text());
        response.json()["id"].as_str().unwrap().to_owned()
    }

    /// A session's folder.
    pub(crate) fn folder(&self, id: &str) -> SessionDir {
        let state = StateDir::at(self.folder.path().join("s")).unwrap();
        state.session(id.parse().unwrap())
    }

    /// Gets a session.
    pub(crate) async fn session(&self, id: &str) -> Value {
        self.request("GET", &format!("/api/sessions/{id}"), None)
            .await
            .json()
    }
}

fn configuration(folder: &Path, socket: &str, limits: ServeLimits) -> ServeConfiguration {
    ServeConfiguration {
        state: StateDir::at(folder.join("s")).unwrap(),
        shim: ShimProgram {
            path: SHIM.into(),
            args: Vec::new(),
        },
        socket: Some(folder.join("s").join(socket)),
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        token_file: folder.join("token"),
        hosts: Vec::new(),
        origins: vec![ORIGIN.to_owned()],
        tls: None,
        limits,
        policy: Default::default(),
    }
}

impl Drop for TestRunner {
    /// Kills the remaining shims, which also kills their descendants.
    fn drop(&mut self) {
        let Ok(state) = StateDir::at(self.folder.path().join("s")) else {
            return;
        };
        for id in state.sessions().unwrap_or_default() {
            let info = state.session(id).info().ok().flatten();
            let Some(pid) = info.and_then(|it| rustix::process::Pid::from_raw(it.shim_pid as i32))
            else {
                continue;
            };
            let name = std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()))
                .unwrap_or_default();
            if name.starts_with("shim-stand-in") {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}
