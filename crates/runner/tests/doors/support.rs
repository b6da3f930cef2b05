//! A daemon of its own for each test, and clients that are nobody's but the test's.

mod frames;
mod glass;
mod http;
mod panel;
mod watcher;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bowline_runner::{Runner, ServeConfiguration, ServeLimits, SessionDir, ShimProgram, StateDir};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

pub(crate) use frames::Frames;
pub(crate) use http::{Answer, request};
pub(crate) use panel::{Heard, Panel};
pub(crate) use watcher::Watcher;

/// What everything that a test waits for may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The page that panels come from.
pub(crate) const ORIGIN: &str = "chrome-extension://panel";

/// Waits for something that must come.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let came = timeout(PATIENCE, future).await;
    came.unwrap_or_else(|_| panic!("{what} did not come in {PATIENCE:?}"))
}

/// A daemon with a state folder of its own. Dropped, its sessions are ended.
pub(crate) struct Served {
    runner: Option<Runner>,
    address: SocketAddr,
    token: String,
    folder: TempDir,
}

impl Served {
    /// With the usual limits.
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// With other limits.
    pub(crate) async fn with(change: impl FnOnce(&mut ServeLimits)) -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        Self::inside(folder, change).await
    }

    async fn inside(folder: TempDir, change: impl FnOnce(&mut ServeLimits)) -> Self {
        let mut limits = ServeLimits {
            detach_window: Duration::from_secs(60),
            ..ServeLimits::default()
        };
        change(&mut limits);
        let token_file = folder.path().join("token");
        let runner = Runner::start(ServeConfiguration {
            state: StateDir::at(folder.path().join("s")).unwrap(),
            shim: ShimProgram {
                path: PathBuf::from(env!("CARGO_BIN_EXE_shim-stand-in")),
                args: Vec::new(),
            },
            socket: Some(folder.path().join("s/runner.sock")),
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            token_file: token_file.clone(),
            hosts: Vec::new(),
            origins: vec![ORIGIN.to_owned()],
            tls: None,
            limits,
        });
        let runner = soon("the runner", runner).await.unwrap();
        let token = std::fs::read_to_string(token_file).unwrap();
        Self {
            address: runner.addresses()[0],
            token: token.trim().to_owned(),
            runner: Some(runner),
            folder,
        }
    }

    /// Stops the daemon and starts another one over the same sessions.
    pub(crate) async fn again(mut self, change: impl FnOnce(&mut ServeLimits)) -> Self {
        self.stop().await;
        let empty = tempfile::tempdir_in("/tmp").unwrap();
        let folder = std::mem::replace(&mut self.folder, empty);
        Self::inside(folder, change).await
    }

    /// Stops the daemon, which must not take long, whatever it waits for.
    pub(crate) async fn stop(&mut self) {
        let runner = self.runner.take().expect("it is stopped once");
        let report = soon("the end of the runner", runner.stop()).await;
        assert!(report.is_clean, "somebody held the runner up");
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

    /// A request with the token.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("Authorization", bearer.as_str())];
        request(self.address, method, path, &headers, body).await
    }

    /// Starts a session with a terminal that runs a script.
    pub(crate) async fn shell(&self, script: &str) -> String {
        self.create(&json!({
            "kind": "terminal", "program": "/bin/sh", "args": ["-c", script],
            "stdio": {"type": "pty"},
        }))
        .await
    }

    /// Starts a session.
    pub(crate) async fn create(&self, spec: &Value) -> String {
        let answer = self.ask("POST", "/api/sessions", Some(spec)).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// A session's folder.
    pub(crate) fn folder(&self, id: &str) -> SessionDir {
        let state = StateDir::at(self.folder.path().join("s")).unwrap();
        state.session(id.parse().unwrap())
    }

    /// What is known of a session.
    pub(crate) async fn session(&self, id: &str) -> Value {
        self.ask("GET", &format!("/api/sessions/{id}"), None)
            .await
            .json()
    }
}

impl Drop for Served {
    /// What a test leaves is ended: a shim that is killed takes its tree along.
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
