//! An editor: a process that can be killed, and what was shown of a session.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::pipe::EDITOR;
use crate::campaign::machine::program::socket;
use crate::campaign::machine::station::Station;
use crate::campaign::support::{own, within};

/// Stands for a tool call in the text.
pub(super) const CALL: &str = "[call] ";

/// What an editor has shown of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// The agent's messages and tool calls.
    pub(super) text: String,
    /// The prompts, except the editor's own.
    pub(super) prompts: Vec<String>,
    calls: BTreeSet<String>,
}

/// An editor's process.
pub(super) struct Editor {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    last_id: u64,
    pub(super) shown: Shown,
    /// Permission requests that have no answer.
    asked: Vec<Value>,
    /// The calls that were asked about.
    asked_calls: BTreeSet<String>,
}

impl Editor {
    /// Starts an editor, which sends `initialize`.
    pub(super) async fn start(station: &Station, query: &str, token: &str) -> Result<Self, String> {
        let mut command = Command::new(own());
        command
            .arg(EDITOR)
            .arg(socket(station.folder()))
            .args([query, token])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let stdin = child.stdin.take().ok_or("no input of the editor")?;
        let stdout = child.stdout.take().ok_or("no output of the editor")?;
        let mut editor = Self {
            child,
            stdin,
            lines: BufReader::new(stdout).lines(),
            last_id: 0,
            shown: Shown::default(),
            asked: Vec::new(),
            asked_calls: BTreeSet::new(),
        };
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
        let hello = editor.request("initialize", &hello).await?;
        editor.response(hello).await?;
        Ok(editor)
    }

    pub(super) async fn new_session(&mut self) -> Result<String, String> {
        let params = json!({"cwd": "/tmp", "mcpServers": []});
        let request = self.request("session/new", &params).await?;
        let response = self.response(request).await?;
        let id = response["sessionId"].as_str();
        Ok(id.ok_or("a session without an id")?.to_owned())
    }

    /// Asks for a session; returns the request's id.
    pub(super) async fn load(&mut self, session: &str) -> Result<u64, String> {
        let params = json!({"sessionId": session, "cwd": "/tmp", "mcpServers": []});
        self.request("session/load", &params).await
    }

    /// Sends a prompt; returns the request's id.
    pub(super) async fn prompt(&mut self, session: &str, text: &str) -> Result<u64, String> {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        self.request("session/prompt", &params).await
    }

    /// Waits for a permission request that has no answer.
    pub(super) async fn question(&mut self) -> Result<Value, String> {
        loop {
            if let Some(question) = self.asked.pop() {
                return Ok(question);
            }
            self.read().await?;
        }
    }

    /// Allows what is asked.
    pub(super) async fn allow(&mut self, question: &Value) -> Result<(), String> {
        let options = question["params"]["options"].as_array();
        let mut options = options.into_iter().flatten();
        let option = options.find(|it| it["kind"] == "allow_once");
        let option = option.ok_or_else(|| format!("nothing allows it: {question}"))?;
        let outcome = json!({"outcome": "selected", "optionId": option["optionId"]});
        let id = &question["id"];
        self.write(&json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}}))
            .await
    }

    /// Waits for the response of a request, which must be a result.
    pub(super) async fn response(&mut self, id: u64) -> Result<Value, String> {
        loop {
            let line = self.read().await?;
            if line["id"] == id && line["method"].is_null() {
                return result(line);
            }
        }
    }

    /// Allows everything until a request has its response.
    pub(super) async fn allow_until(&mut self, id: u64) -> Result<(), String> {
        loop {
            self.allow_asked().await?;
            let line = self.read().await?;
            if line["id"] == id && line["method"].is_null() {
                return result(line).map(drop);
            }
        }
    }

    /// Allows everything while `is_due` returns true for what is shown.
    pub(super) async fn allow_while(
        &mut self,
        is_due: impl Fn(&Shown) -> bool,
    ) -> Result<(), String> {
        while is_due(&self.shown) {
            self.allow_asked().await?;
            self.read().await?;
        }
        Ok(())
    }

    async fn allow_asked(&mut self) -> Result<(), String> {
        while let Some(question) = self.asked.pop() {
            self.allow(&question).await?;
        }
        Ok(())
    }

    /// Reads for a time.
    pub(super) async fn read_for(&mut self, time: Duration) -> Result<(), String> {
        let reading = async {
            loop {
                if let Err(error) = self.read().await {
                    return error;
                }
            }
        };
        match timeout(time, reading).await {
            Ok(error) => Err(error),
            Err(_) => Ok(()),
        }
    }

    /// Kills the process. Returns what was shown.
    pub(super) async fn kill(mut self) -> Result<Shown, String> {
        let killed = self.child.kill().await;
        killed.map_err(|error| error.to_string())?;
        Ok(self.shown)
    }

    /// Ends the input, as an editor that exits does.
    pub(super) async fn close(self) -> Result<(), String> {
        let Self {
            mut child, stdin, ..
        } = self;
        drop(stdin);
        let ended = within("the end of the editor", child.wait()).await?;
        match ended {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("the editor ended with {other:?}")),
        }
    }

    async fn request(&mut self, method: &str, params: &Value) -> Result<u64, String> {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        Ok(id)
    }

    async fn write(&mut self, line: &Value) -> Result<(), String> {
        let line = format!("{line}\n");
        let written = self.stdin.write_all(line.as_bytes()).await;
        written.map_err(|error| error.to_string())
    }

    /// Reads the next line. Cancel safe.
    async fn read(&mut self) -> Result<Value, String> {
        let line = within("a message", self.lines.next_line()).await?;
        let line = line.map_err(|error| error.to_string())?;
        let line = line.ok_or("the editor lost its connection")?;
        let line: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        if line["method"] == "session/request_permission" {
            let call = line["params"]["toolCall"]["toolCallId"].to_string();
            if !self.asked_calls.insert(call) {
                return Err(format!("asked twice: {line}"));
            }
            self.asked.push(line.clone());
        }
        self.shown.take(&line["params"]["update"])?;
        Ok(line)
    }
}

impl Shown {
    fn take(&mut self, update: &Value) -> Result<(), String> {
        let text = update["content"]["text"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => self.text.push_str(text),
            "user_message_chunk" => self.prompts.push(text.to_owned()),
            "tool_call" => {
                if !self.calls.insert(update["toolCallId"].to_string()) {
                    return Err(format!("a call is shown twice: {update}"));
                }
                self.text.push_str(CALL);
            }
            _ => {}
        }
        Ok(())
    }
}

fn result(mut response: Value) -> Result<Value, String> {
    if response["error"].is_null() {
        return Ok(response["result"].take());
    }
    Err(format!("refused: {}", response["error"]))
}
