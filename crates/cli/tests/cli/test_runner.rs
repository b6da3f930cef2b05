//! A runner with a state folder of its own, for tests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{BOWLINE, CommandOutput, TIMEOUT, command, finish};

/// A runner with a state folder of its own. Dropping it ends the runner and all its sessions.
pub(crate) struct TestRunner {
    folder: TempDir,
    runner: Child,
    out: BufReader<ChildStdout>,
}

impl TestRunner {
    pub(crate) fn start() -> Self {
        Self::with_environment(&[])
    }

    /// Starts a runner with these variables.
    pub(crate) fn with_environment(variables: &[(&str, &Path)]) -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let (runner, out) = serve_with(&folder, variables);
        Self {
            folder,
            runner,
            out,
        }
    }

    pub(crate) fn state(&self) -> String {
        self.folder.path().join("s").display().to_string()
    }

    /// Ends the runner by a signal; returns the rest of its output.
    pub(crate) fn stop(&mut self, signal: Signal) -> String {
        kill_process(Pid::from_child(&self.runner), signal).unwrap();
        self.runner.wait().unwrap();
        let mut last = String::new();
        self.out.read_to_string(&mut last).unwrap();
        last
    }

    /// Starts the next runner with the same folder.
    pub(crate) fn restart(&mut self) {
        (self.runner, self.out) = serve(&self.folder);
    }

    /// Sends a request over the socket; returns the status and the body.
    pub(crate) fn request(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
        let socket = self.folder.path().join("s/runner.sock");
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let body = body.map(Value::to_string).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    pub(crate) fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, text) = self.request(method, path, body);
        assert!(
            (200..300).contains(&status),
            "{method} {path}: {status} {text}"
        );
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) fn create(&self, spec: &Value) -> String {
        let made = self.json("POST", "/api/sessions", Some(spec));
        made["id"].as_str().unwrap().to_owned()
    }

    /// Creates a dialogue with the understudy; returns its id.
    pub(crate) fn dialogue(&self, scenario: &str) -> String {
        let path = self.folder.path().join("scenario.toml");
        std::fs::write(&path, scenario).unwrap();
        let path = path.display().to_string();
        self.create(&json!({"kind": "dialogue", "program": BOWLINE,
            "args": ["understudy", "--scenario", path, "-p", "--input-format", "stream-json",
                "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio"],
            "env": {"set": {"UNDERSTUDY_PACE": "0"}}}))
    }

    pub(crate) fn shell(&self, script: &str) -> String {
        self.create(
            &json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", script],
            "stdio": {"type": "pty"}}),
        )
    }

    /// Repeats a request until its answer satisfies a condition, which has no event to wait for.
    pub(crate) fn until(&self, path: &str, has: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let answer = self.json("GET", path, None);
            if has(&answer) {
                return answer;
            }
            assert!(started.elapsed() < TIMEOUT, "{path}: {answer}");
        }
    }

    pub(crate) fn bowline(&self, args: &[&str]) -> CommandOutput {
        let mut command = command(args);
        command.env("BOWLINE_STATE_DIR", self.state());
        finish(command.spawn().unwrap())
    }

    pub(crate) fn kill_shim(&self, id: &str) {
        let info = self
            .folder
            .path()
            .join(format!("s/sessions/{id}/info.json"));
        let info: Value = serde_json::from_slice(&std::fs::read(info).unwrap()).unwrap();
        let pid = info["shim_pid"].as_i64().unwrap();
        kill_process(
            Pid::from_raw(pid.try_into().unwrap()).unwrap(),
            Signal::KILL,
        )
        .unwrap();
    }
}

/// Kills the sessions of a state folder.
pub(crate) fn end_sessions(state: &str) {
    let sessions = PathBuf::from(state).join("sessions");
    let folders = std::fs::read_dir(sessions).into_iter().flatten().flatten();
    for folder in folders {
        let text = std::fs::read_to_string(folder.path().join("info.json"));
        let info: Value = serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        let pid = info["shim_pid"]
            .as_i64()
            .and_then(|it| Pid::from_raw(it as i32));
        if let Some(pid) = pid.filter(|_| info["phase"] != "buried") {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Drop for TestRunner {
    fn drop(&mut self) {
        end_sessions(&self.state());
        let _ = self.runner.kill();
        let _ = self.runner.wait();
    }
}

fn serve(folder: &TempDir) -> (Child, BufReader<ChildStdout>) {
    serve_with(folder, &[])
}

pub(crate) fn serve_with(
    folder: &TempDir,
    variables: &[(&str, &Path)],
) -> (Child, BufReader<ChildStdout>) {
    let state = folder.path().join("s").display().to_string();
    let args = ["serve", "--state-dir", &state, "--listen", "127.0.0.1:0"];
    let mut serve = command(&args);
    serve.envs(variables.iter().copied());
    let mut runner = serve.spawn().unwrap();
    let mut out = BufReader::new(runner.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("token in ") {
        line.clear();
        assert!(
            out.read_line(&mut line).unwrap() > 0,
            "the runner ended: {:?}",
            runner.wait()
        );
    }
    (runner, out)
}
