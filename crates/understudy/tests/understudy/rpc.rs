//! The dialects over JSON-RPC: the host's requests and the agent's.

use std::cell::RefCell;

use serde_json::{Value, json};

use crate::process::Process;

/// A host of `--dialect codex` or `--dialect acp`.
pub(crate) struct Host {
    pub(crate) process: Process,
    acp: bool,
    pub(crate) id: String,
    /// What both sides wrote, in the order in which the host saw it; `true` for the host's lines.
    pub(crate) log: RefCell<Vec<(bool, Value)>>,
}

impl Host {
    /// Starts the understudy with a scenario and opens a conversation.
    pub(crate) fn open(dialect: &str, toml: &str) -> Self {
        Self::open_as(dialect, toml, &json!({}))
    }

    /// As [`Host::open`], with these capabilities of an ACP host.
    pub(crate) fn open_as(dialect: &str, toml: &str, capabilities: &Value) -> Self {
        let mut host = Self::start_as(dialect, toml, capabilities, &[]);
        host.open_new();
        host
    }

    /// Opens a conversation.
    pub(crate) fn open_new(&mut self) {
        let (method, params) = if self.acp {
            ("session/new", json!({"cwd": "/", "mcpServers": []}))
        } else {
            ("thread/start", json!({"cwd": "/"}))
        };
        let opened = self.call("open", method, &params);
        let id = if self.acp {
            &opened["sessionId"]
        } else {
            &opened["thread"]["id"]
        };
        self.id = id.as_str().unwrap().to_owned();
    }

    /// Starts the understudy with a scenario and initializes it.
    pub(crate) fn start(dialect: &str, toml: &str) -> Self {
        Self::start_as(dialect, toml, &json!({}), &[])
    }

    /// As [`Host::start`], with these capabilities of an ACP host and these flags.
    pub(crate) fn start_as(
        dialect: &str,
        toml: &str,
        capabilities: &Value,
        flags: &[&str],
    ) -> Self {
        let flags = [&["--dialect", dialect], flags].concat();
        let process = Process::script(toml, &flags);
        let mut host = Self {
            process,
            acp: dialect == "acp",
            id: String::new(),
            log: RefCell::default(),
        };
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        host.call("init", "initialize", &params);
        host
    }

    /// Sends a request; returns its result, or its error.
    pub(crate) fn call(&mut self, id: &str, method: &str, params: &Value) -> Value {
        self.request(id, method, params);
        let line = self.find(|line| line["id"] == id);
        let line = if line["error"].is_null() {
            &line["result"]
        } else {
            &line["error"]
        };
        line.clone()
    }

    pub(crate) fn request(&mut self, id: &str, method: &str, params: &Value) {
        self.send(json!({"id": id, "method": method, "params": params}));
    }

    pub(crate) fn send(&mut self, mut line: Value) {
        if self.acp {
            line["jsonrpc"] = "2.0".into();
        }
        self.log.borrow_mut().push((true, line.clone()));
        self.process.send(&line);
    }

    pub(crate) fn prompt(&mut self, id: &str, text: &str) {
        let content = json!([{"type": "text", "text": text}]);
        if self.acp {
            self.request(
                id,
                "session/prompt",
                &json!({"sessionId": self.id, "prompt": content}),
            );
        } else {
            self.request(
                id,
                "turn/start",
                &json!({
                    "threadId": self.id, "input": content, "clientUserMessageId": id,
                }),
            );
        }
    }

    /// Answers the next permission request.
    pub(crate) fn answer(&mut self, allow: bool) {
        let asked = self.find(|line| line["method"].is_string() && line["id"].is_u64());
        self.decide(&asked["id"], allow);
    }

    /// Answers a permission request.
    pub(crate) fn decide(&mut self, id: &Value, allow: bool) {
        let result = if self.acp {
            let option = if allow { "allow" } else { "reject" };
            json!({"outcome": {"outcome": "selected", "optionId": option}})
        } else {
            json!({"decision": if allow { "accept" } else { "decline" }})
        };
        self.send(json!({"id": id, "result": result}));
    }

    pub(crate) fn interrupt(&mut self, turn: &Value) {
        if self.acp {
            let params = json!({"sessionId": self.id});
            self.send(json!({"method": "session/cancel", "params": params}));
        } else {
            let params = json!({"threadId": self.id, "turnId": turn});
            self.request("stop", "turn/interrupt", &params);
        }
    }

    pub(crate) fn next(&self) -> Value {
        let line = self.process.next();
        self.log.borrow_mut().push((false, line.clone()));
        line
    }

    /// Returns the next line for which this holds.
    pub(crate) fn find(&self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let line = self.next();
            if wanted(&line) {
                return line;
            }
        }
    }

    /// Whether this line ends the turn of a prompt.
    pub(crate) fn is_turn_end(&self, line: &Value, prompt: &str) -> bool {
        if self.acp {
            return line["id"] == prompt;
        }
        line["method"] == "turn/completed" && line["params"]["threadId"] == self.id.as_str()
    }

    /// Waits for the end of a turn; returns how it ended.
    pub(crate) fn turn_end(&self, prompt: &str) -> String {
        let line = self.find(|line| self.is_turn_end(line, prompt));
        let end = if self.acp {
            &line["result"]["stopReason"]
        } else {
            &line["params"]["turn"]["status"]
        };
        end.as_str().unwrap_or("error").to_owned()
    }
}

