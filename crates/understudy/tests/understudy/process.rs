//! Runs the understudy with pipes, and queries its lines.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use understudy::Scenario;

/// Longest wait for a line or for the exit.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A running understudy, which is killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Option<JoinHandle<String>>,
    _script: Option<tempfile::TempPath>,
}

/// The output of a process that has exited.
pub(crate) struct ProcessOutput {
    pub(crate) lines: Vec<Vec<u8>>,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
}

impl Process {
    /// Starts it with these arguments and no delays.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::spawn(args, None)
    }

    /// Starts it with a scenario and these arguments.
    pub(crate) fn play(scenario: &Scenario, args: &[&str]) -> Self {
        let path = tempfile::Builder::new()
            .suffix(".json")
            .tempfile()
            .unwrap()
            .into_temp_path();
        scenario.save(&path).unwrap();
        Self::spawn(args, Some(path))
    }

    /// Starts it with a scenario as text and these arguments.
    pub(crate) fn script(toml: &str, args: &[&str]) -> Self {
        Self::play(&Scenario::parse(toml).unwrap(), args)
    }

    fn spawn(args: &[&str], script: Option<tempfile::TempPath>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_understudy"));
        command
            .args(args)
            .env_remove("CLAUDE_CODE_FORWARD_SUBAGENT_TEXT");
        command.env("UNDERSTUDY_PACE", "0");
        if let Some(path) = &script {
            command.arg("--scenario").arg(path);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).unwrap() > 0 {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let stderr = thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
            stderr: Some(stderr),
            _script: script,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, line: &Value) {
        self.send_raw(format!("{line}\n").as_bytes());
    }

    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        // Fails if the process has exited, which its exit code shows.
        match stdin.write_all(bytes).and_then(|()| stdin.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
            _ => {}
        }
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.send(&json!({"type": "user", "message": {"role": "user", "content": text}}));
    }

    pub(crate) fn prompt_as(&mut self, uuid: &str, text: &str) {
        let message = json!({"role": "user", "content": text});
        self.send(&json!({"type": "user", "message": message, "uuid": uuid}));
    }

    pub(crate) fn request(&mut self, id: &str, request: &Value) {
        self.send(&json!({"type": "control_request", "request_id": id, "request": request}));
    }

    pub(crate) fn answer(&mut self, ask: &Value, response: &Value) {
        let body = json!({
            "subtype": "success", "request_id": ask["request_id"], "response": response,
        });
        self.send(&json!({"type": "control_response", "response": body}));
    }

    pub(crate) fn eof(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Returns the next line, `None` at the end of stdout.
    pub(crate) fn raw(&self) -> Option<Vec<u8>> {
        match self.lines.recv_timeout(TIMEOUT) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line in {TIMEOUT:?}"),
        }
    }

    pub(crate) fn next(&self) -> Value {
        serde_json::from_slice(&self.raw().expect("another line")).unwrap()
    }

    /// Returns the lines up to and including the first with this name.
    pub(crate) fn until(&self, wanted: &str) -> Vec<Value> {
        let mut lines = Vec::new();
        loop {
            let line = self.next();
            let found = name(&line) == wanted;
            lines.push(line);
            if found {
                return lines;
            }
        }
    }

    /// Whether nothing is printed before the response to another request.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.request("silence", &json!({"subtype": "mcp_status"}));
        self.next()["response"]["request_id"] == "silence"
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < TIMEOUT, "no exit in {TIMEOUT:?}");
            thread::yield_now();
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Closes stdin and waits for the exit.
    pub(crate) fn finish(mut self) -> ProcessOutput {
        self.eof();
        self.wait_for_exit()
    }

    /// Waits for the exit with stdin open.
    pub(crate) fn wait_for_exit(mut self) -> ProcessOutput {
        let mut lines = Vec::new();
        while let Some(line) = self.raw() {
            lines.push(line);
        }
        let status = self.wait();
        let stderr = self.stderr.take().unwrap().join().unwrap();
        ProcessOutput {
            lines,
            stderr,
            status,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ProcessOutput {
    pub(crate) fn events(&self) -> Vec<Value> {
        self.lines
            .iter()
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

/// Sends one prompt and closes stdin.
pub(crate) fn run_once(prompt: &str, args: &[&str]) -> ProcessOutput {
    let mut process = Process::start(args);
    process.prompt(prompt);
    process.finish()
}

/// Plays a scenario with one prompt and closes stdin.
pub(crate) fn run_scenario(toml: &str, args: &[&str]) -> ProcessOutput {
    let mut process = Process::script(toml, args);
    process.prompt("go");
    process.finish()
}

/// Returns the `type` of a line with its subtype or its event's type.
pub(crate) fn name(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or("?");
    let detail = event["subtype"]
        .as_str()
        .or_else(|| event["event"]["type"].as_str());
    detail.map_or_else(|| kind.to_owned(), |detail| format!("{kind}/{detail}"))
}

/// Returns the name of a line with its types of block, and `^` for a line of a sub-agent.
pub(crate) fn shape(event: &Value) -> String {
    let blocks = event["message"]["content"].as_array();
    let kinds: Vec<&str> = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block["type"].as_str())
        .collect();
    let nested = if event["parent_tool_use_id"].is_string() {
        "^"
    } else {
        ""
    };
    if kinds.is_empty() || event["type"] == "stream_event" {
        return name(event);
    }
    format!("{}{nested}[{}]", name(event), kinds.join(","))
}

/// Returns the shapes in order, without repetitions.
pub(crate) fn sequence(events: &[Value]) -> Vec<String> {
    let mut shapes: Vec<String> = events.iter().map(shape).collect();
    shapes.dedup();
    shapes
}

pub(crate) fn names(events: &[Value]) -> Vec<String> {
    events.iter().map(name).collect()
}

pub(crate) fn find<'a>(events: &'a [Value], wanted: &str) -> &'a Value {
    events
        .iter()
        .find(|event| name(event) == wanted)
        .unwrap_or_else(|| panic!("no {wanted}"))
}

pub(crate) fn all<'a>(events: &'a [Value], wanted: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| name(event) == wanted)
        .collect()
}

/// Returns the texts of the main thread.
pub(crate) fn texts(events: &[Value]) -> Vec<&str> {
    let main = events
        .iter()
        .filter(|event| event["type"] == "assistant" && event["parent_tool_use_id"].is_null());
    main.filter_map(|event| event["message"]["content"][0]["text"].as_str())
        .collect()
}

/// Returns the streamed text of a message.
pub(crate) fn streamed(events: &[Value], message_id: &str) -> String {
    let deltas = all(events, "stream_event/content_block_delta");
    let of_message = deltas
        .iter()
        .filter(|event| event["api_message_id"] == message_id);
    of_message
        .filter_map(|event| event["event"]["delta"]["text"].as_str())
        .collect()
}

pub(crate) fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures")
        .join(name)
}

/// Reads a recording.
pub(crate) fn fixture(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(fixture_path(name)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns every key of every object as a path; the items of an array share one.
pub(crate) fn paths(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(value, "", &mut found);
    found
}

fn walk(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let path = format!("{path}.{key}");
                walk(inner, &path, found);
                found.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, path, found)),
        _ => {}
    }
}
