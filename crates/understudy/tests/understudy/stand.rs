//! The understudy in pipes, and questions about its lines.

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

/// Longest wait for anything.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// A running understudy. Killed when dropped.
pub(crate) struct Stand {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Option<JoinHandle<String>>,
    _script: Option<tempfile::TempPath>,
}

/// Everything that a finished run left.
pub(crate) struct Record {
    pub(crate) lines: Vec<Vec<u8>>,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
}

impl Stand {
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
        // A process that has ended already is judged by its lines and its exit code.
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

    /// The next line as it is, `None` at the end of stdout.
    pub(crate) fn raw(&self) -> Option<Vec<u8>> {
        match self.lines.recv_timeout(LIMIT) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line in {LIMIT:?}"),
        }
    }

    pub(crate) fn next(&self) -> Value {
        serde_json::from_slice(&self.raw().expect("another line")).unwrap()
    }

    /// Lines up to the first that is named so, that one included.
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

    /// Nothing is printed while the process handles one more request.
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
            assert!(begun.elapsed() < LIMIT, "no exit in {LIMIT:?}");
            thread::yield_now();
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Ends stdin and collects what is left.
    pub(crate) fn finish(mut self) -> Record {
        self.eof();
        self.record()
    }

    /// Collects what is left of a process that ends by itself, stdin still open.
    pub(crate) fn record(mut self) -> Record {
        let mut lines = Vec::new();
        while let Some(line) = self.raw() {
            lines.push(line);
        }
        let status = self.wait();
        let stderr = self.stderr.take().unwrap().join().unwrap();
        Record {
            lines,
            stderr,
            status,
        }
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Record {
    pub(crate) fn frames(&self) -> Vec<Value> {
        self.lines
            .iter()
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

/// One prompt, then the end of stdin.
pub(crate) fn once(prompt: &str, args: &[&str]) -> Record {
    let mut stand = Stand::start(args);
    stand.prompt(prompt);
    stand.finish()
}

/// One prompt to a scenario, then the end of stdin.
pub(crate) fn once_scripted(toml: &str, args: &[&str]) -> Record {
    let mut stand = Stand::script(toml, args);
    stand.prompt("go");
    stand.finish()
}

/// `type`, with the subtype or the event's type where there is one.
pub(crate) fn name(frame: &Value) -> String {
    let kind = frame["type"].as_str().unwrap_or("?");
    let detail = frame["subtype"]
        .as_str()
        .or_else(|| frame["event"]["type"].as_str());
    detail.map_or_else(|| kind.to_owned(), |detail| format!("{kind}/{detail}"))
}

/// As [`name`], with the kinds of block, and `^` for a sub-agent's line.
pub(crate) fn shape(frame: &Value) -> String {
    let blocks = frame["message"]["content"].as_array();
    let kinds: Vec<&str> = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block["type"].as_str())
        .collect();
    let nested = if frame["parent_tool_use_id"].is_string() {
        "^"
    } else {
        ""
    };
    if kinds.is_empty() || frame["type"] == "stream_event" {
        return name(frame);
    }
    format!("{}{nested}[{}]", name(frame), kinds.join(","))
}

/// Shapes in order, runs of the same one written once.
pub(crate) fn sequence(frames: &[Value]) -> Vec<String> {
    let mut shapes: Vec<String> = frames.iter().map(shape).collect();
    shapes.dedup();
    shapes
}

pub(crate) fn names(frames: &[Value]) -> Vec<String> {
    frames.iter().map(name).collect()
}

pub(crate) fn find<'a>(frames: &'a [Value], wanted: &str) -> &'a Value {
    frames
        .iter()
        .find(|frame| name(frame) == wanted)
        .unwrap_or_else(|| panic!("no {wanted}"))
}

pub(crate) fn all<'a>(frames: &'a [Value], wanted: &str) -> Vec<&'a Value> {
    frames
        .iter()
        .filter(|frame| name(frame) == wanted)
        .collect()
}

/// Texts of the main thread's text blocks.
pub(crate) fn texts(frames: &[Value]) -> Vec<&str> {
    let main = frames
        .iter()
        .filter(|frame| frame["type"] == "assistant" && frame["parent_tool_use_id"].is_null());
    main.filter_map(|frame| frame["message"]["content"][0]["text"].as_str())
        .collect()
}

/// The text of every streamed delta, by message id.
pub(crate) fn streamed(frames: &[Value], message_id: &str) -> String {
    let deltas = all(frames, "stream_event/content_block_delta");
    let of_message = deltas
        .iter()
        .filter(|frame| frame["api_message_id"] == message_id);
    of_message
        .filter_map(|frame| frame["event"]["delta"]["text"].as_str())
        .collect()
}

pub(crate) fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures")
        .join(name)
}

/// A recorded stream.
pub(crate) fn fixture(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(fixture_path(name)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Every key of every object in it, as paths; list items share a path.
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