const ASK: &str = r#"
[[turn]]
steps = [
  { tool = { name = "Bash", input = { command = "make" }, ask = true, result = "built",
             allowed = [{ text = "Done." }], denied = [{ text = "Left." }] } },
]
"#;

#[test]
fn unknown_method_is_refused() {
    for dialect in ["codex", "acp"] {
        let mut host = Host::start(dialect, "");
        let error = host.call("x", "made/up", &json!({}));
        assert_eq!(error["code"], -32601, "{dialect}");
    }
}

#[test]
fn allowed_call_runs_and_declined_call_does_not() {
    for (allow, codex, acp) in [
        (true, "completed", "completed"),
        (false, "declined", "failed"),
    ] {
        let mut host = Host::open("codex", ASK);
        host.prompt("p", "go");
        host.answer(allow);
        let item = host.find(|line| {
            line["method"] == "item/completed"
                && line["params"]["item"]["type"] == "commandExecution"
        });
        assert_eq!(item["params"]["item"]["status"], codex);
        assert_eq!(host.turn_end("p"), "completed");

        let mut host = Host::open("acp", ASK);
        host.prompt("p", "go");
        host.answer(allow);
        let ended = host.find(|line| {
            let status = &line["params"]["update"]["status"];
            status == "completed" || status == "failed"
        });
        assert_eq!(ended["params"]["update"]["status"], acp);
        assert_eq!(host.turn_end("p"), "end_turn");
    }
}

#[test]
fn second_prompt_steers_codex_and_waits_in_acp() {
    let script = r#"
        [[turn]]
        match = "first"
        steps = [{ wait_for = "prompt" }, { text = "one" }]
        [[turn]]
        match = "second"
        steps = [{ text = "two" }]
    "#;
    let mut host = Host::open("codex", script);
    host.prompt("a", "first");
    host.prompt("b", "second");
    let text = |host: &mut Host| {
        let line = host.find(|line| {
            line["method"] == "item/completed" && line["params"]["item"]["type"] == "agentMessage"
        });
        line["params"]["item"]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (text(&mut host), text(&mut host)),
        ("one".to_owned(), "two".to_owned())
    );
    assert_eq!(host.turn_end("a"), "completed");

    let mut host = Host::open("acp", script);
    host.prompt("a", "first");
    host.prompt("b", "second");
    assert_eq!(
        (host.turn_end("a"), host.turn_end("b")),
        ("end_turn".to_owned(), "end_turn".to_owned())
    );
}

#[test]
fn logged_out_agent_refuses_sessions_until_login() {
    let mut host = Host::start("acp", "logged_out = true");
    let params = json!({"cwd": "/", "mcpServers": []});
    assert_eq!(host.call("a", "session/new", &params)["code"], -32000);
    host.call("b", "authenticate", &json!({"methodId": "login"}));
    host.id = host.call("c", "session/new", &params)["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    host.prompt("d", "hello");
    assert_eq!(host.turn_end("d"), "end_turn");

    let mut host = Host::open("codex", "logged_out = true");
    host.prompt("a", "hello");
    assert_eq!(host.turn_end("a"), "failed");
}

/// A conversation continues in another process, which knows what was said.
#[test]
fn past_is_kept_in_state_folder() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--state", folder.path().to_str().unwrap()];
    for dialect in ["codex", "acp"] {
        let script = "[[turn]]\nsteps = [{ text = 'said' }]\n[[turn]]\non = 'resume'\nsteps = [{ text = 'again' }]";
        let mut host = Host::start_as(dialect, script, &json!({}), &flags);
        let unknown = json!({"threadId": "x", "sessionId": "x", "cwd": "/", "mcpServers": []});
        let reopen = if dialect == "acp" {
            "session/load"
        } else {
            "thread/resume"
        };
        assert!(
            host.call("bad", reopen, &unknown)["code"].is_i64(),
            "{dialect}"
        );
        host.open_new();
        host.prompt("p", "say it");
        host.turn_end("p");
        let id = host.id.clone();
        drop(host);

        let mut host = Host::start_as(dialect, script, &json!({}), &flags);
        let known = json!({"threadId": id, "sessionId": id, "cwd": "/", "mcpServers": []});
        let opened = host.call("again", reopen, &known);
        let log = host.log.borrow();
        let replayed: Vec<&Value> = match dialect {
            "acp" => log
                .iter()
                .map(|(_, line)| &line["params"]["update"]["content"]["text"])
                .filter(|it| it.is_string())
                .collect(),
            _ => opened["thread"]["turns"][0]["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| {
                    if item["type"] == "userMessage" {
                        &item["content"][0]["text"]
                    } else {
                        &item["text"]
                    }
                })
                .collect(),
        };
        assert_eq!(replayed, ["say it", "said"], "{dialect}");
        drop(log);
        host.id = id;
        host.prompt("q", "more");
        let again = host.find(|line| {
            line["params"]["delta"] == "again"
                || line["params"]["update"]["content"]["text"] == "again"
        });
        assert!(again.is_object());
        host.turn_end("q");
    }
}
